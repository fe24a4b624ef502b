"""Words of a text on the page of a PDF, as it is shown."""

from __future__ import annotations

from io import BytesIO

import pypdfium2
import pytest
from reportlab.pdfgen.canvas import Canvas

from knowledge.page_picture import WORDS_HIGHLIGHT, _columns, draw
from ragcore.parsing.pdf.word_places import find_word_places

WIDTH, HEIGHT = 400, 600
LINES = ("The first sentence stands here. The second", "sentence goes on in the next line, co-", "operating with it.")


def _pdf(*, rotation: int = 0) -> bytes:
    out = BytesIO()
    canvas = Canvas(out, pagesize=(WIDTH, HEIGHT))
    if rotation:
        canvas.setPageRotation(rotation)
    for number, line in enumerate(LINES):
        canvas.drawString(50, HEIGHT - 300 - 14 * number, line)
    canvas.save()
    return out.getvalue()


def _places(content: bytes, *texts: str):
    with pypdfium2.PdfDocument(content) as document:
        return find_word_places(document[0], texts)


def test_a_sentence_over_three_lines_has_a_rectangle_on_each():
    found = _places(_pdf(), "The second sentence goes on in the next line, cooperating with it.")

    assert len(found) == 3
    assert found[0][0] > found[1][0] == pytest.approx(50, abs=1)
    assert [place[1] for place in found] == sorted(place[1] for place in found)
    assert all(280 < place[1] < place[3] < 340 for place in found)


def test_the_half_that_stands_on_this_page_is_found_and_what_is_elsewhere_is_not():
    assert len(_places(_pdf(), "The first sentence stands here. But it ends on another page")) == 1
    assert _places(_pdf(), "Nothing of this can be seen anywhere.", "", "…") == []


def test_on_a_turned_page_places_are_those_that_a_reader_sees():
    x0, y0, x1, y1 = _places(_pdf(rotation=90), "The first sentence stands here.")[0]

    assert (x1 - x0) < (y1 - y0)
    assert HEIGHT - 330 < x0 < x1 < HEIGHT - 270


def test_a_clip_shows_the_words_in_their_colour_and_little_else():
    from PIL import Image

    boxes = [(45.0, 280.0, 350.0, 340.0)]
    whole, clip = (
        Image.open(BytesIO(draw(_pdf(), page=1, scale=1.0, boxes=boxes, words=[LINES[2]], is_clip=is_clip)))
        for is_clip in (False, True)
    )

    assert whole.size == (WIDTH, HEIGHT)
    assert clip.width == WIDTH
    assert clip.height < 200
    for picture in (whole, clip):
        colours = {colour for _count, colour in picture.convert("RGB").getcolors(100_000)}
        assert any(all(abs(a - b) < 12 for a, b in zip(colour, WORDS_HIGHLIGHT, strict=True)) for colour in colours)


@pytest.mark.parametrize(
    ("boxes", "edges"),
    [
        ([(72.0, 100.0, 523.0, 140.0)], (48.0, 547.0)),  # a column of text without its margins
        ([(300.0, 100.0, 523.0, 140.0)], (175.0, 595.0)),  # narrow places: never narrower than can be read
        ([(72.0, 100.0, 180.0, 140.0), (72.0, 140.0, 523.0, 180.0)], (48.0, 547.0)),
    ],
)
def test_a_clip_leaves_out_empty_margins(boxes, edges):
    assert _columns(boxes, 595.0) == edges
