"""Straight lines in pixels, for tables that are pictures (D24)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragcore.types import Pixels

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

CONTRAST = 24  # of 255, between a line and what is beside it
REACH = 4  # pixels to each side at which the background is looked at: lines are thinner
BREAK = 4  # pixels that may be missing in a line
MAX_LINES = 4_000

PixelLine = tuple[float, float, float, float]  # x0, y0, x1, y1


def pixel_lines(pixels: Pixels, *, min_length: int) -> list[PixelLine]:
    """Horizontal and vertical lines of at least `min_length` pixels, dark or light; [] for a picture full of them."""
    import numpy as np

    grey = np.frombuffer(pixels.data, dtype=np.uint8).reshape(pixels.height, pixels.width, pixels.channels)
    plane = grey.mean(axis=2).astype(np.int16)
    across = [(x0, y, x1, y) for y, x0, x1 in _rows(plane, min_length)]
    down = [(x, y0, x, y1) for x, y0, y1 in _rows(plane.T, min_length)]
    lines = across + down
    return lines if len(lines) <= MAX_LINES else []


def _rows(plane: npt.NDArray[np.int16], min_length: int) -> Iterator[tuple[float, float, float]]:
    """Row, start and end of the stretches that differ from what is above and from what is below in the same way."""
    import numpy as np

    if plane.shape[0] <= 2 * REACH or plane.shape[1] < min_length:
        return
    inner, above, below = plane[REACH:-REACH], plane[: -2 * REACH], plane[2 * REACH :]
    dark = (inner < above - CONTRAST) & (inner < below - CONTRAST)
    light = (inner > above + CONTRAST) & (inner > below + CONTRAST)
    for mask in (dark, light):
        for row in np.flatnonzero(mask.sum(axis=1) >= 0.9 * min_length):
            for start, end in _stretches(mask[row], min_length):
                yield float(row + REACH), start, end


def _stretches(row: npt.NDArray[np.bool_], min_length: int) -> Iterator[tuple[float, float]]:
    """Start and end of long stretches of True with small breaks."""
    import numpy as np

    places = np.flatnonzero(row)
    ends = np.flatnonzero(np.diff(places) > BREAK + 1)
    starts = np.concatenate(([0], ends + 1))
    for first, last in zip(starts, np.concatenate((ends, [len(places) - 1])), strict=True):
        if places[last] - places[first] + 1 >= min_length:
            yield float(places[first]), float(places[last] + 1)
