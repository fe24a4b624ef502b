"""A page of a PDF as PNG with boxes highlighted.

Pages are drawn in a confined child process: the file is a stranger's, and pdfium is neither memory-safe nor
thread-safe. `python -m knowledge.page_picture PAGE SCALE BOXES WORDS CLIP REQUIRED` reads the PDF from stdin and
writes the PNG to stdout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from ragcore.errors import CorruptDocumentError, ResourceLimitError, SandboxUnavailableError
from ragcore.parsing.sandbox.confine import UNCONFINED_EXIT, confine
from ragcore.parsing.sandbox.process import POLICY

if TYPE_CHECKING:
    from PIL import Image

SCALE = 2.0  # pixels a point: sharp on dense screens at the panel's width
POINTS_AN_INCH = 72
ROOT = Path(__file__).resolve().parents[1]
MAX_SIDE_PIXELS = 3000
TIMEOUT_SECONDS = 20
PATIENT_SECONDS = 1.0  # after which a page counts as slow, and leaves the processor to others
COURTESY = 10  # of 19
MEMORY_BYTES = 1024 * 1024 * 1024  # address space
OUTPUT_BYTES = 32 * 1024 * 1024
COLOURS = 64
HIGHLIGHT = (214, 237, 233)  # multiplied with the page: white turns into the colour of the mark, ink stays ink
WORDS_HIGHLIGHT = (255, 226, 138)  # of the very words of a claim
WORDS_CHARACTERS = 4000  # of all texts that are looked for on a page
CLIP_MARGIN = 54.0  # points above and below what is highlighted, in a clip of a page
SIDE_MARGIN = 24.0  # points left and right of it
CLIP_LEAST = 150.0  # points
CLIP_LEAST_WIDTH = 420.0
CLIP_MOST = 320.0
EDGE = (11, 107, 111)

BoxOnPage = tuple[float, float, float, float]  # x0, y0, x1, y1 in points from the top left


def page_png(
    content: bytes,
    *,
    page: int,
    boxes: Sequence[BoxOnPage],
    words: Sequence[str] = (),
    is_clip: bool = False,
    scale: float = SCALE,
) -> bytes:
    """PNG of a page (1-based) with boxes in one colour and the texts `words`, where they stand on it, in another.

    `is_clip`: only the stripe of the page around what is highlighted. Raises CorruptDocumentError, ResourceLimitError,
    SandboxUnavailableError.
    """
    texts = json.dumps(_up_to(words, WORDS_CHARACTERS))
    arguments = [str(page), str(scale), json.dumps(list(boxes)), texts, str(int(is_clip)), str(int(POLICY.required))]
    command = [sys.executable, "-m", "knowledge.page_picture", *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env={}, cwd=ROOT, **pipes) as child:  # type: ignore[call-overload]  # three of its files
        try:
            png = _output(child, content)
        except subprocess.TimeoutExpired:
            child.kill()
            raise ResourceLimitError("slow_page", page=page) from None
    if child.returncode == UNCONFINED_EXIT:
        raise SandboxUnavailableError(page=page)
    if child.returncode != 0 or not png:
        raise CorruptDocumentError("page", page=page)
    return png


def _output(child: subprocess.Popen[bytes], content: bytes) -> bytes:
    """What the child writes. Raises subprocess.TimeoutExpired after TIMEOUT_SECONDS."""
    try:
        return child.communicate(content, timeout=PATIENT_SECONDS)[0]
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.setpriority(os.PRIO_PROCESS, child.pid, COURTESY)
    return child.communicate(timeout=max(0.1, TIMEOUT_SECONDS - PATIENT_SECONDS))[0]


def _up_to(words: Sequence[str], characters: int) -> list[str]:
    sizes = accumulate(map(len, words))
    return [text for text, size in zip(words, sizes, strict=True) if size <= characters] or [
        text[:characters] for text in words[:1]
    ]


def draw(
    content: bytes,
    *,
    page: int,
    scale: float,
    boxes: Sequence[BoxOnPage],
    words: Sequence[str] = (),
    is_clip: bool = False,
) -> bytes:
    """The same in this process."""
    import pypdfium2
    from PIL import Image

    from ragcore.parsing.pdf.word_places import find_word_places

    with pypdfium2.PdfDocument(content) as document:
        pdf_page = document[page - 1]
        scale = min(scale, MAX_SIDE_PIXELS / max(pdf_page.get_size()))
        exact = find_word_places(pdf_page, words) if words else []
        picture = pdf_page.render(scale=scale).to_pil().convert("RGB")
    marked = exact or boxes
    if boxes:
        picture = _highlighted(picture, _scaled(boxes, scale), bar=scale, is_filled=not exact)
    if exact:
        picture = _coloured(picture, _scaled(exact, scale), WORDS_HIGHLIGHT)
    if is_clip and marked:
        top, bottom = _stripe(marked, picture.height / scale)
        left, right = _columns([*marked, *boxes], picture.width / scale)
        picture = picture.crop(tuple(round(edge * scale) for edge in (left, top, right, bottom)))
    out = BytesIO()
    density = POINTS_AN_INCH * scale  # tells readers of the picture how large the page is
    # an octree and zlib's usual level: a fifth of the time of the best palette, and files no larger
    picture.quantize(COLOURS, method=Image.Quantize.FASTOCTREE).save(out, "PNG", dpi=(density, density))
    return out.getvalue()


def _scaled(places: Sequence[BoxOnPage], scale: float) -> list[list[float]]:
    return [[value * scale for value in place] for place in places]


def _stripe(places: Sequence[BoxOnPage], height: float) -> tuple[float, float]:
    """Top and bottom of a part of the page around the places, in points: not too low to be read, not too high."""
    top = min(place[1] for place in places) - CLIP_MARGIN
    bottom = min(max(place[3] for place in places) + CLIP_MARGIN, top + CLIP_MOST)
    missing = max(0.0, CLIP_LEAST - (bottom - top)) / 2
    return max(0.0, top - missing), min(height, bottom + missing)


def _columns(places: Sequence[BoxOnPage], width: float) -> tuple[float, float]:
    """Left and right of that part, without empty margins: a panel is narrower than a page."""
    left, right = min(place[0] for place in places) - SIDE_MARGIN, max(place[2] for place in places) + SIDE_MARGIN
    missing = max(0.0, CLIP_LEAST_WIDTH - (right - left))
    left = max(0.0, min(left, width - CLIP_LEAST_WIDTH))
    return left, min(width, right + missing)


def _coloured(picture: Image.Image, places: Sequence[Sequence[float]], colour: tuple[int, int, int]) -> Image.Image:
    """The picture with places (pixels) in a colour, under the ink."""
    from PIL import Image, ImageChops, ImageDraw

    layer = Image.new("RGB", picture.size, "white")
    pencil = ImageDraw.Draw(layer)
    for place in places:
        pencil.rectangle(list(place), fill=colour)
    return ImageChops.multiply(picture, layer)


def _highlighted(
    picture: Image.Image, places: Sequence[Sequence[float]], *, bar: float, is_filled: bool
) -> Image.Image:
    """The picture with places (pixels) in colour, and beside them a bar in the margin that does not rely on colour.

    `bar`: pixels a point, in which its width and its distance are given. `is_filled`: with False the bar alone.
    """
    from PIL import ImageDraw

    marked = _coloured(picture, places, HIGHLIGHT) if is_filled else picture.copy()
    x0 = max(min(place[0] for place in places) - 5 * bar, 0)
    edge = [x0, min(place[1] for place in places), x0 + 1.5 * bar, max(place[3] for place in places)]
    ImageDraw.Draw(marked).rectangle(edge, fill=EDGE)
    return marked


def _main() -> None:
    page, scale, boxes, words, is_clip, required = sys.argv[1:7]
    confine(memory_bytes=MEMORY_BYTES, cpu_seconds=TIMEOUT_SECONDS, output_bytes=OUTPUT_BYTES, required=required == "1")
    png = draw(
        sys.stdin.buffer.read(),
        page=int(page),
        scale=float(scale),
        boxes=json.loads(boxes),
        words=json.loads(words),
        is_clip=is_clip == "1",
    )
    sys.stdout.buffer.write(png)


if __name__ == "__main__":
    _main()
