"""Conversations, messages, citations and attachments, approved answers, experiments, announcements, embedded chats."""

from chat.models.approved import ApprovedAnswer, ApprovedSource
from chat.models.conversations import (
    Announcement,
    AnnouncementDismissal,
    AskingPreferences,
    Attachment,
    AttachmentCitation,
    AttachmentPassage,
    CitationValues,
    Conversation,
    FactCitation,
    Message,
    MessageCitation,
    SharedLink,
    StrategyStatistics,
    attachment_path,  # a migration names it
)
from chat.models.embeds import Embed, EmbedKey, EmbedSession, embed_code
from chat.models.experiments import Experiment, TurnFigures

__all__ = [
    "Announcement",
    "AnnouncementDismissal",
    "ApprovedAnswer",
    "ApprovedSource",
    "AskingPreferences",
    "Attachment",
    "AttachmentCitation",
    "AttachmentPassage",
    "CitationValues",
    "Conversation",
    "Embed",
    "EmbedKey",
    "EmbedSession",
    "FactCitation",
    "Experiment",
    "Message",
    "MessageCitation",
    "SharedLink",
    "StrategyStatistics",
    "TurnFigures",
    "attachment_path",
    "embed_code",
]
