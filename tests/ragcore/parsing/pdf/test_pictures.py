from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from ragcore.parsing import parse
from ragcore.parsing.pdf import drawing
from ragcore.types import ParsedDocument
from tests.ragcore.ocr.drawing import encoded

Placed = tuple[Image.Image, float, float, float, float, str]  # x, y, width, height from the lower left corner; kind


def document(
    pages: Sequence[Sequence[Placed]], *, caption: str = "", text: str = "Words of the page."
) -> ParsedDocument:
    target = BytesIO()
    canvas = Canvas(target, pagesize=(600, 800))
    for n, placed in enumerate(pages):
        canvas.drawString(72, 760, f"{text} {'abcdefgh'[n]}")
        for picture, x, y, width, height, kind in placed:
            canvas.drawImage(ImageReader(BytesIO(encoded(picture, kind))), x, y, width, height)
            if caption:
                canvas.drawString(x, y - 14, caption)
        canvas.showPage()
    canvas.save()
    return parse(target.getvalue(), name="a.pdf")


def photo(colour: str = "teal", size: tuple[int, int] = (200, 150)) -> Image.Image:
    return Image.new("RGB", size, colour)


def test_a_picture_is_kept_with_its_caption_where_it_stands():
    found = document([[(photo(), 100, 400, 200, 150, "PNG")]], caption="Figure 3 The cabinet from the front")

    (picture,) = found.pictures
    (block,) = [block for block in found.blocks if block.kind == "image"]
    assert block.text == f"![Figure 3 The cabinet from the front](picture:{picture.name})"
    assert block.box is not None
    assert (block.page, picture.page) == (1, 1)
    assert (block.box.x0, block.box.y0, block.box.x1, block.box.y1) == pytest.approx((100, 250, 300, 400), abs=1)
    shown = Image.open(BytesIO(picture.content))
    assert (shown.size, shown.convert("RGB").getpixel((5, 5))) == ((200, 150), (0, 128, 128))


def test_a_jpeg_is_kept_as_the_file_has_it():
    found = document([[(photo(), 100, 400, 200, 150, "JPEG")]])

    assert found.pictures[0].media_type == "image/jpeg"
    assert Image.open(BytesIO(found.pictures[0].content)).size == (200, 150)


def test_a_line_of_text_as_a_picture_is_kept():
    found = document(
        [[(photo(size=(400, 60)), 100, 400, 260, 39, "PNG"), (photo(size=(60, 400)), 100, 100, 30, 200, "PNG")]]
    )

    assert [Image.open(BytesIO(picture.content)).size for picture in found.pictures] == [(400, 60)]


def test_logos_on_many_pages_ornaments_and_backgrounds_are_left_out():
    logo, ornament, background = photo("red"), photo("blue", (60, 200)), photo("grey", (300, 400))
    placed = [[(logo, 20, 700, 120, 90, "PNG")] for _ in range(4)]
    placed[0].append((ornament, 200, 300, 40, 100, "PNG"))
    placed[1].append((background, 0, 0, 600, 800, "PNG"))

    assert (
        document(placed, text="Words of a page that has a picture behind it, and enough of them to be read.").pictures
        == ()
    )


def test_the_same_picture_on_two_pages_is_kept_once_and_shown_twice():
    found = document([[(photo(), 100, 400, 200, 150, "PNG")], [(photo(), 90, 300, 200, 150, "PNG")], [], []])

    assert len(found.pictures) == 1
    assert [block.page for block in found.blocks if block.kind == "image"] == [1, 2]


def test_there_is_a_limit_of_pictures_and_bytes(monkeypatch):
    colours = ("red", "green", "blue")
    placed = [[(photo(colour), 100, 600 - 180 * n, 200, 150, "PNG") for n, colour in enumerate(colours)]]

    monkeypatch.setattr(drawing, "MAX_PICTURES", 2)
    assert len(document(placed).pictures) == 2
    monkeypatch.setattr(drawing, "MAX_TOTAL_BYTES", 1)
    assert len(document(placed).pictures) == 1
