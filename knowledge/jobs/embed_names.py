"""Makes the vectors of names: of entities that documents mention, and of the ends of facts."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import partial

from django.utils.translation import gettext_lazy as _

from knowledge import model_registry
from knowledge.embedder_fit import new_vectors_check
from knowledge.indexes.name_vectors import (
    NameKind,
    name_vectors_add,
    name_vectors_drop_others,
    name_vectors_of_others,
    names_without_vector,
)
from knowledge.model_setup import setup_refresh
from knowledge.queue import FILL_NAMES
from knowledge.services.embedder_fill import LOOKED_BACK, LOOKED_SECONDS
from knowledge.services.fill_jobs import site_work
from ragcore.ports import Embedder
from work.kinds import Checkpoint, DueWork, JobKind, job_kind
from work.models import Job

PAGE = 1000  # names that are looked at together
BATCH = 128  # names a transaction
DROPPED = 1000  # vectors of a former model that are deleted at once
KINDS: tuple[NameKind, NameKind] = ("facts", "entities")  # there are fewer of the first, and answers wait for them


@dataclass(frozen=True, slots=True, kw_only=True)
class NamePlace:
    """Up to which ids names have been looked at for vectors of `model`, and when all of them were, in seconds."""

    model: str
    looked: float
    facts: int = 0
    entities: int = 0
    is_open: bool = True  # False: a job has come to the end

    @classmethod
    def of(cls, job: Job, *, model: str) -> NamePlace:
        """Where a job goes on, or begins: with new names; after LOOKED_SECONDS, or for another model, with all.

        Some that came before are looked at again: rows are not committed in the order of their ids.
        """
        now = time.time()
        if job.checkpoint.get("model") != model:
            return cls(model=model, looked=now)
        before = cls(**job.checkpoint)
        if before.is_open:
            return before
        if now - before.looked > LOOKED_SECONDS:
            return cls(model=model, looked=now)
        facts, entities = (max(before.after(of) - LOOKED_BACK, 0) for of in KINDS)
        return cls(model=model, looked=before.looked, facts=facts, entities=entities)

    def after(self, of: NameKind) -> int:
        return self.facts if of == "facts" else self.entities

    def moved(self, of: NameKind, last: int) -> NamePlace:
        return replace(self, facts=last) if of == "facts" else replace(self, entities=last)

    def data(self) -> Mapping[str, object]:
        return asdict(self)


@job_kind
class EmbedNames(JobKind):
    """One job for the site and its model in use; it begins anew each minute with the names that are new.

    An entity that is mentioned again later gets its vector when all names are looked at again.
    """

    name = FILL_NAMES
    label = _("Vectors of names")
    queue = "nightly"
    slice_seconds = 45.0
    longest_retry_seconds = 300.0
    ends_with_author = False

    def due(self) -> list[DueWork]:
        return site_work([""])

    def run(self, job: Job) -> Iterator[Checkpoint]:
        setup_refresh(now=True)
        embedder = model_registry.embedder()
        place = NamePlace.of(job, model=embedder.model)
        for of in KINDS:
            while not place.after(of) and name_vectors_of_others(of=of, model=embedder.model):
                drop = partial(name_vectors_drop_others, of=of, model=embedder.model, limit=DROPPED)
                yield Checkpoint(data=place.data(), write=drop)
            place = yield from _names(of, embedder, place)
        yield Checkpoint(data=replace(place, is_open=False).data(), is_last=True)


def _names(of: NameKind, embedder: Embedder, place: NamePlace) -> Generator[Checkpoint, None, NamePlace]:
    while (page := names_without_vector(of=of, model=embedder.model, after=place.after(of), limit=PAGE)).last:
        for start in range(0, len(page.to_embed), BATCH):
            rows = page.to_embed[start : start + BATCH]
            vectors = embedder.embed_documents([name for _id, _tenant, name in rows])
            new_vectors_check(embedder)
            place = place.moved(of, rows[-1][0])
            yield Checkpoint(
                data=place.data(), write=partial(name_vectors_add, rows, vectors, of=of, model=embedder.model)
            )
        place = place.moved(of, page.last)
    return place
