"""Applies the outcome of a source's handler to its documents, reversibly.

`Document.handled` remembers what was written. Values that people or the source itself gave are never overwritten: a
handler fills what is missing. The exception is the title, whose former wording is remembered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from django.db import transaction
from django.db.models import Q

from accounts.models import Tenant
from knowledge.errors import LeftOutError, SupersededError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import (
    Attribute,
    Document,
    DocumentRelation,
    DocumentVersion,
    HandlerRule,
    Source,
    SourceHandler,
)
from knowledge.seeds import seed_attributes, seed_handlers
from knowledge.services.composition import documents_settle
from knowledge.services.entities import entities_attributes_changed
from knowledge.services.handlers.review_dates import review_date_write
from knowledge.services.handlers.rules import (
    Handler,
    HandlerOutcome,
    handler_evaluate,
    handler_value,
    mapped_review_date,
    newer_in_series,
)
from knowledge.services.handlers.security import (
    LIVE,
    says_anything,
    security_hold,
    security_release,
    security_said,
    security_write,
)
from knowledge.services.relations.statements import statements_write
from ragcore.errors import RagError

KEPT = ("seen", "sets", "security", "review_by", "titled")  # of `Document.handled` when the outcome is replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainDocument:
    """A document as it would be without its handler."""

    title: str
    tags: list[str]
    metadata: dict[str, Any]


@transaction.atomic
def handlers_apply(version: DocumentVersion, parsed_text: str | None) -> HandlerOutcome:
    """Run the handler of a version's source over it and write the outcome on its document.

    Ingestion calls it after reading a file, before it is cut; `version.document` is the fresh row afterwards. The
    outcome replaces the former one, so it may be repeated at will, also after the rules have changed; without a handler
    it only takes back. With `parsed_text` None, rules about the text are left out. A version that a newer one has
    overtaken says nothing about the document any more.
    Raises LeftOutError and SupersededError, which end the ingestion of this version.
    """
    rows = Document.objects.select_for_update(of=("self",)).select_related("source__handler")
    document = version.document = rows.get(pk=version.document_id)
    row = document.source.handler
    handler = Handler() if row is None else handler_value(row)
    if (row is None and not document.handled) or _is_outdated(version):
        return HandlerOutcome()
    plain = document_without_handler(document)
    outcome = handler_evaluate(
        handler=handler,
        path=version.sent_as or document.external_id or version.file_name,
        name=version.file_name,
        title=plain.title,
        text=parsed_text,
        metadata=plain.metadata,
    )
    if outcome.skip:
        raise LeftOutError
    if not handler.keep_latest:
        outcome = replace(outcome, series="", series_version="")
    elif refusal := _superseded(document, outcome):
        raise refusal
    _write(document, plain, outcome)
    _security(document, handler, plain, rule=outcome.clearance, is_read=parsed_text is not None)
    review_date_write(document, outcome.review_by)
    if parsed_text is not None:  # before, rules about the text have not spoken yet
        statements_write(document=document, origin=DocumentRelation.Origin.RULE, statements=outcome.relations)
    documents_settle(document_ids=[document.pk])
    document.refresh_from_db(fields=["handled"])
    if document.live_version_id is not None:  # its present passages are found by other sets, tags and attributes now
        epoch_advance(tenant_id=document.tenant_id)
    return outcome


def arrival_apply(document: Document, *, sent_clearance: int) -> None:
    """Write again who may read a locked document that has arrived again, and its review date, by its attributes now.

    What a rule said of its text stays until it is read again. `sent_clearance`: as in `security_write`.
    """
    row = document.source.handler
    handler = Handler() if row is None else handler_value(row)
    plain = document_without_handler(document)
    _security(document, handler, plain, rule=None, is_read=False, sent_clearance=sent_clearance)
    review_date_write(document, mapped_review_date(handler, plain.metadata))


def item_readers_apply(document: Document, *, readers: Sequence[str], with_content: bool = False) -> bool:
    """Write on a locked document who may read it as the connector of its source says; whether that was other people.

    `with_content`: other content comes along, or may; see security_hold. The caller advances the epoch.
    """
    before = document.source_readers_id
    if with_content:
        security_hold(document)
    else:
        security_release(document)
    noted = {**document.handled.get("security", {}), "item": sorted(set(readers))}
    document.handled = {**document.handled, "security": noted}
    _security_again(document)
    return document.source_readers_id != before


def security_settle(*, document_ids: Sequence[int]) -> None:
    """Versions have gone live: who was to read them, and nobody before, reads them from now on.

    Call it in the transaction that switches them; the caller advances the epoch.
    """
    rows = Document.objects.select_for_update(of=("self",)).select_related("source__handler", "source__owner")
    waiting = rows.filter(pk__in=document_ids, handled__security__has_key=LIVE)
    for document in waiting.order_by("pk"):
        if security_release(document):
            _security_again(document)


def _security_again(document: Document) -> None:
    """Write who may read a document by what is noted of it."""
    row = document.source.handler
    handler = Handler() if row is None else handler_value(row)
    _security(document, handler, document_without_handler(document), rule=None, is_read=False)


def _security(
    document: Document,
    handler: Handler,
    plain: PlainDocument,
    *,
    rule: str | None,
    is_read: bool,
    sent_clearance: int = 0,
) -> None:
    if rule is None and not is_read:
        rule = document.handled.get("security", {}).get("rule")
    if says_anything(document, handler.field_map, rule=rule):
        security_write(
            document,
            security_said(document, handler.field_map, plain.metadata, rule=rule),
            sent_clearance=sent_clearance,
        )


def _is_outdated(version: DocumentVersion) -> bool:
    """Whether a newer version is live or on its way."""
    newer = DocumentVersion.objects.filter(document=version.document_id, number__gt=version.number)
    return newer.filter(Q(live_for__isnull=False) | Q(items__isnull=False, items__finished=None)).exists()


def arrival_refusal(
    *, source: Source, handler: Handler, path: str, name: str, title: str = "", metadata: Mapping[str, Any]
) -> RagError | None:
    """Why the handler would refuse a file by its path and name, before its bytes are fetched; None if it would not."""
    title = title or PurePosixPath(name).stem
    outcome = handler_evaluate(handler=handler, path=path, name=name, title=title, text=None, metadata=metadata)
    if outcome.skip:
        return LeftOutError()
    if not handler.keep_latest:
        return None
    unsaved = Document(source=source, tenant_id=source.tenant_id, external_id=path)
    return _superseded(unsaved, outcome)


def document_without_handler(document: Document) -> PlainDocument:
    """What the handler wrote, taken off; what has been changed by people since stays."""
    by_handler: Mapping[str, Any] = document.handled.get("metadata", {})
    title = document.handled.get("title") or {}
    return PlainDocument(
        title=title["was"] if title and document.title == title["wrote"] else document.title,
        tags=[tag for tag in document.tags if tag not in document.handled.get("tags", [])],
        metadata={
            key: value for key, value in document.metadata.items() if key not in by_handler or by_handler[key] != value
        },
    )


def _superseded(document: Document, outcome: HandlerOutcome) -> SupersededError | None:
    if not (outcome.series and outcome.series_version):
        return None
    newer = newer_in_series(document=document, series=outcome.series, version=outcome.series_version)
    if newer is None:
        return None
    hidden = newer.readers_id or newer.source_readers_id
    if hidden or newer.clearance > document.clearance:  # the sender may have no right to its title
        return SupersededError()
    return SupersededError("newer", document=newer.pk, title=newer.title)


def _write(document: Document, plain: PlainDocument, outcome: HandlerOutcome) -> None:
    tags = [tag for tag in outcome.tags if tag not in plain.tags]
    metadata = {key: value for key, value in outcome.metadata.items() if key not in plain.metadata}
    retitled = outcome.title not in ("", plain.title) and not document.handled.get("titled")
    document.title = outcome.title if retitled else plain.title
    document.tags = sorted({*plain.tags, *tags})
    former, document.metadata = document.metadata, {**plain.metadata, **metadata}
    document.is_whole, document.series = outcome.whole, outcome.series
    lasting = {key: document.handled[key] for key in KEPT if key in document.handled}
    record = {
        "tags": tags,
        "metadata": metadata,
        "title": {"was": plain.title, "wrote": outcome.title} if retitled else None,
        "series_version": outcome.series_version,
    }
    document.handled = {**lasting, **{key: value for key, value in record.items() if value}}
    fields = ["title", "tags", "metadata", "is_whole", "series", "handled", "updated"]
    document.save(update_fields=fields)
    entities_attributes_changed(document, former=former)


# ── the handlers and attributes that a tenant begins with ─────────────────────────────────────────


@transaction.atomic
def handlers_seed(tenant: Tenant) -> int:
    """Support documents, wiki, cases, design documents, 3GPP, questions and answers; returns how many are new."""
    if SourceHandler.objects.filter(tenant=tenant).exists():
        return 0
    rows = seed_handlers()
    for row in rows:
        values = {name: value for name, value in row.items() if name != "rules"}
        handler = SourceHandler.objects.create(tenant=tenant, **values)
        HandlerRule.objects.bulk_create(
            [HandlerRule(handler=handler, position=number, **rule) for number, rule in enumerate(row["rules"])]
        )
    return len(rows)


def attributes_seed(tenant: Tenant) -> int:
    """The four groups of attributes; returns how many are new."""
    if Attribute.objects.filter(tenant=tenant).exists():
        return 0
    return len(Attribute.objects.bulk_create([Attribute(tenant=tenant, **row) for row in seed_attributes()]))
