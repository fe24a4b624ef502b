"""Conversations, messages, the citations they are bound to, and figures of strategies."""

from chat.models.conversations import Conversation, Message, MessageCitation
from chat.models.strategies import StrategyStatistics

__all__ = ["Conversation", "Message", "MessageCitation", "StrategyStatistics"]
