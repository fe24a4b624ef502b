"""The one rule for writing: an act of one person changes nothing of what another sees or may do with an object, unless
the first keeps the object, or the set through which the other has it.

Random acts of random people on random objects, also on such as they cannot see; after each of them everything that
every other person sees is compared with what they saw before.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import User
from accounts.scope import Scope
from knowledge.models import Chunk, ChunkEdit, Document, DuplicatePair, IngestJob, KnowledgeSet, Source
from knowledge.selectors import documents_readable, jobs_readable, sets_managed
from knowledge.selectors.comparisons import pairs_of
from knowledge.selectors.sets import sources_usable
from knowledge.services import document_delete, document_retry, documents_bulk, job_cancel, job_pause, job_retry
from knowledge.services.composition import set_sources_put
from knowledge.services.document_restore import document_restore
from knowledge.services.document_weights import documents_weigh
from knowledge.services.documents import document_update
from knowledge.services.edits import chunk_disable, edit_undo
from knowledge.services.near_duplicates import duplicates_record, pair_keep
from knowledge.services.options import set_options_update
from knowledge.services.reingest import document_rebuild, set_rebuild
from knowledge.services.reviews import documents_review
from knowledge.services.sets import set_delete, set_members_put, set_update
from knowledge.services.sources import (
    WebhookEvent,
    set_ingest,
    source_delete,
    source_run_start,
    source_update,
    webhook_events_apply,
)
from knowledge.services.transfers import documents_copy, documents_move, documents_remove
from knowledge.services.withdrawal import version_withdraw
from knowledge.types import SourceFilter
from ragcore.errors import RagError
from tests.factories import make_set, make_user, run_job, scope_of
from tests.forms_plugin import is_full
from tests.knowledge.uploads import upload
from tests.knowledge.worlds import documents_seen, rest_seen

ACTS = 60 if is_full() else 24
SEEDS = range(30) if is_full() else range(1)


def jobs_open(*, scope: Scope) -> QuerySet[IngestJob]:
    """Jobs of a person that are not over."""
    return jobs_readable(scope=scope).filter(items__finished=None, items__isnull=False, cancelled=None).distinct()


TEXTS = [f"The beam {n} of hall {n % 3} carries {n + 2} tons and was tested by crew {n}." for n in range(5)]
SEEN: dict[Any, Callable[..., Any]] = {
    Document: documents_readable,
    KnowledgeSet: sets_managed,
    Source: sources_usable,
    IngestJob: jobs_open,
    DuplicatePair: pairs_of,
}
OFTEN = ("upload", "upload", "load", "pair_keep", "pair_keep", "job_cancel", "document_update", "documents_copy")
SET_ACTS = {"set_update", "set_members_put", "set_delete"}


@dataclass
class Stage:
    """People with sets, documents that share bytes and external ids, and a source that its owner shares."""

    rng: random.Random
    people: list[User] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.people = ann, bob, cid, dan = [make_user(clearance=level) for level in (4, 2, 1, 2)]
        make_set("anns", owners=[ann])
        make_set("bobs", owners=[bob])
        make_set("both", owners=[ann, bob])
        make_set("board", owners=[ann], members=[bob], visibility="members")
        make_set("closed", owners=[cid], originals="keepers")
        make_set("dans", owners=[dan], members=[cid], visibility="members")
        source = Source.objects.create(
            tenant=ann.tenant, name="wiki", kind="webhook", owner=ann, options={"shared": True}, credentials=""
        )
        set_sources_put(
            scope=scope_of(ann),
            actor=ann,
            set_id=KnowledgeSet.objects.get(code="anns").pk,
            sources=[(source.pk, SourceFilter())],
        )
        events = [WebhookEvent(event="upsert", external_id=f"p{n}", text=f"Page {n}. {TEXTS[n]}") for n in range(2)]
        run_job(webhook_events_apply(source=source, events=events).job_id or 0)
        for person in self.people:
            for _ in range(2):
                self.upload(person)
        for person, code in ((ann, "anns"), (bob, "bobs")):  # a pair of near-duplicates of two keepers
            room = KnowledgeSet.objects.get(code=code)
            done = upload(person, room, name="twin.txt", content=b"The twin of this note is kept by somebody else.")
            run_job(done.job.pk)
        left = make_set("left", owners=[ann, bob])
        upload(bob, left, content=b"A note that is on its way.")  # the job is bob's, the document ann's alone
        left.owners.set([ann])
        documents = Document.objects.filter(live_version__isnull=False)
        duplicates_record(
            tenant_id=ann.tenant_id, version_ids=list(documents.values_list("live_version_id", flat=True))
        )

    def any(self, model: Any, person: User | None = None) -> int:
        """The id of any row, or one that does not exist; mostly one that the person can see."""
        rows = model.objects.all()
        if person is not None and self.rng.random() > 0.3:
            rows = SEEN[model](scope=scope_of(person))
        ids = list(rows.order_by("pk").values_list("pk", flat=True))
        return int(self.rng.choice(ids)) if ids and self.rng.random() > 0.05 else 999_999

    def deleted(self) -> int:
        """The id of any document that was deleted: nobody's list has it."""
        ids = list(Document.objects.filter(state="deleted").order_by("pk").values_list("pk", flat=True))
        return int(self.rng.choice(ids)) if ids else 999_999

    def some_sets(self, person: User) -> list[int]:
        mine = list(sets_managed(scope=scope_of(person)).order_by("pk").values_list("pk", flat=True))
        return self.rng.sample(mine, k=min(len(mine), self.rng.choice((1, 1, 2)))) or [self.any(KnowledgeSet)]

    def upload(self, person: User) -> None:
        rng = self.rng
        values = {
            "external_id": rng.choice(("", "", "e1", "e2")),
            "source": rng.choice(("", "", "api")),
            "clearance": rng.randrange(0, person.clearance + 1),
            "title": f"Note of {person.username}",
            "tags": [person.username],
        }
        sets = list(KnowledgeSet.objects.filter(pk__in=self.some_sets(person)))
        done = upload(person, *sets, name="note.txt", content=rng.choice(TEXTS).encode(), **values)
        if done.job and rng.random() > 0.2:
            run_job(done.job.pk)

    def load(self, person: User) -> None:
        rows = [
            {"external_id": self.rng.choice(("e1", "e2", "e3")), "text": text, "sets": self.some_sets(person)}
            for text in self.rng.sample(TEXTS, 2)
        ]
        done = documents_bulk(scope=scope_of(person), actor=person, lines=[json.dumps(row).encode() for row in rows])
        run_job(done.job_id)

    # ── acts ────────────────────────────────────────────────────────────────────────────────────

    def acts(self, person: User) -> dict[str, Callable[[], Any]]:
        """By name everything that a person may try; ids are any."""
        rng, who = self.rng, {"scope": scope_of(person), "actor": person}
        document, of_set, source = self.any(Document, person), self.any(KnowledgeSet, person), self.any(Source, person)
        documents = [self.any(Document, person) for _ in range(2)]
        rooms = [self.any(KnowledgeSet, person) for _ in range(2)]
        chosen = rng.choice(self.people).username
        return {
            "upload": lambda: self.upload(person),
            "load": lambda: self.load(person),
            "document_delete": lambda: document_delete(document_id=document, **who),
            "document_restore": lambda: run_job(document_restore(document_id=self.deleted(), **who).pk),
            "document_update": lambda: document_update(document_id=document, clearance=rng.randrange(5), **who),
            "version_withdraw": lambda: version_withdraw(document_id=document, number=rng.choice((1, 1, 2)), **who),
            "document_retry": lambda: document_retry(document_id=document, **who),
            "document_rebuild": lambda: run_job(document_rebuild(document_id=document, **who).pk),
            "documents_weigh": lambda: documents_weigh(document_ids=documents, weight=rng.choice((0.5, 1, 2)), **who),
            "documents_review": lambda: documents_review(document_ids=documents, is_reviewed=True, **who),
            "documents_copy": lambda: documents_copy(document_ids=documents, to_set=rooms[0], **who),
            "documents_move": lambda: documents_move(document_ids=documents, from_set=rooms[0], to_set=rooms[1], **who),
            "documents_remove": lambda: documents_remove(document_ids=documents, from_set=rooms[0], **who),
            "chunk_disable": lambda: chunk_disable(chunk_id=self.any(Chunk), **who),
            "edit_undo": lambda: edit_undo(edit_id=self.any(ChunkEdit), **who),
            "job_cancel": lambda: job_cancel(job_id=self.any(IngestJob, person), **who),
            "job_pause": lambda: job_pause(job_id=self.any(IngestJob, person), **who),
            "job_retry": lambda: job_retry(job_id=self.any(IngestJob, person), **who),
            "pair_keep": lambda: pair_keep(pair_id=self.any(DuplicatePair, person), **who),
            "set_update": lambda: set_update(
                set_id=of_set,
                values={
                    "visibility": rng.choice(("everyone", "members")),
                    "originals": rng.choice(("readers", "keepers")),
                },
                **who,
            ),
            "set_members_put": lambda: set_members_put(
                set_id=of_set, users=[chosen], owners=[person.username, chosen], **who
            ),
            "set_delete": lambda: rng.random() > 0.7 and set_delete(set_id=of_set, **who),
            "set_options_update": lambda: set_options_update(
                set_id=of_set, options={"retrieval": {"top_k": rng.randrange(5, 20)}}, **who
            ),
            "set_rebuild": lambda: run_job(set_rebuild(set_id=of_set, **who).pk),
            "set_sources_put": lambda: set_sources_put(
                set_id=of_set,
                sources=[(source, SourceFilter(paths=("p1",)))] if rng.random() > 0.4 else [],
                **who,
            ),
            "set_ingest": lambda: set_ingest(set_id=of_set, **who),
            "source_update": lambda: source_update(
                source_id=source, values={"options": {"shared": rng.random() > 0.3}}, **who
            ),
            "source_run_start": lambda: source_run_start(source_id=source, **who),
            "source_delete": lambda: rng.random() > 0.8 and source_delete(source_id=source, with_documents=True, **who),
        }


