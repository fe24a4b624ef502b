"""Webhooks of source systems: signed requests, each valid once and for some minutes."""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.cache import cache
from django.db import transaction
from django.db.models import Q, QuerySet

from accounts.errors import NotAuthenticatedError
from knowledge.errors import CredentialsUnreadableError, WebhookReplayedError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Document, IngestJob, Source
from knowledge.services.deletion import documents_withdraw
from knowledge.services.documents import items_add, job_hold, job_work, upload_check
from knowledge.services.registration import Arrival, document_register
from knowledge.services.sources.credentials import credentials_decrypt
from knowledge.services.sources.item_readers import item_readers_write
from knowledge.services.sources.ownership import owner_check
from knowledge.services.sources.sync_items import source_scope
from knowledge.services.sources.sync_runs import RunReport
from knowledge.services.sources.web import address_check, fetch_open, tenant_policy
from knowledge.types import SourceOptions, strictly
from ragcore.errors import RagError

logger = logging.getLogger(__name__)

WINDOW_SECONDS = 300
ENDINGS = {"text": ".txt", "markdown": ".md", "html": ".html"}
SIGNED = "sha256="


class WebhookSignatureError(NotAuthenticatedError):
    """No such source, another secret, another body, or too old: strangers learn nothing more."""

    default_message = "The signature of this webhook is not valid."


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookEvent:
    """One change in a source system. Of an upsert, the content comes as text, as bytes with a name, or by address."""

    event: str  # upsert, delete, readers
    external_id: str
    title: str = ""
    text: str | None = None
    format: str = "text"
    content: bytes | None = None
    name: str = ""
    url: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: Sequence[str] = ()
    clearance: int = 0
    readers: Sequence[str] | None = None  # as Item.readers


@dataclass(frozen=True, slots=True)
class EventRefusal:
    index: int  # from 0
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class EventsResult:
    """`job_ids`: what is to be read goes on under the first; each address that is to be fetched has its own."""

    job_id: int | None
    accepted: int
    rejected: tuple[EventRefusal, ...] = ()
    fetches: tuple[int, ...] = ()


def webhook_source(*, named: str, timestamp: str, signature: str, body: bytes) -> Source:
    """The source, by id or name, whose secret signed this request; `timestamp` is in seconds since 1970.

    The signature is HMAC-SHA256 over `timestamp.body` in hexadecimal, after "sha256=".
    Raises WebhookSignatureError, WebhookReplayedError, SourceUnownedError.
    """
    rows = source_named(named).filter(kind=Source.Kind.WEBHOOK).select_related("owner__service_owner", "handler")
    candidates = {row: _secret(row) for row in rows.order_by("pk")[:10]}
    if not candidates:
        _is_signed("", timestamp, signature, body)  # an unknown source takes as long as a wrong signature
    signed = [row for row, secret in candidates.items() if _is_signed(secret, timestamp, signature, body)]
    if not signed or not _is_recent(timestamp):
        raise WebhookSignatureError
    owner_check(signed[0])
    nonce = hashlib.sha256(f"{signed[0].pk}:{signature}".encode()).hexdigest()
    if not cache.add(f"webhook:{nonce}", 1, timeout=2 * WINDOW_SECONDS):
        raise WebhookReplayedError
    return signed[0]


def source_named(id_or_name: str) -> QuerySet[Source]:
    """Enabled sources by id or name, of whatever tenant."""
    is_id = id_or_name.isascii() and id_or_name.isdigit() and len(id_or_name) < 19
    return Source.objects.filter(Q(pk=int(id_or_name)) if is_id else Q(name=id_or_name), enabled=True)


def webhook_signature(*, secret: str, timestamp: str, body: bytes) -> str:
    """What the header X-Ragsite-Signature must say."""
    digest = hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256)
    return SIGNED + digest.hexdigest()


def _secret(source: Source) -> str:
    """Empty, so that nothing is signed with it, where there is none or it cannot be read any more."""
    try:
        return credentials_decrypt(source.credentials).get("secret", "")
    except CredentialsUnreadableError as error:
        logger.error("source %s: %s", source.pk, error.message)
        return ""


def _is_signed(secret: str, timestamp: str, signature: str, body: bytes) -> bool:
    wanted = webhook_signature(secret=secret, timestamp=timestamp, body=body)
    return hmac.compare_digest(wanted.encode(), signature.encode()) and bool(secret)


