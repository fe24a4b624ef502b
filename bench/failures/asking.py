"""Questions of public sets, asked in a product of their own, and whether their answers are wrong."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from asgiref.sync import async_to_sync
from django.core.management import call_command

from accounts.models import User
from accounts.selectors import scope_for
from bench.diagnosis.planted import diagnose_as_reviewer
from bench.retrieval import note, work_off
from chat.errors import AnswerTimeoutError
from chat.models import Message
from chat.turns.lifecycle import answer_now
from chat.types import AnswerRequest
from evaluation.services.bearing import Wanted
from evaluation.services.diagnosis import DiagnosedAnswer
from evaluation.services.golden import benchmark_load
from knowledge import model_registry
from knowledge.models import KnowledgeSet
from knowledge.services import indexes_refresh
from ragcore.metrics.quality import contains_gold
from ragcore.text.matching import overlap
from ragcore.training.answer_sets import folder_name, rows

REFUSED = ("refused", "search_results")
TRIES = 3  # of a question on a busy machine, where a search may run out of time
LONG = 60  # characters of an accepted answer that nobody repeats letter by letter
SAID = 0.75  # of its keywords, from which on it is taken to be said


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of a set; `relevant` are external ids of the documents that answer it."""

    set: str
    id: str
    text: str
    answers: tuple[str, ...]
    relevant: tuple[str, ...]

    @property
    def expects_refusal(self) -> bool:
        """The set says that nothing answers it."""
        return not self.relevant

    @property
    def wanted(self) -> Wanted:
        """What is known of the right answer, as a golden case knows it."""
        if self.expects_refusal:
            return Wanted(expects_refusal=True)
        return Wanted(passage=self.relevant[0], also=self.relevant[1:], answers=self.answers)


@dataclass(kw_only=True)
class World:
    """Public sets in a product of their own, each in a knowledge set; an administrator and an employee."""

    admin: User
    asker: User
    sets: Mapping[str, int]  # name of a public set -> id of its knowledge set
    folders: Mapping[str, Path]

    @classmethod
    def loaded(cls, folders: Sequence[Path]) -> World:
        """Documents that are there already are left as they are."""
        call_command("bootstrap", "--demo", "0", verbosity=0)
        admin = User.objects.get(username="admin")
        asker, _made = User.objects.get_or_create(username="asker", defaults={"tenant": admin.tenant, "clearance": 0})
        sets: dict[str, int] = {}
        for folder in folders:
            name = folder_name(folder)
            golden, accepted = benchmark_load(scope=scope_for(admin), actor=admin, folder=folder, name=name)
            golden.sets.update(visibility="everyone")
            done = work_off(accepted.job_id)
            sets[name] = KnowledgeSet.objects.get(golden_sets=golden).pk
            note(f"{name}: {done} documents")
        indexes_refresh()
        return cls(admin=admin, asker=asker, sets=sets, folders={folder_name(folder): folder for folder in folders})

    @cached_property
    def questions(self) -> dict[tuple[str, str], Question]:
        """(set, id) -> question; those that go on with a conversation are left out."""
        found = (one for name, folder in self.folders.items() for one in _questions(name, folder))
        return {(one.set, one.id): one for one in found}

    def sample(self, name: str, *, expects_refusal: bool, seed: int) -> list[Question]:
        """Questions of a set in a random order that the seed fixes."""
        mine = [q for q in self.questions.values() if q.set == name and q.expects_refusal == expects_refusal]
        random.Random(seed).shuffle(mine)
        return mine

    def asked(self, question: Question) -> Message:
        """The answer of the product, asked in the knowledge set alone. Raises AnswerTimeoutError after TRIES."""
        request = AnswerRequest(query=question.text, sets=(self.sets[question.set],), cache=False, personal=False)
        for last in (*[False] * (TRIES - 1), True):
            try:
                stored = async_to_sync(answer_now)(scope=scope_for(self.asker), user=self.asker, request=request)
                return Message.objects.get(pk=stored.message.pk)
            except AnswerTimeoutError:
                if last:
                    raise
        raise AssertionError("the last try returns or raises")

    def diagnosed(self, message: Message, wanted: Wanted) -> DiagnosedAnswer:
        """As a reviewer would have it diagnosed."""
        return diagnose_as_reviewer(self.admin, message, wanted)


def is_wrong(question: Question, *, answer: str, status: str) -> bool:
    """What an automatic comparison says of an answer (see `bench.failures.labels`)."""
    if question.expects_refusal:
        return status not in REFUSED
    if status in REFUSED:
        return True
    if contains_gold(answer, question.answers):
        return False
    tokenizer = model_registry.tokenizer()
    return all(len(gold) <= LONG or overlap(gold, answer, tokenizer) < SAID for gold in question.answers)


def _questions(name: str, folder: Path) -> Iterator[Question]:
    relevant: dict[str, list[str]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, document = line.split("\t")[:2]
        relevant.setdefault(query, []).append(f"{name}/{document}")
    for row in rows(folder / "queries.jsonl"):
        if (found := relevant.get(str(row["id"]))) and row.get("answers") and not row.get("history"):
            answers = tuple(map(str, row["answers"]))
            yield Question(set=name, id=str(row["id"]), text=row["text"], answers=answers, relevant=tuple(found))
    path = folder / "unanswerable.jsonl"
    for row in rows(path) if path.is_file() else []:
        if "text" in row:
            yield Question(set=name, id=str(row["id"]), text=row["text"], answers=(), relevant=())
