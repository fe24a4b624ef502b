"""Revokes the shared links of a person who leaves, and says which chat objects stay."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.people.leaving import Ending, ends_with_person, stays_after_person
from accounts.services import audit_record
from accounts.sign_in.sessions import ends_with_sessions
from chat.embeds.sessions import sessions_end_of
from chat.models import EmbedSession, SharedLink


def _links(user: User) -> QuerySet[SharedLink]:
    return SharedLink.objects.filter(user=user, revoked=None, expires__gt=timezone.now())


def _end_links(user: User, actor: User) -> None:
    for link in _links(user):
        SharedLink.objects.filter(pk=link.pk).update(revoked=timezone.now())
        audit_record(actor=actor, action="answer.unshare", target=str(link.key))


def _embed_sessions(user: User) -> QuerySet[EmbedSession]:
    return EmbedSession.objects.filter(user=user, ended=None, expires__gt=timezone.now())


def _end_embed_sessions(user: User, actor: User) -> None:
    """The sockets are closed with those of the browsers (accounts.people.endings)."""
    sessions_end_of(user)


ends_with_sessions(sessions_end_of)
ends_with_person(
    Ending(
        code="embed_sessions",
        label=_("Open chats on other pages"),
        relations=("chat.EmbedSession.user",),
        rows=_embed_sessions,
        end=_end_embed_sessions,
    )
)
ends_with_person(
    Ending(code="links", label=_("Shared links"), relations=("chat.SharedLink.user",), rows=_links, end=_end_links)
)
stays_after_person(
    "belongs to the person alone; the rules of keeping conversations delete it",
    *("chat.Conversation.user", "chat.Attachment.user", "chat.AskingPreferences.user"),
    *("chat.AnnouncementDismissal.user", "chat.TurnFigures.user"),
)
stays_after_person(
    "tells who did something; it works in the name of the site",
    "chat.ApprovedAnswer.approved_by",
    "chat.Experiment.created_by",
)
