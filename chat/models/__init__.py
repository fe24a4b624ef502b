"""Conversations, messages, the citations they are bound to."""

from chat.models.conversations import Conversation, Message, MessageCitation

__all__ = ["Conversation", "Message", "MessageCitation"]