@dataclass
class Snapshot:
    """What everybody sees, and who keeps what, at one time."""

    documents: dict[int, dict[int, dict[str, Any]]]
    rest: dict[int, dict[str, Any]]
    held: dict[int, set[int]]  # document → sets
    there: set[int]

    @classmethod
    def of(cls, people: list[User]) -> Snapshot:
        held: dict[int, set[int]] = {}
        for document_id, set_id in Document.sets.through.objects.values_list("document_id", "knowledgeset_id"):
            held.setdefault(document_id, set()).add(set_id)
        return cls(
            documents={person.pk: documents_seen(person) for person in people},
            rest={person.pk: rest_seen(person) for person in people},
            held=held,
            there=set(Document.objects.values_list("pk", flat=True)),
        )

    def kept(self, person: User) -> set[int]:
        return {pk for pk, row in self.documents[person.pk].items() if row["keeps"]}

    def managed(self, person: User) -> set[int]:
        return {row[0] for row in self.rest[person.pk]["sets"]}


def faults_of(people: list[User], actor: User, name: str, was: Snapshot, now: Snapshot) -> list[str]:
    """What an act changed for others, against the rule."""
    found = []
    for person in people:
        if person == actor:
            continue
        old, new = was.documents[person.pk], now.documents[person.pk]
        changed = [pk for pk in sorted(old.keys() | new.keys()) if old.get(pk) != new.get(pk)]
        bad = [pk for pk in changed if not _is_allowed(actor, name, pk, was, old.get(pk), new.get(pk))]
        found += [f"{person}, document {pk}: {old.get(pk)} → {new.get(pk)}" for pk in bad]
        found += [f"{person}, {fault}" for fault in _faults_of_rest(actor, person, name, was, now)]
    return found


