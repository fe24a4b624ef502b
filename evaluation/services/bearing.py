"""The passage that bears the answer to a question: marked by a reviewer, found by what is known of the answer, by
the language model for judging where nothing is known of it, or else by the words of the question.

Everything is looked for with the rights of the person who asks for the diagnosis.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

from django.db.models import Q

from accounts.errors import NotFoundError
from accounts.scope import Scope
from evaluation.services.bearing_judge import BearingJudge, passages_find
from evaluation.services.lab.searches import Expected, expected_find
from knowledge import model_registry
from knowledge.models import Chunk, ChunkEdit
from knowledge.selectors import documents_askable
from ragcore.grading.bearing import BearingVerdict
from ragcore.metrics.quality import contains_gold
from ragcore.text.markdown import join_passages
from ragcore.text.matching import contains_terms, keywords, needles, searchable, share_in
from ragcore.text.sentences import split_sentences

MAX_PASSAGES = 2000  # of one document; of a longer one the first ones
WINDOW = 3  # sentences
PLAIN_COVERAGE = 0.8  # of the question's terms in three sentences: the passage is taken for the one that is meant

# How likely each way names a passage that bears the answer, set by hand. That of the judge is meant to be low: a
# quotation shows that the words stand there, not that they answer the question.
MARKED, HOLDS_ANSWER, NAMED, ANSWER_ANYWHERE, JUDGED, NEAR = 1.0, 0.97, 0.85, 0.9, 0.75, 0.6

Way = Literal[
    "marked",  # a passage was named
    "document",  # a document was named, and this is its passage that fits best
    "answer",  # it holds an accepted answer or a key point
    "judge",  # the language model for judging says that it states the answer
    "words",  # it has nearly all words of the question close together
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is known of the right answer; all of it may be empty.

    `passage` names a document or one of its passages, as the lab does: `#12`, `#12:5`, an external id, a title. `also`
    names others that bear the answer or a part of it.
    """

    passage: str = ""
    also: tuple[str, ...] = ()
    expects_refusal: bool = False  # no document answers the question, and a right answer says so
    answers: tuple[str, ...] = ()  # accepted answers, one of which a right answer has
    points: tuple[str, ...] = ()  # key points, all of which a right answer has

    @property
    def texts(self) -> tuple[str, ...]:
        """What a passage that bears the answer has one of."""
        return (*self.answers, *self.points)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bearing:
    """Where the answer stands. `certainty`: 0 to 1; `others`: documents that were named, or judged, beside its own."""

    expected: Expected
    text: str
    certainty: float
    way: Way = "document"
    quotation: str = ""  # by which the judge found it
    is_split: bool = False  # partly in the passage beside it
    is_old: bool = False  # only in a version that a newer one has replaced
    is_disabled: bool = False
    others: frozenset[int] = frozenset()

    @property
    def name(self) -> str:
        """As the lab takes it."""
        ordinal = self.expected.ordinal
        return f"#{self.expected.document.pk}" + ("" if ordinal is None else f":{ordinal + 1}")


def bearing_find(
    *,
    scope: Scope,
    question: str,
    wanted: Wanted,
    answer: str = "",
    cited: Collection[int] = (),
    judge: BearingJudge | None = None,
    ruled_out: Collection[int] = (),
) -> Bearing | None:
    """The passage that bears the answer; None: none was found. Raises NotFoundError where all names lead nowhere.

    Of several named ones it is the one with the most words of the right answer that `answer` does not have; of several
    passages of one document that hold the answer, one of the `cited` chunks. `judge`: asked where nothing is known of
    the right answer; what it says holds for the passages that it has read. `ruled_out`: chunks that a judge has read
    before in vain, which are not found by words.
    """
    if wanted.expects_refusal:
        return None
    if wanted.passage.strip():
        return _most_missing(_all_named(scope, question, wanted, cited), wanted=wanted, answer=answer)
    if wanted.texts:
        return _holding(scope, question, wanted)
    verdict = judge.ask(question, first=cited) if judge is not None else None
    if judge is None or verdict is None:
        return _near(scope, question, but=ruled_out)
    if not verdict.is_usable:  # what it has read before its silence holds
        return _near(scope, question, but={*ruled_out, *verdict.read})
    return _judged(judge, verdict, cited) or _near(scope, question, but=verdict.read)


