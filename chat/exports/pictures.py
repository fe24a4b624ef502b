"""Pictures of cited passages for a file: read, decoded in a confined process, and small enough for a page."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice

from chat.answers.figures import FigureLine
from chat.pages.view_models import TurnView
from knowledge.services.originals import stored_open
from ragcore.errors import RagError
from ragcore.parsing.image.pixels import decode_in_sandbox
from ragcore.types import Pixels

logger = logging.getLogger(__name__)

MAX_PICTURES = 40  # of one file; of the others the words and the source stand there
MAX_BYTES = 20 * 1024 * 1024  # of one stored picture
MAX_SIDE_PIXELS = 1400
PNG_BYTES = 400_000  # a larger one is kept as JPEG
JPEG_QUALITY = 85


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPicture:
    """A picture ready to be put into a file."""

    content: bytes
    media_type: str  # image/png or image/jpeg
    width: int  # pixels
    height: int


def pictures_read(turns: Sequence[TurnView]) -> dict[int, ExportPicture]:
    """The first MAX_PICTURES pictures of the turns by the id of their row, as far as their files can be read.

    Who may see them was decided when the turns were read (`figures_of`). Takes some tenths of a second a picture.
    """
    figures = {figure.picture.pk: figure for turn in turns for figure in turn.figures}
    contents = {pk: content for pk, figure in islice(figures.items(), MAX_PICTURES) if (content := _stored(figure))}
    frames = decode_in_sandbox(list(contents.values()), max_side_pixels=MAX_SIDE_PIXELS, is_coloured=True)
    return {pk: _encoded(pages[0].pixels) for pk, pages in zip(contents, frames, strict=True) if pages}


def _stored(figure: FigureLine) -> bytes:
    """The bytes of a picture; none where they cannot be had."""
    try:
        with stored_open(figure.picture.file) as file:
            content: bytes = file.read(MAX_BYTES + 1)
    except (RagError, OSError) as error:
        logger.warning("a picture is left out of an export: %s", error)
        return b""
    return content if len(content) <= MAX_BYTES else b""


def _encoded(pixels: Pixels) -> ExportPicture:
    from PIL import Image

    picture = Image.frombytes("RGB", (pixels.width, pixels.height), bytes(pixels.data))
    out = BytesIO()
    picture.save(out, "PNG", optimize=True)
    media_type = "image/png"
    if out.tell() > PNG_BYTES:
        out, media_type = BytesIO(), "image/jpeg"
        picture.save(out, "JPEG", quality=JPEG_QUALITY)
    return ExportPicture(content=out.getvalue(), media_type=media_type, width=pixels.width, height=pixels.height)
