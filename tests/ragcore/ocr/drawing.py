"""Pictures with text, drawn on the fly for the tests of character recognition."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from functools import cache
from io import BytesIO

from PIL import Image, ImageDraw, ImageFont

from ragcore.types import Pixels

Text = tuple[float, float, str]  # x and y of the upper left corner in pixels


@cache
def cjk_font() -> str | None:
    """The file of a font with Chinese characters, if one is installed."""
    try:
        said = subprocess.run(["fc-list", ":lang=zh-cn", "file"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    files = sorted(line.rstrip(": ") for line in said.stdout.splitlines())
    return next((file for file in files if "Regular" in file), files[0] if files else None)


@cache
def _font(size: int, chinese: bool) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    file = cjk_font() if chinese else None
    return ImageFont.truetype(file, size) if file else ImageFont.load_default(size)


def drawn(texts: Sequence[Text], *, width: int = 640, height: int = 240, size: int = 28) -> Image.Image:
    """A white picture with black texts."""
    picture = Image.new("L", (width, height), "white")
    draw = ImageDraw.Draw(picture)
    for x, y, text in texts:
        draw.text((x, y), text, fill="black", font=_font(size, any(char >= "\u2e80" for char in text)))
    return picture


def pixels_of(picture: Image.Image) -> Pixels:
    grey = picture.convert("L")
    return Pixels(width=grey.width, height=grey.height, channels=1, data=grey.tobytes())


def encoded(picture: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    target = BytesIO()
    picture.save(target, kind, **options)
    return target.getvalue()
