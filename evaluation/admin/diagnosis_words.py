"""Causes of failed answers, their evidence and their remedies in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.scope import Scope
from evaluation.models import Diagnosis
from evaluation.services.bearing_judge import quotation_standing

SUBCAUSES: Mapping[str, Any] = {
    "missing document": _("The documents do not contain the answer."),
    "not visible": _("The user may not read the document that contains the answer."),
    "missed retrieval": _("The search did not find the passage."),
    "low relevance": _("The passage hardly matches the wording of the question."),
    "overchunking": _("The answer is split over two passages."),
    "underchunking": _("The passage is too long; the answer does not stand out in it."),
    "low recall": _("The passage was found but ranked too low."),
    "low precision": _("The passage was dropped as a repetition of another one."),
    "abstention failure": _("Wrong decision on whether the sources answer the question."),
    "fabricated content": _("The answer contains something that no source states."),
    "parametric overreliance": _("The answer cites no source."),
    "incomplete answer": _("Part of the answer is missing."),
    "misinterpretation": _("The answer misreads its source."),
    "contextual misalignment": _("The answer uses another source than the right one."),
    "chronological inconsistency": _("The answer gives the wrong date."),
    "numerical error": _("The answer gives the wrong number."),
    "ambiguous question": _("The question does not say what it is about."),
    "answer present": _("The answer matches the known right answer."),
}
# the likely cause in a few words, for headings
SHORT_CAUSES: Mapping[str, Any] = {
    "missing document": _("no document answers it"),
    "not visible": _("the user may not read the document"),
    "missed retrieval": _("the passage was not found"),
    "low relevance": _("worded differently from the document"),
    "overchunking": _("the answer is split over two passages"),
    "underchunking": _("the passage is too long"),
    "low recall": _("the passage ranked too low"),
    "low precision": _("the passage was dropped as a repetition"),
    "fabricated content": _("not stated in any source"),
    "parametric overreliance": _("the answer cites no source"),
    "incomplete answer": _("part of the answer is missing"),
    "misinterpretation": _("the source was misread"),
    "contextual misalignment": _("the wrong source was used"),
    "chronological inconsistency": _("a wrong date"),
    "numerical error": _("a wrong number"),
    "ambiguous question": _("the question is ambiguous"),
}
WRONGLY_REFUSED, WRONGLY_ANSWERED = _("refused by mistake"), _("answered instead of refused")
DETAILS: Mapping[str, Any] = {
    "stale version": _("It was in an older version of the document."),
    "not live": _("The document is not searchable at present."),
    "filter": _("The document is outside the knowledge sets or filters of the question."),
    "disabled passage": _("An owner has excluded the passage from search."),
    "not indexed": _("The passage has no entry in the index."),
    "tokenisation": _("Words of the question occur in the passage but were indexed differently."),
    "missing synonym": _("The question uses other words than the passage."),
    "score gap": _("It fell below a gap in the scores."),
    "limit": _("Its rank was beyond the number of passages returned."),
    "reranker": _("The reranker lowered its rank."),
    "duplicate": _("Another passage says the same."),
    "answered": _("It was answered although no document answers it."),
    "model": _("The language model wrote it."),
    "sentence choice": _("The sentences were chosen without a language model."),
}
REMEDIES: Mapping[str, Any] = {
    "add_synonym": _("Add a question in these words to the passage, or the word to the lexicon."),
    "add_question": _("Add this question to the passage, so that the search finds it."),
    "enable": _("Include the passage in search again."),
    "recut": _("Change the passage size of the knowledge set, or edit the passage, and process the document again."),
    "option": _("Try other settings in the retrieval lab before you change the knowledge set."),
    "golden_case": _(
        "Publish the right answer as approved, and save it as a golden case: every change is checked against it."
    ),
    "ask_owner": _("Ask the owner of the knowledge set for a document."),
    "give_access": _("Decide whether the user should have access."),
    "ask_again": _("Ask again without the filter, or more precisely."),
}
STEPS: tuple[tuple[Any, frozenset[str]], ...] = (
    (_("In the documents"), frozenset({"nowhere", "not_live", "old_version"})),
    (_("Visible to the user"), frozenset({"hidden"})),
    (_("Within the sets and filters"), frozenset({"not_asked"})),
    (_("Searchable"), frozenset({"disabled", "not_indexed"})),
    (_("Found by the search"), frozenset({"not_found", "not_fine"})),
    (_("Ranked high enough"), frozenset({"dropped", "result"})),
    (_("Used in the answer"), frozenset({"source"})),
)


RECOVERS: Mapping[str, Any] = {  # see evaluation.services.counterfactual
    "as_it_is": _("today, without any change"),
    "cutoff": _("when no passage of the ranking is cut off"),
    "search": _("when only its document is searched"),
    "context": _("when the passage is among the sources"),
    "nowhere": _("not even with the passage among the sources"),
}


FOUND_BY: Mapping[str, Any] = {  # see evaluation.services.bearing.Way
    "marked": _("named with its place"),
    "document": _("best match in the named document"),
    "answer": _("contains an accepted answer or a key point"),
    "judge": _("found by the judge"),
    "words": _("contains nearly all words of the question"),
}
JUDGE_OUTCOMES: Mapping[str, Any] = {  # see ragcore.grading.bearing.Outcome; of "found" and "none" more is said
    "unavailable": _("It did not answer in time; the words of the question decided."),
    "invalid": _("Its reply could not be used; the words of the question decided."),
    "unfit": _("It was not asked: its exam says that it cannot judge. The words of the question decided."),
    "quotation": _("Its quotations are not in the passages; the words of the question decided."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step on the way of the passage: passed, the one that failed, or not reached."""

    label: str
    state: str  # passed, failed, open


