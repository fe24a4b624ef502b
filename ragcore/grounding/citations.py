"""Which sources an answer points to, and how far citations and answer can be relied on, 0 to 1."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ragcore.grounding.links import without_links
from ragcore.grounding.markers import Marker, MarkerStream
from ragcore.grounding.plain_urls import known_addresses
from ragcore.grounding.source_texts import SourceSimilarity
from ragcore.ports import Tokenizer
from ragcore.text.code_blocks import in_words
from ragcore.text.markdown import without_pictures
from ragcore.text.sentences import split_sentences
from ragcore.types import Citation, Sentence, Source

_WEIGHT = {"supported": 1.0, "weak": 0.5, "unsupported": 0.0}

WEAK_BELOW = 0.5
ROUNDS = 5  # of removing markers and links; what one removal puts together, the next one finds


def citation_confidence(*, score: float, similarity: float, frequency: int) -> float:
    """0.4 of the source's score, 0.4 of its similarity to the sentence, 0.2 of how often it is cited."""
    return 0.4 * _unit(score) + 0.4 * _unit(similarity) + 0.2 * min(frequency / 3, 1.0)


def answer_confidence(citations: Sequence[Citation], sentences: Sequence[Sentence]) -> float:
    """Half the mean confidence of the citations, half the share of supported sentences (a weak one counts half).

    Nothing cited: 0. No sentence that could be checked: the citations alone.
    """
    if not citations:
        return 0.0
    cited = sum(citation.confidence for citation in citations) / len(citations)
    if not sentences:
        return cited
    return 0.5 * cited + 0.5 * sum(_WEIGHT[sentence.support] for sentence in sentences) / len(sentences)


def _unit(value: float) -> float:
    return min(1.0, max(0.0, value))


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text with `[n]` markers only, and its citations in order of first mention."""

    text: str
    citations: tuple[Citation, ...]


def normalise(text: str, sources: Sequence[Source]) -> tuple[str, list[Marker]]:
    """A whole text with normalised markers, and where they are."""
    stream = MarkerStream.of(sources)
    return stream.feed(text) + stream.flush(), stream.markers


def cleaned(text: str, sources: Sequence[Source], addresses: Collection[str] = ()) -> tuple[str, list[Marker]]:
    """A whole text with `[n]` markers of these sources only and without links, as the filters of a stream leave it.

    Bare addresses that stand in no source are no links any more either.
    Text that has gone through them already comes back as it is.
    """
    addresses_of_sources = known_addresses(sources)
    text = in_words(text, without_pictures)
    for _ in range(ROUNDS):
        clean, markers = normalise(text, sources)
        text = without_links(clean, addresses, addresses_of_sources)
        if text == clean:
            return text, markers
    return re.sub(r"[\[\]【】<]", "", text), []  # made to trick the filters: what is left points nowhere


def extract_citations(
    text: str,
    sources: Sequence[Source],
    *,
    tokenizer: Tokenizer,
    similarity: SourceSimilarity | None = None,
    threshold: float = WEAK_BELOW,
    addresses: Collection[str] = (),
) -> Extracted:
    """Normalise the markers of an answer, take links out, and list what the markers point to.

    Below `threshold` a citation is weak. `addresses`: those of sources, which may be linked and shown.
    """
    clean, markers = cleaned(text, sources, addresses)
    similarity = similarity or SourceSimilarity(sources, tokenizer)
    by_number = {source.number: source for source in sources}
    places: dict[int, list[int]] = {}
    for marker in markers:
        places.setdefault(marker.number, []).append(marker.position)
    segments = Segments(clean)
    citations = [
        _citation(by_number[number], positions, segments, similarity, threshold) for number, positions in places.items()
    ]
    return Extracted(clean, tuple(citations))


def _citation(
    source: Source, positions: Sequence[int], segments: Segments, similarity: SourceSimilarity, threshold: float
) -> Citation:
    segment = segments.at(positions[0])
    near = similarity.of(segment)[source.number]
    confidence = citation_confidence(score=source.score, similarity=near, frequency=len(positions))
    return Citation(
        number=source.number,
        source=source,
        confidence=confidence,
        weak=confidence < threshold,
        position=positions[0],
        segment=segment,
        frequency=len(positions),
    )


class Segments:
    """The sentences of a text by position."""

    def __init__(self, text: str) -> None:
        self._spans: list[tuple[int, str]] = []
        end = 0
        for sentence in split_sentences(text):
            end += len(sentence)
            self._spans.append((end, sentence.strip().removeprefix("> ")))  # the mark of a quotation

    def at(self, position: int) -> str:
        """The sentence at a character offset; a marker that stands alone belongs to the sentence before it."""
        before = ""
        for end, sentence in self._spans:
            if position < end:
                return sentence if any(c.isalpha() for c in sentence) else before
            before = sentence or before
        return before
