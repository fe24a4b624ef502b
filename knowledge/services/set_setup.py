"""A knowledge set with everything that it needs to be asked, in one act: people, a source, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.files import File
from django.db import transaction

from accounts.models import User
from accounts.scope import Scope
from knowledge.models import KnowledgeSet, Source
from knowledge.services.composition import set_sources_put
from knowledge.services.documents import document_upload
from knowledge.services.sets import set_create, set_members_put
from knowledge.services.sources import set_ingest, source_create
from knowledge.types import SourceFilter
from ragcore.errors import RagError


@dataclass(frozen=True, slots=True, kw_only=True)
class SetPlan:
    """What a new set begins with. `values`: as in `set_create`; `people`: lists of `set_members_put`, by id."""

    values: Mapping[str, Any]
    people: Mapping[str, Sequence[int]]
    source_id: int | None = None  # one that the asker may use
    addresses: str = ""  # web pages, one a line: a source of their own


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file for the new set; with `new_version_of` it is the next version of that document, which joins the set."""

    name: str
    content: bytes | File[bytes]
    new_version_of: int | None = None


@dataclass(frozen=True, slots=True)
class FileRefusal:
    """A file that was not taken, and why."""

    name: str
    error: RagError


@dataclass(frozen=True, slots=True)
class SetSetup:
    """A new set; files that were refused do not keep it from being made."""

    knowledge_set: KnowledgeSet
    stored: int  # files on their way
    refused: tuple[FileRefusal, ...]


def set_setup(
    *,
    scope: Scope,
    actor: User,
    plan: SetPlan,
    files: Sequence[PlannedFile] = (),
    clearance: int = 0,
) -> SetSetup:
    """Create a set, put people and a source into it, and upload files. Either the set is there with people and source,
    or nothing is; files are taken or refused singly.

    Raises what `set_create`, `set_members_put`, `source_create` and `set_sources_put` raise.
    """
    knowledge_set = _make(scope=scope, actor=actor, plan=plan)
    stored, refused = 0, []
    for file in files:
        try:
            document_upload(
                scope=scope,
                actor=actor,
                sets=[knowledge_set.pk],
                name=file.name,
                content=file.content,
                clearance=clearance,
                new_version_of=file.new_version_of,
            )
            stored += 1
        except RagError as error:
            refused.append(FileRefusal(file.name, error))
    return SetSetup(knowledge_set, stored, tuple(refused))


@transaction.atomic
def _make(*, scope: Scope, actor: User, plan: SetPlan) -> KnowledgeSet:
    knowledge_set = set_create(scope=scope, actor=actor, values=plan.values)
    people = {name: list(ids) for name, ids in plan.people.items()}
    if "owners" in people:
        people["owners"] = list(dict.fromkeys([actor.pk, *people["owners"]]))
    set_members_put(scope=scope, actor=actor, set_id=knowledge_set.pk, **people)
    sources = [plan.source_id] if plan.source_id is not None else []
    if plan.addresses.strip():
        fields = {"name": knowledge_set.name[:128], "kind": Source.Kind.URL, "location": plan.addresses}
        sources.append(source_create(scope=scope, actor=actor, values=fields).pk)
    if sources:
        chosen = [(number, SourceFilter()) for number in sources]
        set_sources_put(scope=scope, actor=actor, set_id=knowledge_set.pk, sources=chosen)
        set_ingest(scope=scope, actor=actor, set_id=knowledge_set.pk)
    return knowledge_set
