"""The outbox of another search backend: which documents it has to be told about (D39).

Statement triggers (migration 0005) write it within the transaction of every change of what people can find. They are
disabled until a tenant is moved. `ALTER TABLE … TRIGGER` waits for the writers that are at work, so whatever is not in
the outbox was committed before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from knowledge.indexes.rows import execute, fetch

WATCHES = {
    "knowledge_document": ("knowledge_note_document_update", "knowledge_note_document_delete"),
    "knowledge_document_sets": ("knowledge_note_set_insert", "knowledge_note_set_delete"),
    "knowledge_indexentry": (
        "knowledge_note_entry_insert",
        "knowledge_note_entry_update",
        "knowledge_note_entry_delete",
    ),
}
NAMES = [name for names in WATCHES.values() for name in names]
WATCHED = """
SELECT count(*) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
WHERE c.relnamespace = current_schema()::regnamespace AND t.tgname = ANY(%(names)s) AND t.tgenabled <> 'D'
"""
TAKE = """
SELECT id, document_id, attempts FROM knowledge_backendchange
WHERE not_before <= now() AND (
    tenant_id IN (SELECT tenant_id FROM knowledge_tenantbackend WHERE ready IS NOT NULL) OR tenant_id = %(tenant)s
)
ORDER BY id LIMIT %(limit)s
"""
DONE = "DELETE FROM knowledge_backendchange WHERE id = ANY(%(ids)s)"
PUT_OFF = """
UPDATE knowledge_backendchange SET attempts = attempts + 1, not_before = now() + make_interval(secs => %(seconds)s)
WHERE id = ANY(%(ids)s)
"""
FORGET = """
DELETE FROM knowledge_backendchange WHERE tenant_id NOT IN (SELECT tenant_id FROM knowledge_tenantbackend)
"""
COMPACT = """
DELETE FROM knowledge_backendchange c USING (
    SELECT document_id, max(id) AS id FROM knowledge_backendchange GROUP BY document_id
) last WHERE c.document_id = last.document_id AND c.id < last.id
"""
WAITING = """
SELECT count(DISTINCT document_id), count(DISTINCT document_id) FILTER (WHERE attempts > 0)
FROM knowledge_backendchange WHERE tenant_id = %(tenant)s
"""
TRY_ALONE = "SELECT pg_try_advisory_lock(hashtextextended('ragsite.backend', 0))"
NO_LONGER_ALONE = "SELECT pg_advisory_unlock(hashtextextended('ragsite.backend', 0))"


@dataclass(frozen=True, slots=True)
class Change:
    """A document that has changed; `attempts` were refused by the backend."""

    id: int
    document_id: int
    attempts: int


def outbox_watch(*, on: bool) -> None:
    """Begin or end to note changes. Call outside transactions: one table at a time is waited for and held, no more."""
    for table, names in WATCHES.items():
        execute(f"ALTER TABLE {table} {', '.join(f'{_able(on)} TRIGGER {name}' for name in names)}", {})


def _able(on: bool) -> str:
    return "ENABLE" if on else "DISABLE"


def outbox_is_watching() -> bool:
    """Whether all changes are noted."""
    return int(fetch(WATCHED, {"names": NAMES})[0][0]) == len(NAMES)


def changes_take(*, limit: int, tenant_id: int | None = None) -> list[Change]:
    """The oldest changes of tenants that are searched elsewhere, and of this one; they stay until `changes_done`.

    Read the documents afterwards: what is read then is at least as new as the changes. Call under `backend_alone`.
    """
    return [Change(*row) for row in fetch(TAKE, {"limit": limit, "tenant": tenant_id})]


def changes_done(ids: Sequence[int]) -> None:
    execute(DONE, {"ids": list(ids)})


def changes_put_off(ids: Sequence[int], *, seconds: float) -> None:
    """The backend has refused them; they are tried again after a while."""
    execute(PUT_OFF, {"ids": list(ids), "seconds": seconds})


def changes_forget() -> int:
    """Drop changes of tenants that are searched in Postgres."""
    return execute(FORGET, {})


def changes_compact() -> int:
    """Keep one change a document: all that is needed while nobody applies them."""
    return execute(COMPACT, {})


def changes_waiting(*, tenant_id: int) -> tuple[int, int]:
    """Documents of a tenant that wait, and how many of those the backend has refused."""
    waiting, refused = fetch(WAITING, {"tenant": tenant_id})[0]
    return int(waiting), int(refused)


@contextmanager
def backend_alone() -> Iterator[bool]:
    """Whether this connection may write to the backend; False while another one does. Held until the context ends.

    One writer at a time: two could overtake each other, and a deleted passage would come back.
    """
    held = bool(fetch(TRY_ALONE, {})[0][0])
    try:
        yield held
    finally:
        if held:
            fetch(NO_LONGER_ALONE, {})
