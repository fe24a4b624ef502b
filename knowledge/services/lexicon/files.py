"""Lexicon files: CSV, TSV and TBX in and out, with the faults of each line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import uuid4

from django.db import transaction

from accounts.errors import NameTakenError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.statements import lexicon_lock
from knowledge.lexicon_errors import LexiconTermError
from knowledge.models import KnowledgeSet, LexiconChange, LexiconTerm
from knowledge.selectors.lexicon import lexicon_set_get, terms_of
from knowledge.services.lexicon.file_lines import FileLines, LineChange, LineFault
from knowledge.services.lexicon.tables import Entry, table_entries, table_of
from knowledge.services.lexicon.tbx import is_tbx, tbx_entries, tbx_of
from knowledge.services.lexicon.terms import AT_ONCE, change_of, home_terms, terms_store

FileFormat = Literal["csv", "tsv", "tbx"]
MEDIA_TYPES: Mapping[FileFormat, str] = {
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "tbx": "application/x-tbx+xml",
}
MAX_MB = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class FileImported:
    """What became of a file; `change_id` is that of one of its changes, by which all are undone."""

    added: int = 0
    changed: int = 0
    same: int = 0
    faults: tuple[LineFault, ...] = ()  # the first ones
    fault_count: int = 0
    change_id: int | None = None


@transaction.atomic
def lexicon_import(
    *,
    scope: Scope,
    actor: User,
    content: bytes,
    set_id: int | None = None,
    approve: bool = True,
    file_name: str = "",
) -> FileImported:
    """Add the terms of a file to a lexicon, and change those that it has; good lines are taken, faulty ones reported.

    `approve`: terms without a status are approved, else suggested; `file_name` is kept in the history. Raises
    NotFoundError, NotAllowedError, MissingRightError, LexiconTermError for a file that cannot be read at all.
    """
    home = lexicon_set_get(scope=scope, set_id=set_id)
    tenant_id = home.tenant_id if home is not None else scope.tenant_id
    lexicon_lock(tenant_id=tenant_id, set_id=set_id)
    origin, status = LexiconTerm.Origin.IMPORT, LexiconTerm.Status.APPROVED if approve else LexiconTerm.Status.CANDIDATE
    lines = FileLines(
        known=home_terms(scope=scope, home=home),
        hidden=_hidden_names(scope, tenant_id, home),
        make=lambda: LexiconTerm(tenant_id=tenant_id, knowledge_set=home, author=actor, origin=origin),
    )
    for line, entry in entries_of(content):
        lines.take(line, entry, status=status)
    taken = _taken(lines)
    change_id = _changes_store(taken, actor=actor, file_name=file_name)
    added = sum(change.before is None for change in taken)
    done = {"added": added, "changed": len(taken) - added, "same": lines.same}
    audit_record(
        actor=actor, action="lexicon.import", target=home.name if home else "tenant", **done, faults=lines.fault_count
    )
    return FileImported(**done, faults=tuple(lines.faults), fault_count=lines.fault_count, change_id=change_id)


def _hidden_names(scope: Scope, tenant_id: int, home: KnowledgeSet | None) -> set[tuple[str, str]]:
    """Key and long form of the terms of a lexicon that the asker may not see."""
    rows = LexiconTerm.objects.filter(tenant_id=tenant_id, knowledge_set=home, clearance__gt=scope.clearance)
    return set(rows.values_list("key", "long_form"))


def _taken(lines: FileLines) -> list[LineChange]:
    """Store the terms; the changes of those that are stored. The others' words were taken while the file was read."""
    terms = list({id(change.term): change.term for change in lines.changes}.values())
    refused = {id(term) for term in terms_store(terms)}
    for change in lines.changes:
        if id(change.term) in refused:
            lines.refuse(change.line, NameTakenError("lexicon_term", name=change.after["text"]))
    return [change for change in lines.changes if id(change.term) not in refused]


def _changes_store(changes: Sequence[LineChange], *, actor: User, file_name: str) -> int | None:
    """Keep what was changed, in the order of the lines, as one batch; the id of the last change."""
    batch = uuid4()
    rows = [
        change_of(term=one.term, before=one.before, after=one.after, actor=actor, batch=batch, file_name=file_name)
        for one in changes
    ]
    stored = LexiconChange.objects.bulk_create(rows, batch_size=AT_ONCE)
    return stored[-1].pk if stored else None


def entries_of(content: bytes) -> Iterator[tuple[int, Entry]]:
    """The values or the fault of each term of a file with the line that it stands in. Raises LexiconTermError."""
    if len(content) > MAX_MB * 1024 * 1024:
        raise LexiconTermError("file_size", limit_mb=MAX_MB)
    yield from tbx_entries(content) if is_tbx(content) else table_entries(content)


def lexicon_export(*, scope: Scope, set_id: int | None = None, file_format: FileFormat = "csv") -> str:
    """The terms of a lexicon as a file that `lexicon_import` reads again. Raises as lexicon_set_get."""
    home = lexicon_set_get(scope=scope, set_id=set_id)
    terms = terms_of(scope=scope, knowledge_set=home).order_by("key", "long_form")
    if file_format == "tbx":
        return tbx_of(terms, title=home.shown_name if home is not None else "Lexicon")
    return table_of(terms, separator="\t" if file_format == "tsv" else ",")
