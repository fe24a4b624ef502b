"""The steps of an import: the set is made for the importer alone, filled part by part, and opened at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from django.core.files.storage import default_storage
from django.db import transaction
from django.utils import timezone

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.indexes.sentence_vectors import space_of
from knowledge.model_registry import embedder
from knowledge.models import IngestJob, KnowledgeSet, RefusalLine, SetFile, SetFileDocument
from knowledge.services.options import ChangeNote, set_options_update
from knowledge.services.registration import DEFAULT_SOURCE, source_ensure
from knowledge.services.set_files.about_set import PEOPLE, AboutSet, set_read
from knowledge.services.set_files.arriving import ArrivingDocument, Blocks, document_read, vectors_read
from knowledge.services.set_files.container import PartsReader
from knowledge.services.set_files.documents_in import Destination, documents_write, vectors_of
from knowledge.services.set_files.exporting import State
from knowledge.services.set_files.identity import is_same_model, model_identity
from knowledge.services.set_files.importing import files_forget
from knowledge.services.set_files.people import ROLES, People, names_in, people_here
from knowledge.services.set_files.sections import Arriving, SetSection, sections
from knowledge.services.set_files.values import values_of
from knowledge.services.sets import set_create
from ragcore.errors import InvalidOptionsError
from ragcore.ports import FloatArray, SentenceEmbedder

__all__ = ["PreparedPart", "SetArrival", "arrival_of", "document_parts", "later_sections"]


@dataclass(frozen=True, slots=True)
class PreparedPart:
    """Documents of one part with the vectors of their entries; `above`: how many the importer may not have."""

    documents: Sequence[ArrivingDocument]
    vectors: FloatArray
    above: int


class SetArrival:
    """An import that is under way: its file, and what it needs of this site. Not for several threads."""

    def __init__(self, *, scope: Scope, actor: User, row: SetFile, reader: PartsReader) -> None:
        self.scope, self.actor, self.row, self.reader = scope, actor, row, reader

    @cached_property
    def about(self) -> AboutSet:
        return set_read(self.reader)

    @cached_property
    def is_same_model(self) -> bool:
        """Whether the vectors of the file are used; asked after `model_settle`."""
        return is_same_model(self.about.model, model_identity())

    @cached_property
    def people(self) -> People:
        """Who is somebody here by now."""
        names = names_in(self.reader.document(PEOPLE))
        return people_here(tenant_id=self.row.tenant_id, names=names, chosen=self.row.choices.get("people", {}))

    @property
    def knowledge_set(self) -> KnowledgeSet:
        """The set that is being filled. Raises NotFoundError where somebody has deleted it."""
        row = SetFile.objects.select_related("knowledge_set").get(pk=self.row.pk)
        if row.knowledge_set is None:
            raise NotFoundError("set", set=self.row.choices.get("code", ""))
        return row.knowledge_set

    # ── before the documents ────────────────────────────────────────────────────────────────────

    def begin(self) -> dict[str, Any]:
        """Make the set for the importer alone, with its settings and what comes before documents."""
        values = {**self.about.values, "code": self.row.choices["code"], "visibility": "members"}
        values["name"] = self.row.choices.get("name") or values["name"]
        knowledge_set = set_create(scope=self.scope, actor=self.actor, values=values)
        job = IngestJob.objects.create(tenant_id=self.row.tenant_id, created_by=self.actor, kind=IngestJob.Kind.BULK)
        SetFile.objects.filter(pk=self.row.pk).update(knowledge_set=knowledge_set, ingest_job=job)
        counts: Counter[str] = Counter()
        if self.about.options:
            counts["options_refused"] = int(not self._options_set(knowledge_set))
        for section in sections(is_first=True):
            counts.update(self.section_store(section))
        return {"counts": dict(counts)}

    def _options_set(self, knowledge_set: KnowledgeSet) -> bool:
        why = ChangeNote(kind="import", note=self.row.name[:256])
        try:
            with transaction.atomic():
                set_options_update(
                    scope=self.scope, actor=self.actor, set_id=knowledge_set.pk, options=self.about.options, why=why
                )
        except InvalidOptionsError:  # they do not fit together with those of this site
            return False
        return True

    # ── documents ───────────────────────────────────────────────────────────────────────────────

    def part_prepare(self, name: str) -> PreparedPart:
        """Read a part of documents and have its vectors ready. Slow: outside of transactions.

        Raises SetFileInvalidError, ModelUnavailableError.
        """
        number = name.removeprefix("documents/").removesuffix(".jsonl")
        whole = values_of({}, f"vectors/{number}.f16", 1)
        blocks = Blocks(
            vectors_read(self.reader.blob(f"vectors/{number}.f16"), whole),
            self.reader.blob(f"sentences/{number}.bin"),
        )
        documents = [document_read(values_of(line, name, at), blocks) for at, line in self.reader.lines(name)]
        cleared = [arriving for arriving in documents if arriving.clearance <= self.scope.clearance]
        vectors = vectors_of(cleared, is_same_model=self.is_same_model)
        return PreparedPart(cleared, vectors, above=len(documents) - len(cleared))

    def part_write(self, part: PreparedPart) -> dict[str, int]:
        """Write a prepared part; what it adds to the counts."""
        counts = documents_write(self._destination(), part.documents, part.vectors, reader=self.reader)
        return {"above_clearance": part.above, **counts}

    def _destination(self) -> Destination:
        model = embedder()
        uses_sentences = self.is_same_model and isinstance(model, SentenceEmbedder)
        job = SetFile.objects.select_related("ingest_job").get(pk=self.row.pk).ingest_job
        if job is None:
            raise NotFoundError("job", job="")
        return Destination(
            scope=self.scope,
            actor=self.actor,
            set_file=self.row,
            knowledge_set=self.knowledge_set,
            source=source_ensure(tenant_id=self.row.tenant_id, name=DEFAULT_SOURCE),
            ingest_job=job,
            people=self.people,
            references=self.about.references,
            space=space_of(model) if uses_sentences and isinstance(model, SentenceEmbedder) else None,
        )

    # ── behind the documents ────────────────────────────────────────────────────────────────────

    def section_store(self, section: SetSection) -> Mapping[str, int]:
        """Write a section of the file, if it has one."""
        part = f"sections/{section.name}.jsonl"
        lines = [values_of(line, part, at).of for at, line in self.reader.lines(part)]
        if not lines:
            return {}
        rows = SetFileDocument.objects.filter(set_file=self.row)
        arriving = Arriving(
            scope=self.scope,
            actor=self.actor,
            knowledge_set=self.knowledge_set,
            documents=dict(rows.values_list("number", "document_id")),
            is_same_model=self.is_same_model,
        )
        return section.store(arriving, lines)

    def finish(self, counts: Mapping[str, int]) -> None:
        """Open the set to whom it is for, and forget the file."""
        knowledge_set = self.knowledge_set
        roles = _roles(self.reader)
        for relation, kind in ROLES.items():
            ids = self.people.ids(kind, roles.get(relation, ()))
            getattr(knowledge_set, relation).add(*ids)
        if (line := self.about.refusal_line) and self.is_same_model and line["embedder"] == embedder().model:
            RefusalLine.objects.update_or_create(knowledge_set=knowledge_set, defaults=dict(line))
        knowledge_set.visibility = self.about.values["visibility"]
        knowledge_set.save(update_fields=["visibility"])
        SetFileDocument.objects.filter(set_file=self.row).delete()
        row = SetFile.objects.get(pk=self.row.pk)
        row.state, row.finished = State.DONE, timezone.now()
        row.summary = {**row.summary, "counts": dict(counts)}
        files_forget(row)
        row.file = ""
        row.save(update_fields=["state", "finished", "summary", "file"])
        epoch_advance(tenant_id=row.tenant_id, sets=[knowledge_set.pk])
        audit_record(
            actor=self.actor,
            action="set.imported",
            target=knowledge_set.code,
            set=knowledge_set.pk,
            documents=counts.get("documents", 0),
        )


def _roles(reader: PartsReader) -> dict[str, list[str]]:
    """Names by relation of the set."""
    roles: dict[str, list[str]] = {}
    for (_kind, name), relations in names_in(reader.document(PEOPLE)).items():
        for relation in relations:
            roles.setdefault(relation, []).append(name)
    return roles


def arrival_of(*, scope: Scope, actor: User, row: SetFile) -> SetArrival:
    """The import of a file. Raises SetFileInvalidError."""
    return SetArrival(scope=scope, actor=actor, row=row, reader=PartsReader(Path(default_storage.path(row.file))))


def document_parts(reader: PartsReader) -> Iterator[tuple[int, str]]:
    """Number, from 1, and name of each part of documents."""
    yield from enumerate((name for name in reader.names("documents")), 1)


def later_sections() -> list[SetSection]:
    """Sections that are stored behind the documents, in order."""
    return sections(is_first=False)
