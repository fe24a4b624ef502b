"""The process that renders pages and decodes pictures (pixels.py starts it)."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from ragcore.parsing.sandbox.child import write_answer
from ragcore.parsing.sandbox.confine import confine
from ragcore.parsing.sandbox.process import LIMIT_EXIT

MAX_SCALE = 4.0  # pixels per point: more does not make a page more readable
MAX_FRAMES = 200  # pages of one TIFF
DECODED = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "MPO")
Frame = tuple[dict[str, float], bytes]  # header and rows


@dataclass(frozen=True, slots=True)
class Limits:
    """Of decoding one picture, and whether its colours are wanted."""

    max_side_pixels: int
    max_decoded_pixels: int
    is_coloured: bool


def main() -> int:
    """Import the libraries, set the limits, then read the untrusted content."""
    import PIL.Image  # noqa: F401
    import PIL.ImageOps  # noqa: F401
    import pypdfium2  # noqa: F401

    order = json.loads(sys.argv[1])
    confine(**order["limits"])
    content = sys.stdin.buffer.read()
    try:
        if order["task"] == "render":
            frames = list(render_pages(content, order["pages"], order["max_side_pixels"]))
        else:
            limits = Limits(order["max_side_pixels"], order["max_decoded_pixels"], order["is_coloured"])
            frames = list(decode_pictures(content, order["sizes"], limits))
        write_answer(json.dumps({"frames": [head for head, _ in frames]}).encode() + b"\n")
        for _, data in frames:
            write_answer(data)
    except (MemoryError, OSError):  # OSError: larger than RLIMIT_FSIZE
        return LIMIT_EXIT
    return 0


def render_pages(content: bytes, pages: Sequence[int], max_side_pixels: int) -> Iterator[Frame]:
    """Grey pictures of the pages (1-based) that can be drawn."""
    import pypdfium2

    document = pypdfium2.PdfDocument(content)
    for number in pages:
        if not 1 <= number <= len(document):
            continue
        try:
            page = document[number - 1]
        except pypdfium2.PdfiumError:  # a broken page of a file that is otherwise fine
            continue
        scale = min(MAX_SCALE, (max_side_pixels - 1) / max(*page.get_size(), 1.0))  # pypdfium2 rounds sizes up
        picture = page.render(scale=scale, grayscale=True).to_pil().convert("L")
        page.close()
        yield _frame(number, picture, scale)


def decode_pictures(content: bytes, sizes: Sequence[int], limits: Limits) -> Iterator[Frame]:
    """Frames of each picture; its 1-based place in the order stands as the page. Undecodable ones are left out."""
    start = 0
    for number, size in enumerate(sizes, 1):
        for picture, scale in _pictures(content[start : start + size], limits):
            yield _frame(number, picture, scale)
        start += size


def _pictures(content: bytes, limits: Limits) -> Iterator[tuple[Any, float]]:
    from PIL import Image, ImageOps

    side = (limits.max_side_pixels, limits.max_side_pixels)
    Image.MAX_IMAGE_PIXELS = limits.max_decoded_pixels
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    try:
        with Image.open(BytesIO(content), formats=DECODED) as file:
            frames = min(getattr(file, "n_frames", 1), MAX_FRAMES) if file.format == "TIFF" else 1
            for index in range(frames):
                file.seek(index)
                if file.width * file.height > limits.max_decoded_pixels:
                    continue
                longest = max(file.size)
                if file.format == "JPEG":
                    file.draft("RGB", side)  # decodes large photos at half size
                picture = _flatten(ImageOps.exif_transpose(file), "RGB" if limits.is_coloured else "L")
                picture.thumbnail(side)
                yield picture, max(picture.size) / longest
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - decoders raise anything; the frames before stay, and the caller sees none
        return


def _flatten(picture: Any, mode: str) -> Any:
    """In a mode of Pillow, and what is transparent on white."""
    from PIL import Image

    if picture.has_transparency_data:
        layer = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    if picture.mode.startswith(("I", "F")):  # 16 bits and more a channel
        low, high = picture.getextrema()
        picture = picture.convert("F").point(lambda value: (value - low) * (255.0 / max(high - low, 1)))
    return (picture.convert("RGB") if picture.mode not in ("L", "F") else picture.convert("L")).convert(mode)


def _frame(page: int, picture: Any, scale: float) -> Frame:
    channels = len(picture.getbands())
    head = {"page": page, "width": picture.width, "height": picture.height, "channels": channels, "scale": scale}
    return head, picture.tobytes()


if __name__ == "__main__":
    sys.exit(main())
