"""Where the words of a question may stand: from the best sentence to everything that was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragcore.answerability.question_parts import QuestionParts
from ragcore.extractive.sentences import Statement
from ragcore.ports import Tokenizer
from ragcore.text.lexical_features import pairs_within

NEXT = 2  # words apart in a sentence that still count as neighbours


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchScopes:
    """Terms of the question in growing surroundings of the best sentence."""

    sentence: frozenset[str]
    window: frozenset[str]
    passage: frozenset[str]
    everything: frozenset[str]
    window_text: str  # in lower case
    near: tuple[Statement, ...]  # the sentences of the window
    around: tuple[Statement, ...]  # of the passage


def find_match_scopes(
    asked: QuestionParts, found: Sequence[Statement], order: Sequence[int], tokenizer: Tokenizer
) -> MatchScopes:
    """Of a question whose best sentences come first in `order`.

    For a broad question all sources are one place, and the best sentences of all sources count together.
    """
    best = _best(asked, found, order)
    first = best[0]
    around = tuple(s for s in found if asked.is_broad or s.source is first.source)
    near = tuple(s for s in around if asked.is_broad or abs(s.position - first.position) <= 1)
    headings = [text for b in best for text in (b.source.passage.title, *b.source.passage.heading_path, b.heading)]
    head = _terms_in(asked, " ".join(headings), tokenizer.terms(" ".join(headings)))
    passage = _held(asked, around) | head
    return MatchScopes(
        sentence=_held(asked, best),
        window=_held(asked, near),
        passage=passage,
        everything=_held(asked, found) | passage,
        window_text=" ".join(s.text for s in near).lower(),
        near=near,
        around=around,
    )


def window_shares(asked: QuestionParts, found: Sequence[Statement]) -> list[float]:
    """For every sentence the weighted share of the terms in it and its neighbours."""
    held = [_held(asked, [s]) for s in found]
    shares = []
    for at, statement in enumerate(found):
        union = set(held[at])
        for beside in (at - 1, at + 1):
            if 0 <= beside < len(found) and found[beside].source is statement.source:
                union |= held[beside]
        shares.append(asked.share(asked.terms, frozenset(union)))
    return shares


def source_shares(asked: QuestionParts, found: Sequence[Statement]) -> Mapping[int, float]:
    """Number of a source -> the best sentence's weighted share of the terms."""
    best: dict[int, float] = {}
    for statement in found:
        share = asked.share(asked.terms, _held(asked, [statement]))
        best[statement.source.number] = max(best.get(statement.source.number, 0.0), share)
    return best


def pairs_kept(asked: QuestionParts, found: Iterable[Statement]) -> frozenset[tuple[str, str]]:
    """The pairs of the question that stand beside each other in a sentence."""
    kept: set[tuple[str, str]] = set()
    for statement in found:
        kept |= pairs_within(asked.pairs, statement.terms, words=NEXT)
        lower = "" if statement.text.isascii() else statement.text.lower()
        kept.update((a, b) for a, b in asked.pairs if lower and not a.isascii() and a + b in lower)
    return frozenset(kept)


def _best(asked: QuestionParts, found: Sequence[Statement], order: Sequence[int]) -> list[Statement]:
    """The best sentence; of a broad question, of each source."""
    if not asked.is_broad:
        return [found[order[0]]]
    best: dict[int, Statement] = {}
    for at in order:
        best.setdefault(found[at].source.number, found[at])
    return list(best.values())


def _held(asked: QuestionParts, found: Iterable[Statement]) -> frozenset[str]:
    sentences = list(found)
    return _terms_in(asked, " ".join(s.text for s in sentences), (t for s in sentences for t in s.terms))


def _terms_in(asked: QuestionParts, text: str, terms: Iterable[str]) -> frozenset[str]:
    """A Chinese term is also there where the text is cut into other words."""
    known, lower = set(terms), text.lower()
    return frozenset(t for t in asked.terms if t in known or (not t.isascii() and t in lower))
