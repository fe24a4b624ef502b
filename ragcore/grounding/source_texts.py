"""Sources cut into sentences, tokenised once for everything that compares an answer with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ragcore.grounding.facts import figures_offered, negations
from ragcore.ports import Tokenizer
from ragcore.text.sentences import split_sentences
from ragcore.types import Source

MAX_SENTENCES = 400  # of one source; a longer one is compared in larger pieces, none is left out


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
        found = split_sentences(self.source.text)
        size = -(-len(found) // MAX_SENTENCES) or 1
        return ["".join(found[at : at + size]) for at in range(0, len(found), size)] or [""]

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