def _holding(scope: Scope, question: str, wanted: Wanted) -> Bearing | None:
    """Of the passages that hold one of the texts the one with the most words of the question."""
    words = dict.fromkeys(_words(question), 1.0)
    for query in (question, *wanted.texts[:3]):
        chunks = passages_find(scope=scope, query=query).chunks
        holding = [chunk for chunk in chunks if contains_gold(chunk.text, wanted.texts)]
        if best := max(holding, key=lambda chunk: share_in(words, chunk.text), default=None):
            return _of_chunk(best, certainty=ANSWER_ANYWHERE, way="answer")
    return None


def _near(scope: Scope, question: str, *, but: Collection[int]) -> Bearing | None:
    """The first passage with nearly all words of the question close together; `but`: chunks that are left out."""
    evidence = passages_find(scope=scope, query=question)
    other_chunks = (chunk for chunk in evidence.chunks if chunk.pk not in but)
    plain = next((c for c in other_chunks if window_coverage(evidence.weights, c.text) >= PLAIN_COVERAGE), None)
    return _of_chunk(plain, certainty=NEAR, way="words") if plain else None


def _judged(judge: BearingJudge, verdict: BearingVerdict, cited: Collection[int]) -> Bearing | None:
    """The first passage that states the answer, one that the answer cites before others."""
    askable = documents_askable(scope=judge.scope).order_by().values("live_version_id")
    rows = Chunk.objects.select_related("version__document").filter(version__in=askable, retired=None)
    chunks = rows.defer("version__markdown", "version__sketch").in_bulk([one.id for one in verdict.stated])
    stated = sorted((one for one in verdict.stated if one.id in chunks), key=lambda one: one.id not in cited)
    if not stated:
        return None
    best = chunks[stated[0].id]
    documents = frozenset(chunks[one.id].version.document_id for one in stated) - {best.version.document_id}
    bearing = _of_chunk(best, certainty=JUDGED, way="judge")
    return replace(bearing, quotation=stated[0].quotation, others=documents)


def window_coverage(weights: Mapping[str, float], text: str) -> float:
    """Share of the terms, by weight, in the best WINDOW sentences that follow each other, 0 to 1."""
    sentences = split_sentences(text)
    starts = range(max(1, len(sentences) - WINDOW + 1))
    return max((share_in(weights, " ".join(sentences[at : at + WINDOW])) for at in starts), default=0.0)


def _of_chunk(chunk: Chunk, *, certainty: float, way: Way) -> Bearing:
    expected = Expected(chunk.version.document, chunk.ordinal)
    return Bearing(expected=expected, text=chunk.text, certainty=certainty, way=way)


# ── named by somebody ─────────────────────────────────────────────────────────────────────────────


def _all_named(scope: Scope, question: str, wanted: Wanted, cited: Collection[int]) -> list[Bearing]:
    """One for each name that leads somewhere. Raises NotFoundError where none does."""
    bearings: list[Bearing] = []
    for name in (wanted.passage, *wanted.also):
        with suppress(NotFoundError):
            expected = expected_find(scope=scope, name=name)
            bearings.append(_named(expected, question=question, answers=wanted.texts, cited=cited))
    if not bearings:
        raise NotFoundError("any_document")
    return bearings


def _most_missing(found: Sequence[Bearing], *, wanted: Wanted, answer: str) -> Bearing:
    """Passages with the whole answer come first; then what the answer lacks counts, then the order of the names."""
    if len(found) == 1:
        return found[0]
    whole = [one for one in found if contains_gold(one.text, wanted.answers)]
    answer_text = searchable(answer)
    words = dict.fromkeys(word for text in wanted.texts for word in _words(text))
    lacking = {word: 1.0 for word in words if not contains_terms([needles(word)], answer_text)[0]}
    best = max(whole or found, key=lambda one: share_in(lacking, one.text))
    return replace(best, others=frozenset(one.expected.document.pk for one in found if one is not best))


