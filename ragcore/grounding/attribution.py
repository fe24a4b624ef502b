"""Which sources say a sentence that came without marks, and what of it they do not say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ragcore.grounding.facts import negations
from ragcore.grounding.source_texts import MARKER, SourceSimilarity, SourceText, missing_facts
from ragcore.grounding.support import SUPPORTED_FROM, is_quoted
from ragcore.grounding.support_model import FEATURES, SupportFeatures, SupportModel
from ragcore.ports import Embedder, Tokenizer
from ragcore.types import Source

CANDIDATES = 4  # sources that are compared, those that share most words
CLOSE = 0.9  # of the best probability: a second source that says the same
MOST_MARKS = 2
_DENIED = FEATURES.index("denied")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """What was found out about one sentence."""

    numbers: tuple[int, ...] = ()  # of the sources that say it, the surest first; () where none does
    probability: float = 0.0  # that the first of them supports it
    missing: tuple[str, ...] = ()  # figures and identifiers that the best source lacks, as written
    is_denial: bool = False  # it denies something that the best source does not deny

    @property
    def is_safe(self) -> bool:
        """Whether the sentence can be shown as what the sources say."""
        return bool(self.numbers) and not self.missing and not self.is_denial


@dataclass(slots=True)
class Attributor:
    """Attributes the sentences of one answer; its sources are tokenised once."""

    sources: Sequence[Source]
    tokenizer: Tokenizer
    embedder: Embedder | None = None
    threshold: float = SUPPORTED_FROM
    _similarity: SourceSimilarity = field(init=False)
    _evidence: SupportFeatures = field(init=False)
    _model: SupportModel = field(init=False)

    def __post_init__(self) -> None:
        self._similarity = SourceSimilarity(self.sources, self.tokenizer, self.embedder)
        self._evidence = SupportFeatures(self._similarity.texts, self.embedder)
        self._model = SupportModel.shipped(self.embedder.model if self.embedder is not None else "")

    def attribute(self, sentence: str) -> Attribution:
        """The sources of a sentence, with or without marks of its own, which do not count."""
        claim = MARKER.sub("", sentence).strip()
        if not claim or not self.sources:
            return Attribution()
        ranked = sorted(((self._support(claim, text), text) for text in self._candidates(claim)), key=_by_support)
        best, source = ranked[0]
        if best < self.threshold:
            return Attribution(probability=best)
        same = [text.source.number for support, text in ranked if support >= max(self.threshold, CLOSE * best)]
        return Attribution(
            numbers=tuple(same[:MOST_MARKS]),
            probability=best,
            missing=missing_facts(claim, source),
            is_denial=self._is_denial(claim, source),
        )

    def _candidates(self, claim: str) -> list[SourceText]:
        shared = self._similarity.of(claim)
        texts = sorted(self._similarity.texts.all, key=lambda text: -shared[text.source.number])
        return texts[:CANDIDATES]

    def _support(self, claim: str, text: SourceText) -> float:
        """Probability that a source supports the claim; a source without its figures does not."""
        if is_quoted(claim, [text]):
            return 1.0
        support = self._model.probability(self._evidence, claim, (text.source.number,))
        return support if not missing_facts(claim, text) else min(support, self.threshold)

    def _is_denial(self, claim: str, text: SourceText) -> bool:
        if not negations(claim) or is_quoted(claim, [text]):
            return False
        return bool(self._evidence.features(claim, (text.source.number,))[_DENIED])


def _by_support(entry: tuple[float, SourceText]) -> tuple[float, int]:
    support, text = entry
    return -support, text.source.number
