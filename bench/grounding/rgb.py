"""RGB (Chen et al., AAAI 2024): answers in noise, and refusals where no passage answers; English and Chinese.

The passages are given as sources, so that only the answerer is measured. With `--model`, a scripted server stands in
for a language model: it looks the answer up in the context that it was sent and refuses otherwise. That shows that the
answer, its markers and the refusal arrive as they should; it says nothing about any real model.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragcore.ports import GenerationRequest
from ragcore.text.normalise import squeeze
from ragcore.text.scripts import language_of
from ragcore.training.support_examples import Row, rows
from ragcore.training.support_training import sources_of
from ragcore.types import Source

NOISE = (0.0, 0.2, 0.4, 0.6, 0.8)
PASSAGES = 5
Answerer = Callable[[str, Sequence[Source], Row], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question with its passages."""

    question: str
    answers: tuple[tuple[str, ...], ...]  # each must occur, in one of its forms
    positive: tuple[str, ...]
    negative: tuple[str, ...]


def cases(path: Path) -> list[Case]:
    """The questions of one file; counterfactual files give their true passages."""
    return [
        Case(
            question=row["query"],
            answers=tuple(_forms(row["answer"])),
            positive=tuple(_flat(row["positive"])),
            negative=tuple(_flat(row["negative"])),
        )
        for row in rows(path)
    ]


def mixed(case: Case, noise: float, chance: random.Random) -> list[str]:
    """Five passages of which a share is noise, in random order; fewer where the set has no more of a kind."""
    wrong = round(PASSAGES * noise)
    chosen = [
        *chance.sample(case.positive, min(PASSAGES - wrong, len(case.positive))),
        *chance.sample(case.negative, min(wrong, len(case.negative))),
    ]
    chance.shuffle(chosen)
    return chosen


def contains(answer: str, case: Case) -> bool:
    """Whether every part of the answer occurs, without regard to case, spaces and punctuation."""
    plain = squeeze(answer)
    return all(any(squeeze(form) in plain for form in forms if squeeze(form)) for forms in case.answers)


def measured(path: Path, answerer: Answerer, refuses: Callable[[str], bool], seed: int = 7) -> list[float]:
    """Share of right answers at each noise ratio, then of refusals with noise only."""
    found = cases(path)
    figures = []
    for noise in NOISE:
        chance = random.Random(f"{seed} {noise}")
        right = [contains(_answer(case, mixed(case, noise, chance), answerer), case) for case in found]
        figures.append(sum(right) / len(right))
    chance = random.Random(f"{seed} only noise")
    only = [case for case in found if case.negative]
    said = [_answer(case, chance.sample(case.negative, min(PASSAGES, len(case.negative))), answerer) for case in only]
    figures.append(sum(refuses(text) for text in said) / len(said) if said else float("nan"))
    return figures


def request(question: str, sources: Sequence[Source]) -> GenerationRequest:
    return GenerationRequest(question=question, sources=tuple(sources), language=language_of(question))


def _answer(case: Case, passages: Sequence[str], answerer: Answerer) -> str:
    return answerer(case.question, sources_of(passages), {"answers": case.answers})


def _forms(answer: Any) -> Iterator[tuple[str, ...]]:
    """`"a"`, `["a", "b"]` (both wanted) or `[["a", "A"], "b"]` (either form of the first, and the second)."""
    for part in [answer] if isinstance(answer, str) else answer:
        yield (part,) if isinstance(part, str) else tuple(part)


def _flat(passages: Sequence[Any]) -> Iterator[str]:
    for passage in passages:
        if isinstance(passage, str):
            yield passage
        else:
            yield from _flat(passage)
