"""Pages and pictures to pixels, in a sandboxed process: hostile files attack image decoders.

The answer of the process (pixels_child.py) is one JSON line with the sizes, followed by the raw pixels.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from tempfile import TemporaryFile
from typing import Any

from ragcore.errors import CorruptDocumentError, ResourceLimitError
from ragcore.parsing.sandbox.process import SandboxLimits, run_in_sandbox
from ragcore.types import Pixels

PIXEL_LIMITS = SandboxLimits(memory_bytes=768 * 1024 * 1024, cpu_seconds=60, wall_seconds=120.0)
MAX_DECODED_PIXELS = 40_000_000  # of one picture; a decompression bomb says so in its header
MAX_SIDE_PIXELS = 1600
PAGES_A_BATCH = 8  # 8 grey pages of 1600 x 1600 are 20 MB
PICTURES_A_BATCH = 8
_MODULE = "ragcore.parsing.image.pixels_child"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedPage:
    """A page as it is shown, or one frame of a picture; `scale` is pixels per point (or per original pixel)."""

    page: int  # 1-based
    pixels: Pixels
    scale: float


def render_in_sandbox(
    content: bytes, *, name: str, pages: Sequence[int], max_side_pixels: int = MAX_SIDE_PIXELS
) -> list[RenderedPage]:
    """Grey pictures of some pages of a PDF, at most PAGES_A_BATCH of them, in the order asked for.

    Pages that do not exist or cannot be drawn are left out. Raises CorruptDocumentError, ResourceLimitError.
    """
    if len(pages) > PAGES_A_BATCH:
        raise ValueError(f"at most {PAGES_A_BATCH} pages at once")
    order = {"task": "render", "pages": list(pages), "max_side_pixels": max_side_pixels}
    return _run_child(order, content, name)


def render_in_batches(content: bytes, *, name: str, pages: Sequence[int]) -> Iterator[RenderedPage]:
    """Like `render_in_sandbox` for any number of pages; only one batch is in memory.

    A page that brings the process down costs only itself: its batch is drawn once more page by page.
    """
    for start in range(0, len(pages), PAGES_A_BATCH):
        yield from _render_batch(content, name, pages[start : start + PAGES_A_BATCH])


def _render_batch(content: bytes, name: str, pages: Sequence[int]) -> list[RenderedPage]:
    try:
        return render_in_sandbox(content, name=name, pages=pages)
    except (CorruptDocumentError, ResourceLimitError):
        return [frame for page in pages for frame in _render_batch(content, name, [page])] if len(pages) > 1 else []


def decode_in_sandbox(
    pictures: Sequence[bytes], *, max_side_pixels: int = MAX_SIDE_PIXELS, is_coloured: bool = False
) -> list[tuple[RenderedPage, ...] | None]:
    """Pixels of encoded pictures, upright as the camera meant them; None for one that cannot be decoded.

    Grey, or with `is_coloured` red, green and blue; what is transparent on white.

    The first frame of an animation, every page of a TIFF. Pictures over MAX_DECODED_PIXELS count as not decodable.
    A picture that brings the whole process down costs only itself: the others are tried once more without it.
    """
    pages: list[tuple[RenderedPage, ...] | None] = []
    for start in range(0, len(pictures), PICTURES_A_BATCH):
        pages += _decode_batch(pictures[start : start + PICTURES_A_BATCH], max_side_pixels, is_coloured)
    return pages


def _decode_batch(
    pictures: Sequence[bytes], max_side_pixels: int, is_coloured: bool
) -> list[tuple[RenderedPage, ...] | None]:
    sizes = [len(picture) for picture in pictures]
    order = {"task": "decode", "sizes": sizes, "max_side_pixels": max_side_pixels, "is_coloured": is_coloured}
    try:
        frames = _run_child(order, b"".join(pictures), "pictures")
    except (CorruptDocumentError, ResourceLimitError):
        if len(pictures) == 1:
            return [None]
        return [frame for picture in pictures for frame in _decode_batch([picture], max_side_pixels, is_coloured)]
    groups: list[list[RenderedPage]] = [[] for _ in pictures]
    for frame in frames:  # here the "page" of the answer counts the pictures
        group = groups[frame.page - 1]
        group.append(replace(frame, page=len(group) + 1))
    return [tuple(group) or None for group in groups]


def _run_child(order: dict[str, object], content: bytes, name: str) -> list[RenderedPage]:
    limited = {**order, "max_decoded_pixels": MAX_DECODED_PIXELS}
    with TemporaryFile() as source, TemporaryFile() as target:
        source.write(content)
        source.seek(0)
        answer = run_in_sandbox(_MODULE, source, target, order=limited, name=name, limits=PIXEL_LIMITS)
    try:
        head, _, data = answer.partition(b"\n")
        frames = json.loads(head)["frames"]
        return list(_read_frames(frames, memoryview(data), int(str(limited["max_side_pixels"]))))
    except (ValueError, KeyError, TypeError) as problem:
        raise CorruptDocumentError(name=name, problem="the decoder gave no answer") from problem


def _read_frames(frames: Any, data: memoryview, max_side_pixels: int) -> Iterator[RenderedPage]:
    """The frames of an answer. Raises ValueError if sizes and data do not agree: the sender may be taken over."""
    start = 0
    for frame in frames:
        page, width, height, channels = (int(frame[key]) for key in ("page", "width", "height", "channels"))
        size = width * height * channels
        if not (0 < width <= max_side_pixels and 0 < height <= max_side_pixels and channels in (1, 3) and page > 0):
            raise ValueError("not a frame of the decoding process")
        if start + size > len(data):
            raise ValueError("the decoding process broke off")
        pixels = Pixels(width=width, height=height, channels=channels, data=bytes(data[start : start + size]))
        yield RenderedPage(page=page, pixels=pixels, scale=float(frame["scale"]))
        start += size
