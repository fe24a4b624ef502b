"""Imports and deletes facts of knowledge sets, and makes their vectors.

An import is found by its words as soon as a batch of it is stored; `knowledge/jobs/read_facts.py` makes the vectors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge import model_registry
from knowledge.embedder_fit import new_vectors_check
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.graph_triples import NewTriple, triples_store, triples_without_vector, vectors_add
from knowledge.models import KnowledgeSet, Triple, TripleImport
from knowledge.queue import READ_FACTS
from knowledge.selectors.sets import set_curated
from knowledge.selectors.triples import import_get, triples_askable
from knowledge.services.triple_files import SHOWN_FAULTS, fault_error, fault_row, import_recorded
from ragcore.errors import PermanentError
from ragcore.graph.files import LineFault, TripleFormat, TripleLine, read_triples
from ragcore.ports import Embedder, FloatArray
from ragcore.text.csv_rows import unescaped_cell
from work.queue import due_enqueue

State = TripleImport.State
BATCH = 2000  # facts a transaction
EMBED_BATCH = 256


class SetNeededError(PermanentError):
    """No line and no parameter names the knowledge set."""

    code = "set_needed"
    default_message = "Name the knowledge set of the triples: with `set` in the line or in the address."


@dataclass(slots=True)
class TriplesTaken:
    """What a request brought: facts stored, facts that were there, and faulty lines."""

    accepted: int = 0
    duplicates: int = 0
    rejected_count: int = 0
    rejected: list[dict[str, object]] = field(default_factory=list)
    imports: list[int] = field(default_factory=list)


# ── by request ──────────────────────────────────────────────────────────────────────────────────


def triples_import(
    *, scope: Scope, actor: User, lines: Iterable[bytes], form: TripleFormat, set_id: int | None = None, name: str
) -> TriplesTaken:
    """Store the facts of lines while they are read; faulty lines are reported, the others stay, also if it breaks off.

    `set_id`: the knowledge set of lines that name none. Raises NotFoundError, NotAllowedError for `set_id`.
    """
    load = _Load(scope=scope, actor=actor, form=form, name=name[:255])
    if set_id is not None:
        load.set_of(set_id)
    try:
        for line in read_triples(lines, form, read_cell=unescaped_cell):
            load.take(line, set_id)
        return load.finish()
    except Exception:
        load.break_off()
        raise


@dataclass(slots=True)
class _Load:
    """Facts by set, stored batch by batch; each set has an import of its own."""

    scope: Scope
    actor: User
    form: TripleFormat
    name: str
    result: TriplesTaken = field(default_factory=TriplesTaken)
    imports: dict[int, TripleImport] = field(default_factory=dict)
    _sets: dict[int, KnowledgeSet | PermanentError] = field(default_factory=dict)
    _rows: dict[int, list[NewTriple]] = field(default_factory=dict)

    def set_of(self, set_id: int) -> KnowledgeSet:
        """Raises NotFoundError, NotAllowedError."""
        if set_id not in self._sets:
            try:
                self._sets[set_id] = set_curated(scope=self.scope, set_id=set_id)
            except PermanentError as error:
                self._sets[set_id] = error
        knowledge_set = self._sets[set_id]
        if isinstance(knowledge_set, PermanentError):
            raise knowledge_set
        return knowledge_set

    def take(self, line: TripleLine | LineFault, default_set: int | None) -> None:
        try:
            row = self._row(line, default_set)
        except PermanentError as error:
            self.result.rejected_count += 1
            if len(self.result.rejected) < SHOWN_FAULTS:
                self.result.rejected.append(fault_row(line.line, error))
            return
        rows = self._rows.setdefault(row.set_id, [])
        rows.append(row)
        if len(rows) >= BATCH:
            self._store(row.set_id)

    def _row(self, line: TripleLine | LineFault, default_set: int | None) -> NewTriple:
        if isinstance(line, LineFault):
            raise fault_error(line)
        set_id = line.set_id if line.set_id is not None else default_set
        if set_id is None:
            raise SetNeededError
        return NewTriple(set_id=self.set_of(set_id).pk, triple=line.triple)

    def _store(self, set_id: int) -> None:
        rows = self._rows.pop(set_id, [])
        if not rows:
            return
        with transaction.atomic():
            into = self.imports.get(set_id) or self._import_of(set_id)
            stored = triples_store(
                rows, tenant_id=into.tenant_id, source_id=into.pk, tokenizer=model_registry.tokenizer()
            )
            into.accepted += stored
            into.duplicates += len(rows) - stored
            into.save(update_fields=["accepted", "duplicates"])
        self.imports[set_id] = into
        self.result.accepted += stored
        self.result.duplicates += len(rows) - stored

    def _import_of(self, set_id: int) -> TripleImport:
        home = self.set_of(set_id)
        return TripleImport.objects.create(
            tenant_id=home.tenant_id, knowledge_set=home, actor=self.actor, name=self.name, format=self.form,
            state=State.RUNNING, finished=timezone.now(),
        )  # fmt: skip

    def finish(self) -> TriplesTaken:
        for set_id in list(self._rows):
            self._store(set_id)
        self._end(State.PARTIAL if self.result.rejected_count else State.SUCCEEDED)
        self.result.imports = [row.pk for row in self.imports.values()]
        return self.result

    def break_off(self) -> None:
        """The sender went away, or something failed: what is stored stays, and its imports say that it is not all."""
        self._end(State.FAILED)

    def _end(self, state: State) -> None:
        for row in self.imports.values():
            if row.state == State.RUNNING:
                row.state, row.rejected, row.faults = state, self.result.rejected_count, self.result.rejected
                row.save(update_fields=["state", "rejected", "faults"])
                import_recorded(self.actor, row)
        if self.result.accepted:
            due_enqueue(READ_FACTS)


# ── vectors ─────────────────────────────────────────────────────────────────────────────────────


def vectors_make(*, after: int = 0, limit: int = EMBED_BATCH, embedder: Embedder | None = None) -> int:
    """Vectors of the next facts behind an id that have none; the last id, 0 where there were none.

    `embedder`: another one than that in use.
    """
    facts = fact_vectors_embed(after=after, limit=limit, embedder=embedder or model_registry.embedder())
    if facts is None:
        return 0
    facts.store()
    return facts.last


@dataclass(frozen=True, slots=True, kw_only=True)
class FactVectors:
    """Vectors of some facts that are not stored yet; `last`: the highest id."""

    model: str
    rows: Sequence[tuple[int, int, FloatArray]]  # id, tenant, float32[768]

    @property
    def last(self) -> int:
        return self.rows[-1][0]

    def store(self) -> None:
        vectors_add(self.rows, model=self.model)


def fact_vectors_embed(*, after: int = 0, limit: int = EMBED_BATCH, embedder: Embedder) -> FactVectors | None:
    """Vectors of the next facts behind an id that have none; None where there are no such facts."""
    rows = triples_without_vector(model=embedder.model, after=after, limit=limit)
    if not rows:
        return None
    vectors = embedder.embed_documents([triple.text for _, _, triple in rows])
    new_vectors_check(embedder)
    places = zip(rows, vectors, strict=True)
    return FactVectors(model=embedder.model, rows=[(number, tenant, vector) for (number, tenant, _), vector in places])


# ── deleting ────────────────────────────────────────────────────────────────────────────────────


@transaction.atomic
def import_delete(*, scope: Scope, actor: User, import_id: int) -> int:
    """Delete an import with its facts; how many there were. Raises NotFoundError."""
    row = import_get(scope=scope, import_id=import_id)
    count = _deleted(actor, row.knowledge_set, Triple.objects.filter(source=row))
    row.delete()
    if row.file:
        transaction.on_commit(lambda: default_storage.delete(row.file))
    return count


@transaction.atomic
def triples_delete_all(*, scope: Scope, actor: User, set_id: int) -> int:
    """Delete all imported facts of a set, and its imports. Raises NotFoundError, NotAllowedError."""
    into = set_curated(scope=scope, set_id=set_id)
    count = _deleted(actor, into, Triple.objects.filter(knowledge_set=into, document=None))
    TripleImport.objects.filter(knowledge_set=into).delete()
    return count


@transaction.atomic
def triple_delete(*, scope: Scope, actor: User, triple_id: int) -> None:
    """Delete one fact of a set that the actor curates. Raises NotFoundError, NotAllowedError."""
    triple = triples_askable(scope=scope).filter(pk=triple_id).select_related("knowledge_set").first()
    if triple is None:
        raise NotFoundError("triple", triple=triple_id)
    into = set_curated(scope=scope, set_id=triple.knowledge_set_id)
    _deleted(actor, into, Triple.objects.filter(pk=triple_id))


def _deleted(actor: User, into: KnowledgeSet, rows: QuerySet[Triple]) -> int:
    count = rows.delete()[0]
    epoch_advance(tenant_id=into.tenant_id, sets=[into.pk])
    audit_record(actor=actor, action="triples.delete", target=into.code, set=into.pk, triples=count)
    return count