# ── within one document ───────────────────────────────────────────────────────────────────────────


def _named(expected: Expected, *, question: str, answers: Sequence[str], cited: Collection[int]) -> Bearing:
    document = expected.document
    chunks = _chunks(document.live_version_id)
    if expected.ordinal is not None:
        marked = next((chunk for chunk in chunks if chunk.ordinal == expected.ordinal), None)
        if marked is not None:
            return replace(_bearing(expected, marked, chunks, answers, certainty=MARKED), way="marked")
        return Bearing(expected=expected, text="", certainty=MARKED, way="marked")
    holding = [chunk for chunk in chunks if contains_gold(chunk.text, answers)] if answers else []
    weights = dict.fromkeys((word for text in (question, *answers) for word in _words(text)), 1.0)
    if answers and not holding:
        if (pair := _split_pair(chunks, answers)) is not None:
            first = Expected(document, pair.ordinal)
            return Bearing(expected=first, text=pair.text, certainty=HOLDS_ANSWER, is_split=True)
        if _in_old_version(expected, answers):
            return Bearing(expected=expected, text="", certainty=HOLDS_ANSWER, is_old=True)
    used = [chunk for chunk in holding if chunk.pk in cited]
    best = max(used or holding or chunks, key=lambda chunk: share_in(weights, chunk.text), default=None)
    if best is None:
        return Bearing(expected=expected, text="", certainty=NAMED)
    certainty = HOLDS_ANSWER if holding else NAMED
    return _bearing(Expected(document, best.ordinal), best, chunks, answers, certainty=certainty)


def _bearing(
    expected: Expected, chunk: Chunk, chunks: Sequence[Chunk], answers: Sequence[str], *, certainty: float
) -> Bearing:
    is_split = bool(answers) and not contains_gold(chunk.text, answers) and _is_beside(chunk, chunks, answers)
    return Bearing(
        expected=expected,
        text=chunk.text,
        certainty=certainty,
        is_split=is_split,
        is_disabled=chunk.retired is not None,
    )


def _is_beside(chunk: Chunk, chunks: Sequence[Chunk], answers: Sequence[str]) -> bool:
    near = [neighbour for neighbour in chunks if abs(neighbour.ordinal - chunk.ordinal) <= 1]
    return contains_gold(join_passages([neighbour.text for neighbour in near])[0], answers)


def _split_pair(chunks: Sequence[Chunk], answers: Sequence[str]) -> Chunk | None:
    """The first of two passages that hold the answer only together."""
    for first, second in zip(chunks, chunks[1:], strict=False):
        if contains_gold(join_passages([first.text, second.text])[0], answers):
            return first
    return None


def _in_old_version(expected: Expected, answers: Sequence[str]) -> bool:
    document = expected.document
    older = Chunk.objects.filter(version__document=document).exclude(version=document.live_version_id)
    return any(contains_gold(text, answers) for text in older.values_list("text", flat=True)[:MAX_PASSAGES])


def _chunks(version: int | None) -> list[Chunk]:
    """Passages of a version in reading order, one for each place: the one in force, else the one that an owner took out
    of searches. What an edit has replaced is none.
    """
    if version is None:
        return []
    is_visible = Q(retired=None) | Q(edit__kind=ChunkEdit.Kind.DISABLE)
    rows = Chunk.objects.filter(is_visible, version=version, kind="body").order_by("ordinal", "pk")
    places: dict[int, Chunk] = {}
    for chunk in rows[:MAX_PASSAGES]:
        former = places.get(chunk.ordinal)
        if former is None or former.retired is not None:
            places[chunk.ordinal] = chunk
    return list(places.values())


def _words(question: str) -> list[str]:
    return keywords(question, model_registry.tokenizer())