@dataclass(frozen=True, slots=True, kw_only=True)
class DiagnosisView:
    """A stored diagnosis as the page shows it."""

    cause: str
    heading: str  # the likely cause in a few words, with its confidence
    sentences: tuple[str, ...]  # sub-cause and detail
    confidence: int  # percent
    facts: tuple[tuple[str, str], ...]  # label and value
    remedy: str
    steps: tuple[Step, ...]
    stored: Diagnosis


def diagnosis_view(stored: Diagnosis, *, scope: Scope, shows_answer: bool) -> DiagnosisView:
    """`shows_answer`: whether the viewer may read the answer, whose sentences are evidence."""
    quotation = quotation_standing(scope=scope, diagnosis=stored)
    told = [SUBCAUSES.get(stored.subcause, stored.subcause), DETAILS.get(stored.detail, "")]
    return DiagnosisView(
        cause=str(stored.get_cause_display()),
        heading=_heading(stored),
        sentences=tuple(str(text) for text in told if text),
        confidence=round(100 * stored.confidence),
        facts=(*_facts(stored, shows_answer=shows_answer), *_judge_facts(stored, quotation=quotation)),
        remedy=str(REMEDIES.get(stored.remedy, "")),
        steps=tuple(_steps(stored)),
        stored=stored,
    )


def short_cause(*, cause: str, subcause: str, detail: str) -> str:
    """The likely cause in a few words, the same in the list of cases and on the page of one."""
    label = Diagnosis.Cause(cause).label
    if cause == Diagnosis.Cause.NONE:
        return str(label)
    if subcause == "abstention failure":
        return str(WRONGLY_ANSWERED if detail == "answered" else WRONGLY_REFUSED)
    return str(SHORT_CAUSES.get(subcause, label))


def _heading(stored: Diagnosis) -> str:
    short = short_cause(cause=stored.cause, subcause=stored.subcause, detail=stored.detail)
    if stored.cause == Diagnosis.Cause.NONE:
        return short
    percent = round(100 * stored.confidence)
    return _now("Likely cause: %(cause)s (%(percent)d %%)") % {"cause": short, "percent": percent}


def _steps(stored: Diagnosis) -> Iterator[Step]:
    at = stored.evidence.get("whereabouts", "nowhere")
    is_past = False
    for label, places in STEPS:
        if is_past:
            yield Step(label=str(label), state="open")
            continue
        is_here = at in places
        is_past = is_here
        yield Step(label=str(label), state="failed" if is_here and stored.cause != "none" else "passed")


def _facts(stored: Diagnosis, *, shows_answer: bool) -> Iterator[tuple[str, str]]:
    evidence = stored.evidence
    if stored.document is not None:
        place = "" if stored.ordinal is None else _now(", passage %(n)d") % {"n": stored.ordinal + 1}
        yield _now("Passage with the answer"), f"{stored.document.title}{place}"
        if way := FOUND_BY.get(evidence.get("found_by", "")):
            yield _now("How it was found"), str(way)
    if place := evidence.get("lost_at"):
        yield _now("Rank when it was dropped"), str(place)
    if shows_answer and (words := evidence.get("words")):  # of the question as it was understood
        yield _now("Words of the question"), ", ".join(words)
    if shows_answer and (figures := evidence.get("figures")):
        yield _now("Numbers that the source does not have"), ", ".join(figures)
    if points := evidence.get("points"):
        yield _now("Missing"), "; ".join(points)
    if recovers := RECOVERS.get(evidence.get("recovers", "")):
        yield _now("The answer recovers"), str(recovers)
    if shows_answer and (sentences := evidence.get("sentences")):
        yield str(pgettext_lazy("sentences of an answer", "Not supported")), " ".join(sentences)


def _judge_facts(stored: Diagnosis, *, quotation: str) -> Iterator[tuple[str, str]]:
    """What the language model for judging said, where it was asked."""
    judge = stored.evidence.get("judge") or {}
    if quotation:
        yield _now("Quotation of the judge"), quotation
    if judge.get("outcome") == "none" and judge.get("passages"):
        read = _now("It found the answer in none of %(n)d passages.") % {"n": judge["passages"]}
        yield _now("Judge"), read
    elif words := JUDGE_OUTCOMES.get(judge.get("outcome", "")):
        yield _now("Judge"), str(words)
    if tokens := judge.get("tokens"):
        yield _now("Cost of judging"), _used(judge["model"], tokens, judge.get("cost"))


def _used(model: str, tokens: int, cost: str | None) -> str:
    told = _now("%(model)s, %(tokens)d tokens") % {"model": model, "tokens": tokens}
    return f"{told}, {cost}" if cost else told
