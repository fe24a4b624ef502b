"""Makes questions of passages, for people to accept as golden cases.

What is of no use, known already or nearly the same as another one is dropped. What came of a passage is stored
with its place: a worker that is killed loses nothing and makes nothing twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from functools import partial

from django.utils.translation import gettext_lazy as _

from accounts.selectors import scope_for
from evaluation.models import GoldenCase, GoldenSet, ProposedCase
from evaluation.queue import PROPOSE_CASES
from evaluation.services.golden_files import LIMITS
from knowledge import model_registry
from knowledge.models import Chunk
from knowledge.selectors import documents_askable
from knowledge.services.model_slots import background_json_model
from ragcore.llm.client import LlmClient
from ragcore.representations.case_proposals import (
    ProposedQuestion,
    propose_by_model,
    propose_by_rules,
    short_intent,
    with_typo,
)
from ragcore.text.near_duplicates import similarity, sketch
from ragcore.text.question_pairs import SAME_QUESTION
from work.kinds import Checkpoint, JobKind, job_kind
from work.models import Job

logger = logging.getLogger(__name__)

MODEL_SECONDS = 30.0  # of a request to its first token
REST_SECONDS = 60.0  # for which a model that did not answer is left alone
Questions = Sequence[ProposedQuestion]


@job_kind
class ProposeCases(JobKind):
    """One search. `done` counts proposals, the checkpoint has the position of the next passage."""

    name = PROPOSE_CASES
    label = _("Generation of golden cases")
    queue = "diagnosis"
    slice_seconds = 20.0
    hang_seconds = 600.0  # a model may be slow
    needs_author = True  # it looks at what its author may ask

    def run(self, job: Job) -> Iterator[Checkpoint]:
        golden_set = GoldenSet.objects.filter(pk=job.arguments["golden_set_id"]).first()
        if golden_set is None:
            return
        writer, chunks = _Writer(job, golden_set), job.arguments["chunks"]
        while job.done < job.total and (position := job.checkpoint.get("position", 0)) < len(chunks):
            chunk = writer.passage(chunks[position])
            questions = writer.questions(chunk) if chunk is not None else []
            if questions is None:  # the model did not answer: the passage is for another try
                yield Checkpoint(rest_seconds=REST_SECONDS)
                return
            fresh = [one for one in questions if writer.is_new(one.question)][: job.total - job.done]
            counts = {
                "dropped": len(questions) - len(fresh),
                "failed": int(writer.llm is not None and chunk is not None and not questions),
            }
            yield Checkpoint(
                data={"position": position + 1},
                done=job.done + len(fresh),
                figures={name: job.figures.get(name, 0) + count for name, count in counts.items() if count},
                write=partial(writer.store, chunk, fresh) if chunk is not None else None,
            )

    def subject_words(self, job: Job) -> str:
        """The name of the golden set."""
        golden_set = GoldenSet.objects.filter(pk=job.arguments["golden_set_id"]).first()
        return golden_set.name if golden_set is not None else ""


class _Writer:
    """One slice's part of a search."""

    def __init__(self, job: Job, golden_set: GoldenSet) -> None:
        assert job.author is not None
        self.job, self.golden_set = job, golden_set
        self.scope = scope_for(job.author)
        self.with_model = job.arguments["with_model"]
        model = background_json_model() if self.with_model else None
        self.llm = None if model is None else LlmClient(model, seconds=MODEL_SECONDS, is_patient=True)
        known = [*golden_set.cases.values_list("question", flat=True)]
        known += golden_set.proposals.values_list("question", flat=True)
        self.sketches = [sketch(question) for question in known]

    def passage(self, pk: int) -> Chunk | None:
        """None where it is not in force any more, or out of reach of who asked for the search."""
        askable = documents_askable(scope=self.scope).order_by().values("live_version_id")
        rows = Chunk.objects.filter(pk=pk, retired=None, version_id__in=askable)
        return rows.select_related("version__document").defer("version__markdown", "version__sketch").first()

    def questions(self, chunk: Chunk) -> Questions | None:
        """What is made of a passage; None where the model did not answer."""
        if self.with_model and self.llm is None:
            return None
        before = self._unheard()
        questions = self._made(chunk)
        return questions if self._unheard() == before else None

    def _unheard(self) -> int:
        """Requests to which the model gave no whole answer."""
        counts = self.llm.counts if self.llm is not None else {}
        return sum(counts.get(name, 0) for name in ("unavailable", "late", "interrupted"))

    def _made(self, chunk: Chunk) -> Questions:
        tokenizer, path = model_registry.tokenizer(), tuple(chunk.heading_path)
        try:
            if self.llm is not None:
                return asyncio.run(propose_by_model(chunk.text, path, tokenizer, self.llm))
            return propose_by_rules(chunk.text, path, tokenizer)
        except Exception:  # of one passage
            logger.exception("no golden case could be made of passage %s", chunk.pk)
            return []

    def is_new(self, question: str) -> bool:
        if len(question) > LIMITS["question"]:
            return False
        mine = sketch(question)
        if any(similarity(mine, other) >= SAME_QUESTION for other in self.sketches):
            return False
        self.sketches.append(mine)
        return True

    def store(self, chunk: Chunk, questions: Questions) -> None:
        rows = [self._row(chunk, question) for question in questions]
        ProposedCase.objects.bulk_create(rows, ignore_conflicts=True)

    def _row(self, chunk: Chunk, question: ProposedQuestion) -> ProposedCase:
        tokenizer = model_registry.tokenizer()
        phrased = {
            str(GoldenCase.Style.SUMMARISED): short_intent(question.question, tokenizer),
            str(GoldenCase.Style.WITH_ERRORS): with_typo(question.question),
        }
        return ProposedCase(
            golden_set=self.golden_set,
            document=chunk.version.document,
            ordinal=chunk.ordinal,
            question=question.question,
            answers=list(question.answers),
            key_points=list(question.key_points),
            quotation=question.quotation,
            origin=question.origin,
            styles={style: phrased[style] for style in self.job.arguments["styles"] if phrased[style]},
        )
