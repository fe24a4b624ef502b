"""Documents that a source does not list any more: deleted where it is set to do so, or held back for a decision.

Nothing is deleted because of a list that may be incomplete. A part that is too large waits until a person deletes or
spares it; what turns up again waits no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from django.db import transaction

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.connector_errors import NotDeletedError
from knowledge.connectors.items import ListEnd
from knowledge.models import DeletionHold, Document, Source
from knowledge.selectors.sets import source_managed
from knowledge.services.deletion import documents_withdraw
from knowledge.services.sources.known_items import item_key
from knowledge.types import SourceOptions
from ragcore.errors import RagError

FEW = 3  # documents that may always be deleted, whatever their share
EXAMPLES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """Deletions that wait for a decision, of `total` documents of the source."""

    count: int
    total: int
    examples: tuple[str, ...]  # titles of the first


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingResult:
    """What became of documents that are missing; `note`: what somebody should know of it."""

    deleted: int = 0
    note: RagError | None = None


def missing_settle(
    *,
    source: Source,
    options: SourceOptions,
    present: AbstractSet[int],
    removed: Sequence[str],
    end: ListEnd | None,
    is_complete: bool,
    known_keys: AbstractSet[int] | None = None,
) -> MissingResult:
    """Delete what is gone, or hold it back. `present`: keys of the items that are there.

    Gone is what a list of changes names, or what a whole list does not. `known_keys`: of all documents that were
    here before the list; where all are there, nobody looks through the rows.
    """
    is_whole = end is None or end.is_full
    hold = DeletionHold.objects.filter(source=source).first()
    if is_whole and hold is None and known_keys is not None and known_keys <= present and not removed:
        return MissingResult()
    waiting = frozenset(hold.documents if hold else ())
    spared = frozenset(hold.spared if hold else ())
    missing, total = _missing(source, present=present, removed=removed, is_whole=is_whole, waiting=waiting)
    if is_complete and not (is_whole and not present):
        spared &= missing if is_whole else spared - _back(source, present, spared)
        open_ones = missing - spared
        too_many = len(open_ones) > max(FEW, total * options.delete_at_most_percent / 100)
        _hold(source, documents=open_ones if too_many else frozenset(), spared=spared, total=total)
        if too_many:
            return MissingResult(note=NotDeletedError("too_many", missing=len(open_ones), total=total))
        return MissingResult(
            deleted=documents_withdraw(tenant_id=source.tenant_id, document_ids=sorted(open_ones)) if open_ones else 0
        )
    if not missing - spared:
        return MissingResult()
    return MissingResult(note=NotDeletedError() if not is_complete else NotDeletedError("empty"))


def missing_tell(
    *,
    source: Source,
    present: AbstractSet[int],
    removed: Sequence[str],
    end: ListEnd | None,
    is_complete: bool,
    known_keys: AbstractSet[int] | None = None,
) -> RagError | None:
    """How many documents are gone from a source that is not set to delete them; None: none, or nobody can tell.

    As missing_settle.
    """
    is_whole = end is None or end.is_full
    if not is_complete or (is_whole and not present) or not (is_whole or removed):
        return None
    if is_whole and known_keys is not None and known_keys <= present:
        return None
    missing, _total = _missing(source, present=present, removed=removed, is_whole=is_whole, waiting=frozenset())
    return NotDeletedError("off", missing=len(missing)) if missing else None


def _missing(
    source: Source, *, present: AbstractSet[int], removed: Sequence[str], is_whole: bool, waiting: frozenset[int]
) -> tuple[frozenset[int], int]:
    """Ids of the documents that are gone, and how many the source has."""
    removed_keys = frozenset(map(item_key, removed))
    here = Document.objects.filter(source=source, deleted=None).values_list("pk", "external_id")
    total, missing = 0, set[int]()
    for pk, external_id in here.iterator(chunk_size=2000):
        total += 1
        key = item_key(external_id)
        is_gone = key not in present if is_whole else pk in waiting and key not in present
        if is_gone or (key in removed_keys and key not in present):
            missing.add(pk)
    return frozenset(missing), total


def _back(source: Source, present: AbstractSet[int], spared: frozenset[int]) -> frozenset[int]:
    """Those of the spared documents that the source lists again."""
    if not spared:
        return frozenset()
    rows = Document.objects.filter(pk__in=spared, source=source).values_list("pk", "external_id")
    return frozenset(pk for pk, external_id in rows if item_key(external_id) in present)


def _hold(source: Source, *, documents: frozenset[int], spared: frozenset[int], total: int) -> None:
    if not documents and not spared:
        DeletionHold.objects.filter(source=source).delete()
        return
    values = {"documents": sorted(documents), "spared": sorted(spared), "total": total}
    DeletionHold.objects.update_or_create(source=source, defaults=values)


def hold_end(*, source_id: int) -> None:
    """Nothing waits any more: the source is not set to delete."""
    DeletionHold.objects.filter(source=source_id).delete()


# ── what people decide ──────────────────────────────────────────────────────────────────────────


def held_deletions(*, scope: Scope, source: Source) -> Held | None:
    """Deletions that wait for a decision, for somebody who may change the source; None: there are none.

    Titles are shown up to the asker's clearance.
    """
    hold = DeletionHold.objects.filter(source=source).first()
    if hold is None or not hold.documents:
        return None
    rows = Document.objects.filter(pk__in=hold.documents, deleted=None)
    cleared = rows if scope.administers == "everything" else rows.filter(clearance__lte=scope.clearance)
    examples = tuple(cleared.order_by("pk").values_list("title", flat=True)[:EXAMPLES])
    return Held(count=rows.count(), total=hold.total, examples=examples)


def held_deletions_decide(*, scope: Scope, actor: User, source_id: int, delete: bool) -> int:
    """Delete the documents that wait, or spare them until the source lists them again; how many.

    Raises NotFoundError, also where nothing waits, and NotAllowedError.
    """
    source = source_managed(scope=scope, source_id=source_id)
    with transaction.atomic():
        hold = DeletionHold.objects.select_for_update().filter(source=source).first()
        if hold is None or not hold.documents:
            raise NotFoundError
        waiting = hold.documents
        hold.documents, hold.spared = [], hold.spared if delete else sorted({*hold.spared, *waiting})
        hold.save(update_fields=["documents", "spared"])
        action = "source.deletions_delete" if delete else "source.deletions_keep"
        audit_record(actor=actor, action=action, target=source.name, source=source.pk, documents=len(waiting))
    if not delete:
        return len(waiting)
    here = list(Document.objects.filter(pk__in=waiting, source=source, deleted=None).values_list("pk", flat=True))
    return documents_withdraw(tenant_id=source.tenant_id, document_ids=here)
