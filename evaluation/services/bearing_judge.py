"""Asking the language model for judging which passage states the answer to a failed question.

It is shown passages that a search of everything finds which the asker and whoever diagnoses may both ask, and no other.
A verdict holds for a question, the rights and the corpus as they are, and the model; it is kept under all of them. A
reply that cannot be used is not kept: the evidence of words decides then, and the diagnosis says why.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from asgiref.sync import async_to_sync
from django.core.cache import cache

from accounts.scope import Scope
from chat.answering.example_check import circumstances_digest, search_circumstances
from evaluation.models import Diagnosis
from evaluation.services.judge_client import diagnosis_judge, is_resting, of_diagnoses, rest_if_silent
from knowledge import model_registry
from knowledge.model_setup import setup_refresh
from knowledge.models import Chunk
from knowledge.selectors.passages import chunks_readable
from knowledge.services import retrieve
from knowledge.types import RetrievalRequest
from ragcore.grading.bearing import PROMPT, BearingVerdict, JudgedText, Stated, judge_bearing
from ragcore.llm.client import LlmClient
from ragcore.prompts import load
from ragcore.text.normalise import squeeze

SEARCHED = 40  # passages of a search that are looked through for the answer, and shown to the judge
REQUEST_SECONDS = 20.0
JUDGE_SECONDS = 45.0  # of all requests about one question
KEPT_SECONDS = 24 * 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundPassages:
    """Passages of a search of everything that may be asked, best first. `weights`: of the terms of the question."""

    chunks: Sequence[Chunk]
    weights: Mapping[str, float]


def passages_find(*, scope: Scope, query: str) -> FoundPassages:
    """At most SEARCHED hits with what was merged into them."""
    request = RetrievalRequest(query=query, top_k=SEARCHED, options={"cliff": False})
    state = retrieve(scope=scope, request=request).state
    ids = [chunk for c in state.candidates for chunk in ((c.passage and c.passage.merged) or (c.chunk,))]
    chunks = Chunk.objects.select_related("version__document").defer("version__markdown", "version__sketch")
    rows = chunks.in_bulk(ids)
    return FoundPassages(chunks=[rows[pk] for pk in dict.fromkeys(ids) if pk in rows], weights=state.query.weights)


@dataclass(slots=True, kw_only=True)
class BearingJudge:
    """The judge of one diagnosis. `scope`: limited by the asker, where somebody else diagnoses.

    `told` says afterwards what came of it, for people: outcome, model, passages, tokens, and the cost where the price
    of the model is known; empty where no language model for judging is configured, or nobody was asked. `ruled_out`:
    the passages of which it said then that none states the answer.
    """

    scope: Scope
    told: dict[str, Any] = field(default_factory=dict)
    ruled_out: frozenset[int] = frozenset()

    def ask(self, question: str, *, first: Collection[int] = ()) -> BearingVerdict | None:
        """Which passages state the answer; None where there is no judge. `first`: chunks to be shown before others.

        Raises what a search raises.
        """
        verdict = self._kept_or_asked(question, first)
        if verdict is not None and verdict.outcome == "none":
            self.ruled_out = verdict.read
        return verdict

    def _kept_or_asked(self, question: str, first: Collection[int]) -> BearingVerdict | None:
        setup_refresh()
        model = model_registry.judge_model()
        if model is None:
            return None
        key = self._key(question, model.name)
        if (kept := cache.get(key)) is not None:
            verdict = _unpacked(kept)
            self.told = {"outcome": verdict.outcome, "model": model.name, "passages": len(verdict.read), "kept": True}
            return verdict
        if is_resting(of_diagnoses):
            self.told = {"outcome": "unavailable", "model": model.name}
            return BearingVerdict(outcome="unavailable")
        asked = self._asked(question, first)
        if asked is not None and asked.is_usable:
            cache.set(key, _packed(asked), KEPT_SECONDS)
        return asked

    def _asked(self, question: str, first: Collection[int]) -> BearingVerdict | None:
        llm = diagnosis_judge(seconds=REQUEST_SECONDS)
        if llm is None:
            return None
        chunks = passages_find(scope=self.scope, query=question).chunks
        ordered = sorted(chunks, key=lambda chunk: chunk.pk not in first)
        until = monotonic() + JUDGE_SECONDS
        llm.seconds_left = lambda: until - monotonic()
        shown = [JudgedText(chunk.pk, _heading(chunk), chunk.text) for chunk in ordered]
        verdict = async_to_sync(judge_bearing)(question, shown, llm)
        rest_if_silent(llm, of_diagnoses)
        self.told = {"outcome": verdict.outcome, "passages": len(verdict.read), **_used(llm)}
        return verdict

    def _key(self, question: str, model: str) -> str:
        rights = "|".join(search_circumstances(scope=person) for person in self.scope.persons)
        return f"bearing:{circumstances_digest(rights, f'{model}:{load(PROMPT).sha256}:{question}')}"


def _heading(chunk: Chunk) -> str:
    return " > ".join([chunk.version.document.title, *chunk.heading_path])


def _used(llm: LlmClient) -> dict[str, Any]:
    """Model, tokens and, where its price is known, cost of what was asked."""
    price = model_registry.model_price(llm.model.name)
    used = {"model": llm.model.name, "requests": llm.counts["asked"], "tokens": llm.usage.total_tokens}
    return used if price is None else {**used, "cost": str(price.of(llm.usage))}


def _packed(verdict: BearingVerdict) -> dict[str, Any]:
    stated = [(one.id, one.quotation) for one in verdict.stated]
    return {"outcome": verdict.outcome, "stated": stated, "read": sorted(verdict.read)}


def _unpacked(kept: Mapping[str, Any]) -> BearingVerdict:
    stated = tuple(Stated(chunk, quotation) for chunk, quotation in kept["stated"])
    return BearingVerdict(outcome=kept["outcome"], stated=stated, read=frozenset(kept["read"]))


def quotation_standing(*, scope: Scope, diagnosis: Diagnosis) -> str:
    """The words by which the judge found the passage, where they still stand there and may be read; else ""."""
    quotation = diagnosis.evidence.get("quotation", "")
    if not quotation or diagnosis.document_id is None or diagnosis.ordinal is None:
        return ""
    rows = chunks_readable(scope=scope).filter(version__live_for=diagnosis.document_id, ordinal=diagnosis.ordinal)
    texts = rows.filter(retired=None).values_list("text", flat=True)
    return quotation if any(squeeze(quotation) in squeeze(text) for text in texts) else ""