def _is_allowed(
    actor: User, name: str, pk: int, before: Snapshot, was: dict[str, Any] | None, now: dict[str, Any] | None
) -> bool:
    if pk in before.kept(actor) or pk not in before.there:
        return True
    if name in SET_ACTS:  # through a set of one's own
        return bool(before.held.get(pk, set()) & before.managed(actor))
    if name == "set_sources_put":  # into and out of an own set, from a source that its owner shares
        return _is_reading_only(was, now)
    return False


def _is_reading_only(was: dict[str, Any] | None, now: dict[str, Any] | None) -> bool:
    """Whether a document only came into sight or went out of it, with nobody's right to change it."""
    if was is None or now is None:
        return not (was or now or {}).get("keeps")
    rights = ("asks", "opens")
    return {k: v for k, v in was.items() if k not in rights} == {k: v for k, v in now.items() if k not in rights}


def _faults_of_rest(actor: User, person: User, name: str, before: Snapshot, after: Snapshot) -> list[str]:
    was, now, managed = before.rest[person.pk], after.rest[person.pk], before.managed(actor)
    found = [f"{kind}: {row}" for kind in ("jobs", "sources") for row in was[kind] if row not in now[kind]]
    found += [f"set: {row}" for row in was["sets"] if row not in now["sets"] and row[0] not in managed]
    if (was["reads"] ^ now["reads"]) - managed:
        found.append(f"reads {was['reads']} → {now['reads']}")
    kept = before.kept(actor)  # deciding about a pair needs both, every other act changes one of them
    gone = was["pairs"] - now["pairs"]
    pairs = {pair for pair in gone if not (set(pair) <= kept if name == "pair_keep" else set(pair) & kept)}
    return [*found, *([f"pairs: {pairs}"] if pairs and name not in SET_ACTS else [])]


@pytest.mark.full
@pytest.mark.django_db
@pytest.mark.parametrize("seed", SEEDS)
def test_no_act_changes_what_others_see_or_may_do_with_what_one_does_not_keep(seed):
    rng = random.Random(seed)
    stage = Stage(rng)
    people, done = stage.people, 0
    was = Snapshot.of(people)
    for number in range(ACTS):
        actor = rng.choice(people)
        acts = stage.acts(actor)
        name = rng.choice(OFTEN if rng.random() > 0.5 else sorted(acts))
        try:
            with transaction.atomic():
                acts[name]()
        except RagError:
            continue  # rolled back
        done += 1
        now = Snapshot.of(people)
        faults = faults_of(people, actor, name, was, now)
        assert not faults, "\n".join([f"act {number}: {name} by {actor}", *faults])
        was = now
    assert done > ACTS / 8
