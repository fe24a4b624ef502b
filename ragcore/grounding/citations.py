"""Which sources an answer points to, and how sure that is (V7)."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from ragcore.grounding.bare_addresses import hosts_of
from ragcore.grounding.confidence import citation_confidence
from ragcore.grounding.links import without_links
from ragcore.grounding.markers import Marker, MarkerStream
from ragcore.grounding.similarity import SourceSimilarity
from ragcore.ports import Tokenizer
from ragcore.text.sentences import split_sentences
from ragcore.types import Citation, Source

WEAK_BELOW = 0.5


@dataclass(frozen=True, slots=True)
class Extracted:
    """The text with `[n]` markers only, and its citations in order of first mention."""

    text: str
    citations: tuple[Citation, ...]


ROUNDS = 5  # of removing markers and links; what one removal puts together, the next one finds


def normalise(text: str, sources: Sequence[Source]) -> tuple[str, list[Marker]]:
    """A whole text with normalised markers, and where they are."""
    stream = MarkerStream.of(sources)
    return stream.feed(text) + stream.flush(), stream.markers


def cleaned(text: str, sources: Sequence[Source], addresses: Collection[str] = ()) -> tuple[str, list[Marker]]:
    """A whole text with `[n]` markers of these sources only and without links, as the filters of a stream leave it.

    Bare addresses of hosts that stand in no source are no links any more either.
    Text that has gone through them already comes back as it is.
    """
    hosts = hosts_of(sources)
    for _ in range(ROUNDS):
        clean, markers = normalise(text, sources)
        text = without_links(clean, addresses, hosts)
        if text == clean:
            return text, markers
    return re.sub(r"[\[\]【】<]", "", text), []  # made to trick the filters: what is left points nowhere


def extract(
    text: str,
    sources: Sequence[Source],
    *,
    tokenizer: Tokenizer,
    similarity: SourceSimilarity | None = None,
    threshold: float = WEAK_BELOW,
    addresses: Collection[str] = (),
) -> Extracted:
    """Normalise the markers of an answer, take links out, and list what the markers point to (V7).

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
            self._spans.append((end, sentence.strip()))

    def at(self, position: int) -> str:
        """The sentence at a character offset; a marker that stands alone belongs to the sentence before it."""
        before = ""
        for end, sentence in self._spans:
            if position < end:
                return sentence if any(c.isalpha() for c in sentence) else before
            before = sentence or before
        return before
