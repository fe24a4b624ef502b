"""Sources cut into sentences and tokenised once, and how similar a sentence is to each of them."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ragcore.grounding.facts import figures, figures_offered, names, negations, plain_figure
from ragcore.ports import Embedder, FloatArray, Tokenizer
from ragcore.text.matching import cosine_matrix, keywords
from ragcore.text.normalise import nfkc
from ragcore.text.scripts import cjk_share
from ragcore.text.sentences import split_sentences
from ragcore.types import Source

MAX_SENTENCES = 400  # of one source; a longer one is compared in larger pieces, none is left out

ENOUGH = 0.5  # words that are found decide; vectors are asked only below this
CANDIDATES = 3  # sources whose vectors are compared, the ones with most shared words
_LATIN_NAME = re.compile(r"(?<![a-z0-9])(?=[a-z0-9./-]{0,80}[a-z])(?=[a-z0-9./-]{0,80}\d)[a-z0-9][a-z0-9./-]*[a-z0-9]")
_JOINTS = re.compile(r"[\s-]")
MARKER = re.compile(r"(?:(?<!\s)\s+)?\[\d{1,3}\]")


@dataclass
class SourceText:
    """One source. `names`: its title and headings, which belong to every sentence."""

    source: Source
    tokenizer: Tokenizer

    @cached_property
    def names(self) -> str:
        return " ".join((self.source.passage.title, *self.source.passage.heading_path))

    @cached_property
    def sentences(self) -> list[str]:
        """In order; joined they are the text."""
        pieces = split_sentences(self.source.text)
        size = -(-len(pieces) // MAX_SENTENCES) or 1
        return ["".join(pieces[at : at + size]) for at in range(0, len(pieces), size)] or [""]

    @cached_property
    def tokens(self) -> list[list[str]]:
        """Words of each sentence, repeats kept."""
        return [self.tokenizer.words(sentence) for sentence in self.sentences]

    @cached_property
    def name_words(self) -> frozenset[str]:
        return frozenset(self.tokenizer.words(self.names)) if self.names.strip() else frozenset()

    @cached_property
    def sentence_words(self) -> list[frozenset[str]]:
        return [frozenset(tokens) for tokens in self.tokens]

    @cached_property
    def words(self) -> frozenset[str]:
        return self.name_words.union(*self.sentence_words)

    @cached_property
    def triples(self) -> set[tuple[str, str, str]]:
        """Three words in a row, across sentences."""
        flat = [token for tokens in self.tokens for token in tokens]
        return set(zip(flat, flat[1:], flat[2:], strict=False))

    @cached_property
    def lower(self) -> str:
        return f"{self.names} {self.source.text}".lower()

    @cached_property
    def plain(self) -> str:
        return nfkc(self.lower)

    @cached_property
    def joined(self) -> str:
        """Without spaces and hyphens."""
        return _JOINTS.sub("", self.plain)

    @cached_property
    def figures(self) -> set[str]:
        return figures_offered(f"{self.names} {self.source.text}")

    @cached_property
    def negated(self) -> list[bool]:
        """Whether each sentence denies something."""
        return [negations(sentence) > 0 for sentence in self.sentences]


@dataclass
class SourceTexts:
    """All sources of an answer."""

    sources: Sequence[Source]
    tokenizer: Tokenizer
    all: list[SourceText] = field(init=False)

    def __post_init__(self) -> None:
        self.all = [SourceText(source, self.tokenizer) for source in self.sources]

    def of(self, numbers: Sequence[int]) -> list[SourceText]:
        """Those with these numbers; all if none has."""
        return [text for text in self.all if text.source.number in numbers] or self.all


@dataclass(slots=True)
class SourceSimilarity:
    """Similarity of sentences and sources, 0 to 1: the higher of two measures.

    Words: share of the sentence's keywords, each weighted by how few sources have it, that the source has too. Meaning:
    cosine of the vectors, limited by how far the embedder can be trusted with the script; without an embedder or where
    the words are enough it is not computed.
    """

    sources: Sequence[Source]
    tokenizer: Tokenizer
    embedder: Embedder | None = None
    texts: SourceTexts = field(init=False)  # shared with whatever else compares the answer with its sources
    _words: dict[int, frozenset[str]] = field(default_factory=dict)
    _known: dict[str, dict[int, float]] = field(default_factory=dict)
    _vectors: dict[int, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.texts = SourceTexts(self.sources, self.tokenizer)

    def of(self, sentence: str) -> dict[int, float]:
        """Number of a source -> similarity."""
        text = MARKER.sub("", sentence)
        if text not in self._known:
            shared = self.coverage(text)
            decided = max(shared.values(), default=1.0) >= ENOUGH
            self._known[text] = shared if decided or self.embedder is None else self._with_meaning(text, shared)
        return self._known[text]

    def coverage(self, text: str) -> dict[int, float]:
        """Number of a source -> weighted share of the keywords of `text` that it has."""
        if not self._words:
            self._words = {text.source.number: text.words for text in self.texts.all}
        words_of_text = keywords(text, self.tokenizer)
        weight = {word: self._rarity(word) for word in words_of_text}
        total = sum(weight.values())
        return {
            number: sum(weight[word] for word in words_of_text if word in words) / total if total else 0.0
            for number, words in self._words.items()
        }

    def missing_numbers(self, sentence: str) -> list[str]:
        """Figures of the sentence that stand in no source, as written."""
        have = set[str]().union(*(text.figures for text in self.texts.all))
        numbers = figures(MARKER.sub("", sentence))
        return [figure for figure in numbers if plain_figure(figure) not in have and len(plain_figure(figure)) > 1]

    def _rarity(self, word: str) -> float:
        having = sum(word in words for words in self._words.values())
        return math.log(1 + len(self._words) / (having + 0.5))

    def _with_meaning(self, text: str, shared: dict[int, float]) -> dict[int, float]:
        assert self.embedder is not None
        near = sorted(self.sources, key=lambda s: shared[s.number], reverse=True)[:CANDIDATES]
        sentence = self.embedder.embed_queries([text])
        cosines = cosine_matrix(sentence, self._vectors_of(near, self.embedder))[0]
        trust = self.embedder.trust(cjk_share(text))
        meaning = {s.number: min(1.0, max(0.0, trust * float(c))) for s, c in zip(near, cosines, strict=True)}
        return {number: max(value, meaning.get(number, 0.0)) for number, value in shared.items()}

    def _vectors_of(self, sources: Sequence[Source], embedder: Embedder) -> FloatArray:
        """float32[n, d] of their texts; each is embedded once for all sentences of the answer."""
        missing = [source for source in sources if source.number not in self._vectors]
        if missing:
            vectors = embedder.embed_documents([source.text for source in missing])
            self._vectors.update(zip([source.number for source in missing], vectors, strict=True))
        return np.vstack([self._vectors[source.number] for source in sources])


def missing_facts(claim: str, text: SourceText) -> tuple[str, ...]:
    """Figures and identifiers of a claim that do not stand in a source, as written but for case.

    A name and its unit may be joined otherwise: "20ms" and "20 ms", "5G-network" and "5G network".
    """
    lacking = [figure for figure in figures(claim) if plain_figure(figure) not in text.figures]
    identifiers = [
        part
        for name in names(claim)
        for part in _LATIN_NAME.findall(nfkc(name))
        if part not in text.plain and part.replace("-", "") not in text.joined and not _has_pieces(part, text.plain)
    ]
    return tuple(dict.fromkeys([*lacking, *identifiers]))


def _has_pieces(name: str, plain: str) -> bool:
    """Whether a text has those parts of a compound name that have a digit: 5G of "5G-network"."""
    return "-" in name and all(piece in plain for piece in name.split("-") if any(char.isdigit() for char in piece))
