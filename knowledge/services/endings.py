"""Ends or hands over sources, sets and access requests of a person who leaves."""

from __future__ import annotations

import secrets

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.people.leaving import Ending, NewSecret, ends_with_person, stays_after_person
from accounts.services import audit_record
from knowledge.models import AccessRequest, KnowledgeSet, Source
from knowledge.services.sources.credentials import credentials_encrypt

SECRET_BYTES = 32


def _sources(user: User) -> QuerySet[Source]:
    """With those that are switched off: whoever switches one on again must not find the old secret in it."""
    at_rest = Q(enabled=False, schedule=Source.Schedule.MANUAL, credentials="")
    return Source.objects.filter(~at_rest, owner=user).order_by("name")


def _end_sources(user: User, actor: User) -> None:
    """No schedule fetches and no webhook receives for somebody who has left; secrets and passwords they knew go."""
    for source in _sources(user):
        Source.objects.filter(pk=source.pk).update(enabled=False, schedule=Source.Schedule.MANUAL, credentials="")
        audit_record(actor=actor, action="source.change", target=source.name, source=source.pk, enabled=False)


def _hand_over_sources(user: User, to: User, actor: User) -> None:
    Source.objects.filter(owner=user).update(owner=to)


def _replace_secrets_of_sources(user: User, actor: User) -> list[NewSecret]:
    """New secrets of webhooks, those that are switched off included."""
    made = []
    for source in _sources(user).exclude(credentials=""):
        new = NewSecret(of=source.name, value=secrets.token_urlsafe(SECRET_BYTES))
        Source.objects.filter(pk=source.pk).update(credentials=credentials_encrypt({"secret": new.value}))
        audit_record(actor=actor, action="source.credentials", target=source.name, source=source.pk)
        made.append(new)
    return made


def _requests(user: User) -> QuerySet[AccessRequest]:
    return AccessRequest.objects.filter(user=user, state=AccessRequest.State.OPEN).select_related("knowledge_set")


def _end_requests(user: User, actor: User) -> None:
    for found in _requests(user):
        values = {"state": AccessRequest.State.WITHDRAWN, "decided": timezone.now()}
        AccessRequest.objects.filter(pk=found.pk).update(**values)
        audit_record(actor=actor, action="access.withdraw", target=found.knowledge_set.code, request=found.pk)


def sets_left_alone(user: User) -> QuerySet[KnowledgeSet]:
    """Knowledge sets whose only active owner is the person."""
    others = User.objects.filter(is_active=True).exclude(pk=user.pk)
    return KnowledgeSet.objects.filter(owners=user).exclude(owners__in=others).order_by("code")


def _hand_over_sets(user: User, to: User, actor: User) -> None:
    for one in sets_left_alone(user):
        one.owners.add(to)
        audit_record(actor=actor, action="set.members", target=one.code, set=one.pk, owner_added=to.username)


def _leave_sets(user: User, actor: User) -> None:
    """Owner, editor or member of a set is only somebody of its tenant."""
    for role in ("owners", "editors", "members"):
        for one in KnowledgeSet.objects.filter(**{role: user}).order_by("code"):
            getattr(one, role).remove(user)
            audit_record(
                actor=actor, action="set.members", target=one.code, set=one.pk, **{f"{role}_removed": user.username}
            )


def _nothing(user: User, actor: User) -> None:
    """Sets go on without an owner: administrators and editors keep them."""


ends_with_person(
    Ending(
        code="sources",
        is_named=True,
        label=_("Sources, with their schedule and secrets"),
        relations=("knowledge.Source.owner",),
        rows=_sources,
        end=_end_sources,
        hand_over=_hand_over_sources,
        replace_secrets=_replace_secrets_of_sources,
    )
)
ends_with_person(
    Ending(
        code="access_requests",
        label=_("Open requests for access"),
        relations=("knowledge.AccessRequest.user",),
        rows=_requests,
        end=_end_requests,
    )
)
ends_with_person(
    Ending(
        code="sets",
        is_named=True,
        label=_("Knowledge sets without another owner: they stay, and only administrators and editors keep them"),
        relations=("knowledge.KnowledgeSet.owners", "knowledge.KnowledgeSet_owners.user"),
        rows=sets_left_alone,
        end=_nothing,
        hand_over=_hand_over_sets,
        leave_tenant=_leave_sets,
    )
)
stays_after_person(
    "a right, which an inactive account cannot use",
    *("knowledge.KnowledgeSet.members", "knowledge.KnowledgeSet.editors"),
    *("knowledge.KnowledgeSet_members.user", "knowledge.KnowledgeSet_editors.user"),
)
stays_after_person(
    "goes on for the set or the site, whoever began it",
    *("knowledge.EmbedderSwitch.author", "knowledge.SetEmbedder.author"),
    *("knowledge.IngestJob.created_by", "knowledge.TripleImport.actor", "knowledge.SourcePlace.created_by"),
    *("knowledge.ModelTraining.author", "knowledge.SetFile.actor"),
)
stays_after_person(
    "tells who did something",
    *("knowledge.AccessRequest.decided_by", "knowledge.ChunkEdit.author", "knowledge.Document.created_by"),
    *("knowledge.DuplicatePair.dismissed_by", "knowledge.DuplicatePair_dismissed_by.user"),
    *("knowledge.TripleDecision.author", "knowledge.EntityDecision.author", "knowledge.DocumentReview.reviewed_by"),
    *("knowledge.QueryAdapter.author", "knowledge.RerankerFit.author"),
    *("knowledge.LexiconTerm.author", "knowledge.LexiconVersion.author", "knowledge.LexiconChange.author"),
    *("knowledge.OptionsChange.actor", "knowledge.DocumentRelation.created_by"),
)
