"""A page of a PDF as PNG with boxes highlighted (B3).

Pages are drawn in a confined child process: the file is a stranger's, and pdfium is neither memory-safe nor
thread-safe. `python -m knowledge.page_picture PAGE SCALE BOXES REQUIRED` reads the PDF from stdin and writes the PNG to
stdout.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from io import BytesIO
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
AT_ONCE = 2  # children of one web process; further readers wait for their turn
MAX_SIDE_PIXELS = 3000
TIMEOUT_SECONDS = 20
MEMORY_BYTES = 1024 * 1024 * 1024  # address space
OUTPUT_BYTES = 32 * 1024 * 1024
COLOURS = 64
HIGHLIGHT = (214, 237, 233)  # multiplied with the page: white turns into the colour of the mark, ink stays ink
EDGE = (11, 107, 111)

_slots = threading.BoundedSemaphore(AT_ONCE)

BoxOnPage = tuple[float, float, float, float]  # x0, y0, x1, y1 in points from the top left


def page_png(content: bytes, *, page: int, boxes: Sequence[BoxOnPage], scale: float = SCALE) -> bytes:
    """PNG of a page (1-based). Raises CorruptDocumentError, ResourceLimitError, SandboxUnavailableError."""
    arguments = [str(page), str(scale), json.dumps(list(boxes)), str(int(POLICY.required))]
    command = [sys.executable, "-m", "knowledge.page_picture", *arguments]
    try:
        with _slots:
            done = subprocess.run(
                command, input=content, capture_output=True, timeout=TIMEOUT_SECONDS, check=False, env={}, cwd=ROOT
            )
    except subprocess.TimeoutExpired:
        raise ResourceLimitError("slow_page", page=page) from None
    if done.returncode == UNCONFINED_EXIT:
        raise SandboxUnavailableError(page=page)
    if done.returncode != 0 or not done.stdout:
        raise CorruptDocumentError("page", page=page)
    return done.stdout


def draw(content: bytes, *, page: int, scale: float, boxes: Sequence[BoxOnPage]) -> bytes:
    """The same in this process."""
    import pypdfium2
    from PIL import Image

    with pypdfium2.PdfDocument(content) as document:
        found = document[page - 1]
        scale = min(scale, MAX_SIDE_PIXELS / max(found.get_size()))
        picture = found.render(scale=scale).to_pil().convert("RGB")
    if boxes:
        picture = _highlighted(picture, [[value * scale for value in box] for box in boxes], bar=scale)
    out = BytesIO()
    density = POINTS_AN_INCH * scale  # tells readers of the picture how large the page is
    # an octree and zlib's usual level: a fifth of the time of the best palette, and files no larger
    picture.quantize(COLOURS, method=Image.Quantize.FASTOCTREE).save(out, "PNG", dpi=(density, density))
    return out.getvalue()


def _highlighted(picture: Image.Image, places: Sequence[Sequence[float]], *, bar: float) -> Image.Image:
    """The picture with places (pixels) in colour, and beside them a bar in the margin that does not rely on colour.

    `bar`: pixels a point, in which its width and its distance are given.
    """
    from PIL import Image, ImageChops, ImageDraw

    layer = Image.new("RGB", picture.size, "white")
    pencil = ImageDraw.Draw(layer)
    for place in places:
        pencil.rectangle(list(place), fill=HIGHLIGHT)
    marked = ImageChops.multiply(picture, layer)
    left = max(min(place[0] for place in places) - 5 * bar, 0)
    edge = [left, min(place[1] for place in places), left + 1.5 * bar, max(place[3] for place in places)]
    ImageDraw.Draw(marked).rectangle(edge, fill=EDGE)
    return marked


def _main() -> None:
    required = sys.argv[4] == "1"
    confine(memory_bytes=MEMORY_BYTES, cpu_seconds=TIMEOUT_SECONDS, output_bytes=OUTPUT_BYTES, required=required)
    page, scale, boxes = int(sys.argv[1]), float(sys.argv[2]), json.loads(sys.argv[3])
    sys.stdout.buffer.write(draw(sys.stdin.buffer.read(), page=page, scale=scale, boxes=boxes))


if __name__ == "__main__":
    _main()
