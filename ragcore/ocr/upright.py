"""Pages that lie on their side or stand on their head are turned before their lines are believed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ragcore.ocr.layout import ReadPage
from ragcore.parsing.image.pixels import RenderedPage
from ragcore.ports import TextRecogniser
from ragcore.types import Pixels, RecognisedLine

MIN_LINES = 3  # fewer do not tell how a page lies
TALL = 1.5  # times as high as wide
DOUBTFUL = 0.8  # mean score of lines below which a page may stand on its head
SURE = 0.9  # score of a level line that is believed
SURE_SHARE = 0.25  # of the lines that are level and sure: a chart whose many labels stand upright on their axis


def read_upright(recogniser: TextRecogniser, frame: RenderedPage) -> ReadPage:
    """The lines of a page, turned until they are read best. Raises what `recognise` raises.

    Most pages are read once; those with hardly any but lines from top to bottom, or hardly legible ones, up to three
    times.
    """
    best = _read(recogniser, frame, 0)
    for turns in _turns_to_try(best.lines):
        other = _read(recogniser, frame, turns)
        if _worth(other.lines) > _worth(best.lines):
            best = other
    level = tuple(line for line in best.lines if not _is_tall(line))
    # a few lines across an upright page are stamps at its margin (D24); many are text that runs downwards
    return replace(best, lines=level) if len(level) > 0.5 * len(best.lines) else best


def _read(recogniser: TextRecogniser, frame: RenderedPage, turns: int) -> ReadPage:
    pixels = turned(frame.pixels, turns)
    lines = tuple(recogniser.recognise(pixels))
    return ReadPage(number=frame.page, pixels=pixels, lines=lines, scale=frame.scale, turns=turns)


def _turns_to_try(lines: Sequence[RecognisedLine]) -> tuple[int, ...]:
    if len(lines) < MIN_LINES:
        return ()
    if sum(map(_is_tall, lines)) > 0.5 * len(lines):
        return () if sum(map(_is_surely_level, lines)) >= SURE_SHARE * len(lines) else (1, 3)
    return (2,) if sum(line.score for line in lines) < DOUBTFUL * len(lines) else ()


def _worth(lines: Sequence[RecognisedLine]) -> float:
    """Characters that were read with confidence; lines that stand across count little."""
    return sum(len(line.text) * line.score**4 for line in lines if not _is_tall(line))


def _is_tall(line: RecognisedLine) -> bool:
    return len(line.text) > 1 and line.y1 - line.y0 > TALL * (line.x1 - line.x0)


def _is_surely_level(line: RecognisedLine) -> bool:
    return len(line.text) > 1 and line.score >= SURE and line.x1 - line.x0 > line.y1 - line.y0


def turned(pixels: Pixels, turns: int) -> Pixels:
    """A picture after quarter turns clockwise."""
    import numpy as np

    if turns % 4 == 0:
        return pixels
    rows = np.frombuffer(pixels.data, dtype=np.uint8).reshape(pixels.height, pixels.width, pixels.channels)
    upright = np.ascontiguousarray(np.rot90(rows, -turns))
    height, width, channels = upright.shape
    return Pixels(width=width, height=height, channels=channels, data=upright.tobytes())