def _is_recent(timestamp: str) -> bool:
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 12):
        return False
    return abs(time.time() - int(timestamp)) <= WINDOW_SECONDS


def webhook_events_apply(*, source: Source, events: Sequence[WebhookEvent]) -> EventsResult:
    """Apply each event independently; refused events are reported.

    Documents go into the sets that are composed of the source. The same event twice is harmless.
    """
    intake = _EventIntake(source)
    rejected = []
    for index, event in enumerate(events):
        try:
            intake.take(event)
        except RagError as error:
            rejected.append(EventRefusal(index, error.code, error.message))
    return EventsResult(intake.done(), len(events) - len(rejected), tuple(rejected), tuple(intake.fetches))


class _EventIntake:
    """The events of one request."""

    def __init__(self, source: Source) -> None:
        self.source, self.options = source, strictly(SourceOptions, source.options)
        self.fetches: list[int] = []
        self._job: IngestJob | None = None

    def take(self, event: WebhookEvent) -> None:
        if event.event == "delete":
            self._delete(event)
        elif event.event == "readers":
            self._readers(event)
        elif event.url:
            self._fetch(event)
        else:
            self._upsert(event)

    def done(self) -> int | None:
        """Enqueue the new versions; returns the id of their job."""
        if self._job is None:
            return None
        job_work(self._job, workers=1)
        return self._job.pk

    def _delete(self, event: WebhookEvent) -> None:
        rows = Document.objects.filter(source=self.source, external_id=event.external_id, deleted=None)
        documents_withdraw(tenant_id=self.source.tenant_id, document_ids=list(rows.values_list("pk", flat=True)))

    @transaction.atomic
    def _readers(self, event: WebhookEvent) -> None:
        """Who may read it there has changed, and nothing else."""
        row = Document.objects.filter(source=self.source, external_id=event.external_id, deleted=None).first()
        if row is not None and item_readers_write(document_id=row.pk, readers=event.readers or ()):
            epoch_advance(tenant_id=self.source.tenant_id, documents=[row.pk])

    def _fetch(self, event: WebhookEvent) -> None:
        address_check(event.url, policy=tenant_policy(self.source.tenant_id))
        request = {
            "url": event.url,
            "external_id": event.external_id,
            "title": event.title,
            "clearance": max(event.clearance, self.options.clearance),
            "floor": event.clearance,
            "metadata": {**self.options.metadata, **event.metadata},
            "tags": [*self.options.tags, *event.tags],
            "readers": list(event.readers) if event.readers is not None else None,
        }
        job = fetch_open(tenant_id=self.source.tenant_id, actor=self.source.owner, request=request, source=self.source)
        self.fetches.append(job.pk)

    @transaction.atomic
    def _upsert(self, event: WebhookEvent) -> None:
        if self._job is not None:
            job_hold(self._job)
        content = event.content if event.content is not None else (event.text or "").encode()
        name = event.name or event.external_id.rpartition("/")[2][:200] + ENDINGS[event.format]
        upload_check(name=name, size_bytes=len(content))
        arrival = Arrival(
            name=name,
            content=content,
            sets=(),
            title=event.title,
            external_id=event.external_id,
            clearance=max(event.clearance, self.options.clearance),
            floor=event.clearance,
            metadata={**self.options.metadata, **event.metadata},
            tags=[*self.options.tags, *event.tags],
            sent_as=event.external_id,
        )
        done = document_register(
            scope=source_scope(self.source), actor=self.source.owner, arrival=arrival, source=self.source
        )
        is_moved = done.merged
        if event.readers is not None:  # in the same transaction: nobody else sees the document before
            is_moved |= item_readers_write(document_id=done.document.pk, readers=event.readers)
        if done.version is not None:
            self._job = self._job or self._job_create()
            items_add(self._job, [done.version])
        if is_moved:
            epoch_advance(tenant_id=self.source.tenant_id, documents=[done.document.pk])

    def _job_create(self) -> IngestJob:
        return IngestJob.objects.create(
            tenant_id=self.source.tenant_id,
            created_by=self.source.owner,
            kind=IngestJob.Kind.SYNC,
            source=self.source,
            report=RunReport().json(),
        )
