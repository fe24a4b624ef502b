from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageDraw
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from ragcore.errors import EmptyDocumentError, RecognitionUnavailableError, ResourceLimitError
from ragcore.ocr import documents
from ragcore.ocr.client import RapidOcrRecogniser
from ragcore.ocr.documents import recognise_document, unread_counts
from ragcore.ocr.layout import rotate
from ragcore.options import ParsingOptions
from ragcore.parsing import parse
from ragcore.parsing.image.parser import ImageParser
from ragcore.types import Block, ParsedDocument, Picture, Pixels, RecognisedLine
from tests.ragcore.ocr.drawing import drawn, encoded, pixels_of

WHITE = Image.new("L", (600, 400), "white")


def line(text: str, x: float, y: float, *, height: float = 20, score: float = 0.99) -> RecognisedLine:
    """A line of Latin text as a recogniser reports it, with a margin around it."""
    width = 0.5 * 0.72 * height * len(text)
    return RecognisedLine(text=text, score=score, x0=x, y0=y, x1=x + width, y1=y + height)


class Scripted:
    """A recogniser that says what it is told to, and remembers what it was shown."""

    name = "scripted"

    def __init__(self, *answers: Sequence[RecognisedLine] | Exception) -> None:
        self.answers = list(answers)
        self.seen: list[Pixels] = []

    def recognise(self, pixels: Pixels) -> list[RecognisedLine]:
        self.seen.append(pixels)
        answer = self.answers[min(len(self.seen), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return list(answer)


def scan(pages: int, *, text_on: dict[int, str] | None = None) -> bytes:
    """A PDF of scanned pages; some have a text layer and no picture instead."""
    target = BytesIO()
    canvas = Canvas(target, pagesize=(600, 400))
    for page in range(1, pages + 1):
        if text := (text_on or {}).get(page):
            canvas.drawString(72, 200, text)
        else:
            canvas.drawImage(ImageReader(BytesIO(encoded(WHITE))), 0, 0, 600, 400)
        canvas.showPage()
    canvas.save()
    return target.getvalue()


def read(
    content: bytes,
    recogniser: Scripted,
    *,
    name: str = "a.pdf",
    options: ParsingOptions | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ParsedDocument:
    document = parse(content, name=name) if name.endswith("pdf") else ImageParser().parse(content, name=name)
    return recognise_document(
        document, content, name=name, recogniser=recogniser, options=options or ParsingOptions(), progress=progress
    )


def test_lines_of_a_page_become_paragraphs_with_their_place_in_points():
    said = [
        line("The station is switched on by the main breaker, and then the fan", 80, 80),
        line("starts within a few seconds.", 80, 104),
        line("After that the lamp is green.", 80, 180),
    ]
    recogniser = Scripted(said)

    document = read(scan(1), recogniser)

    assert [(block.kind, block.text) for block in document.blocks] == [
        (
            "paragraph",
            "The station is switched on by the main breaker, and then the fan starts within a few seconds.",
        ),
        ("paragraph", "After that the lamp is green."),
    ]
    scale = recogniser.seen[0].width / 600
    box = document.blocks[1].box
    assert box is not None
    assert (box.page, box.x0) == (1, pytest.approx(80 / scale, abs=2))
    assert 180 / scale <= box.y0 < box.y1 <= 200 / scale
    assert document.unread_pages == ()


def test_recognised_pages_stand_among_the_pages_with_text():
    content = scan(3, text_on={2: "The second page has a text layer."})

    document = read(content, Scripted([line("The first page is a scan.", 80, 300)], [line("So is the last.", 80, 200)]))

    assert [(block.page, block.text) for block in document.blocks] == [
        (1, "The first page is a scan."),
        (2, "The second page has a text layer."),
        (3, "So is the last."),
    ]


def test_headers_and_page_numbers_of_scans_are_removed():
    pages = [
        [line("Installation manual", 80, 10), line(f"Words about {word}.", 80, 300), line(str(n), 300, 740)]
        for n, word in enumerate(("alpha", "beta", "gamma", "delta"), 1)
    ]

    document = read(scan(4), Scripted(*pages))

    assert [block.text for block in document.blocks] == [
        f"Words about {word}." for word in ("alpha", "beta", "gamma", "delta")
    ]


def test_a_grid_of_lines_becomes_a_table_with_whole_rows():
    cells = (("Item", "2023", "2024"), ("Net sales", "120", "135"), ("Total cost", "80", "87"))
    said = [
        line(text, x, 100 + 40 * n) for n, row in enumerate(cells) for x, text in zip((80, 300, 420), row, strict=True)
    ]

    (table,) = read(scan(1), Scripted(said)).blocks

    assert table.kind == "table"
    assert table.text.split("\n")[2:] == ["| Net sales | 120 | 135 |", "| Total cost | 80 | 87 |"]


def test_progress_tells_each_page():
    told: list[tuple[int, int]] = []

    read(scan(3), Scripted([line("Some words.", 80, 80)]), progress=lambda done, total: told.append((done, total)))

    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_page_that_takes_too_long_stays_unread_and_the_others_are_read():
    document = read(scan(2), Scripted(ResourceLimitError(), [line("The second page.", 80, 80)]))

    assert (document.unread_pages, [block.page for block in document.blocks]) == ((1,), [2])


def test_without_any_text_the_document_is_empty():
    with pytest.raises(EmptyDocumentError):
        read(scan(2), Scripted([]))
    with pytest.raises(EmptyDocumentError) as refusal:
        read(scan(2), Scripted([]), options=ParsingOptions(recognise_pages=False))
    assert refusal.value.data["needs_ocr"] is True
    with pytest.raises(EmptyDocumentError):
        read(encoded(WHITE), Scripted([]), name="a.png")


def test_a_recogniser_that_is_down_is_no_empty_document():
    with pytest.raises(RecognitionUnavailableError):
        read(scan(1), Scripted(RecognitionUnavailableError()))


def test_the_frames_of_a_picture_file_are_its_pages():
    content = encoded(WHITE, "TIFF", save_all=True, append_images=[Image.new("L", (600, 400), "grey")])

    document = read(content, Scripted([line("First page.", 80, 80)], [line("Second page.", 80, 80)]), name="fax.tif")

    assert [(block.kind, block.page) for block in document.blocks] == [("image", 1), ("paragraph", 1), ("paragraph", 2)]
    assert document.pages == 2


def with_pictures(*pictures: bytes) -> ParsedDocument:
    names = [f"p{n}.png" for n in range(len(pictures))]
    blocks: list[Block] = []
    for name in names:
        blocks += [Block(kind="paragraph", text=f"About {name}."), Block(kind="image", text=f"![](picture:{name})")]
    return ParsedDocument(
        blocks=tuple(blocks),
        pictures=tuple(
            Picture(name=name, media_type="image/png", content=content)
            for name, content in zip(names, pictures, strict=True)
        ),
    )


def read_pictures(document: ParsedDocument, recogniser: Scripted, **options: object) -> list[str]:
    found = recognise_document(
        document, b"", name="a.docx", recogniser=recogniser, options=ParsingOptions(**options), progress=lambda *_: None
    )
    return [block.text for block in found.blocks]


def test_the_text_of_a_picture_is_found_within_a_paragraph_and_in_a_cell():
    content = encoded(WHITE)
    table = "| case | screen |\n| --- | --- |\n| licence | ![](picture:p.png) |"
    document = ParsedDocument(
        blocks=(
            Block(kind="paragraph", text="As shown ![](picture:p.png) press OK."),
            Block(kind="table", text=table),
            Block(kind="code", text="```\n![](picture:p.png)\n```"),
        ),
        pictures=(Picture(name="p.png", media_type="image/png", content=content),),
    )

    texts = read_pictures(document, Scripted([line("code RNW-5582", 80, 80)]))

    assert texts == [
        "As shown ![](picture:p.png) press OK.",
        "code RNW-5582",
        "| case | screen |\n| --- | --- |\n| licence | ![](picture:p.png) code RNW-5582 |",
        "```\n![](picture:p.png)\n```",
    ]


def test_the_text_of_a_picture_stands_right_behind_it_and_the_same_bytes_are_read_once():
    content = encoded(WHITE)
    recogniser = Scripted([line("Turn off the power", 80, 80), line("before opening", 80, 200)])

    texts = read_pictures(with_pictures(content, content), recogniser)

    said = "Turn off the power\nbefore opening"
    assert texts == ["About p0.png.", "![](picture:p0.png)", said, "About p1.png.", "![](picture:p1.png)", said]
    assert len(recogniser.seen) == 1


def test_tiny_pictures_noise_and_damaged_pictures_add_nothing():
    document = with_pictures(encoded(WHITE), encoded(Image.new("L", (20, 20))), b"damaged")
    recogniser = Scripted([line("~1l|", 80, 80, score=0.3)])

    assert len(read_pictures(document, recogniser)) == 6
    assert len(recogniser.seen) == 1


def test_pictures_are_not_read_when_that_is_off_or_their_number_is_used_up():
    document = with_pictures(encoded(WHITE), encoded(Image.new("L", (300, 300), "white")))
    recogniser = Scripted([line("Words in a picture", 80, 80)])

    assert len(read_pictures(document, recogniser, recognise_pictures=False)) == 4
    assert recogniser.seen == []
    assert len(read_pictures(document, recogniser, max_pictures=1)) == 5


def test_a_chart_whose_labels_stand_on_their_axis_is_read_once():
    labels = [RecognisedLine(text="202201", score=0.8, x0=20 * n, y0=300, x1=20 * n + 12, y1=360) for n in range(1, 8)]
    recogniser = Scripted([line("Revenue", 80, 20), line("Costs", 300, 20), line("50%", 10, 80), *labels])

    read_pictures(with_pictures(encoded(WHITE)), recogniser)

    assert len(recogniser.seen) == 1


def test_a_picture_that_lies_on_its_side_is_turned_although_a_stamp_on_it_is_level():
    lines = [
        RecognisedLine(text="Open the door", score=0.8, x0=20 * n, y0=30, x1=20 * n + 12, y1=230) for n in range(1, 8)
    ]
    recogniser = Scripted([line("COPY", 80, 20), *lines], [line("Open the door of the cabinet", 80, 20)])

    texts = read_pictures(with_pictures(encoded(WHITE)), recogniser)

    assert len(recogniser.seen) == 3
    assert texts[-1] == "Open the door of the cabinet"


def test_pictures_that_nobody_read_are_counted_with_the_reason():
    contents = [encoded(Image.new("L", (300, 300), colour)) for colour in ("white", "grey", "black")]
    document = with_pictures(*contents, b"damaged", contents[0], encoded(WHITE))
    recogniser = Scripted([line("Words in a picture", 80, 80)], ResourceLimitError("slow_recognition"))

    found = recognise_document(
        document,
        b"",
        name="a.docx",
        recogniser=recogniser,
        options=ParsingOptions(max_pictures=5),
        progress=lambda *_: None,
    )

    assert unread_counts(found) == {"left_out": 1, "time": 2, "damaged": 1}
    assert sum(block.text == "Words in a picture" for block in found.blocks) == 2, "the same bytes twice"


def test_the_pictures_of_a_document_are_read_until_their_time_is_over(monkeypatch):
    monkeypatch.setattr(documents, "PICTURES_SECONDS", 0.0)
    document = with_pictures(encoded(WHITE), encoded(Image.new("L", (300, 300), "white")))
    recogniser = Scripted([line("Words in a picture", 80, 80)])
    done = []

    found = recognise_document(
        document,
        b"",
        name="a.docx",
        recogniser=recogniser,
        options=ParsingOptions(),
        progress=lambda *step: done.append(step),
    )

    assert recogniser.seen == []
    assert unread_counts(found) == {"time": 2}
    assert done == [(1, 2), (2, 2)]


def test_the_pages_of_a_fax_are_read_however_long_it_takes(monkeypatch):
    monkeypatch.setattr(documents, "PICTURES_SECONDS", 0.0)

    document = read(encoded(WHITE), Scripted([line("A page", 80, 80)]), name="fax.png")

    assert "A page" in document.markdown()
    assert unread_counts(document) == {}


def test_a_file_cannot_write_anything_but_numbers_there():
    said = {"pictures_unread_time": "soon", "pictures_unread_mood": "3", "pictures_unread_damaged": "2"}

    assert unread_counts(ParsedDocument(blocks=(), metadata=said)) == {"damaged": 2}


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 7), st.data())
def test_turning_moves_every_pixel_and_four_turns_restore_it(width, height, turns, data):
    pixels = Pixels(
        width=width,
        height=height,
        channels=1,
        data=data.draw(st.binary(min_size=width * height, max_size=width * height)),
    )

    once = rotate(pixels, turns)

    assert rotate(once, -turns) == pixels
    assert sorted(once.data) == sorted(pixels.data)
    assert (once.width, once.height) == ((height, width) if turns % 2 else (width, height))


# ── with the real recogniser ────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def recogniser():
    real = RapidOcrRecogniser()
    yield real
    real.close()


def table_picture() -> Image.Image:
    """A ruled table whose first column is merged over two rows."""
    texts = [(30, 50, "Category"), (230, 20, "Results"), (220, 75, "Rate"), (380, 75, "Time")]
    texts += [(30, 125, "Blind"), (220, 125, "34.5%"), (380, 125, "1199 sec")]
    texts += [(30, 175, "Mobility"), (220, 175, "95.4%"), (380, 175, "1416 sec")]
    picture = drawn(texts, width=560, height=230, size=24)
    draw = ImageDraw.Draw(picture)
    for y, x0 in ((10, 10), (60, 200), (110, 10), (160, 10), (210, 10)):
        draw.line((x0, y, 540, y), fill="black", width=2)
    for x, y0 in ((10, 10), (200, 10), (360, 60), (540, 10)):
        draw.line((x, y0, x, 210), fill="black", width=2)
    return picture


def test_a_picture_of_a_table_is_read_row_by_row(recogniser):
    document = read(encoded(table_picture()), recogniser, name="table.png")

    assert [block.kind for block in document.blocks] == ["image", "table"]
    squeezed = document.blocks[1].text.replace(" ", "")
    assert squeezed.split("\n") == [
        "|Category|Results|Results|",
        "|---|---|---|",
        "|Category|Rate|Time|",
        "|Blind|34.5%|1199sec|",
        "|Mobility|95.4%|1416sec|",
    ]


@pytest.mark.parametrize("turns", [1, 2])
def test_a_page_that_lies_wrong_is_turned(recogniser, turns):
    upright = drawn(
        [(30, 30 + 50 * n, text) for n, text in enumerate(("Check the power", "Open the door", "Pull the card"))]
    )
    lying = pixels_of(upright)
    content = encoded(Image.frombytes("L", (lying.width, lying.height), lying.data).rotate(90 * turns, expand=True))

    document = read(content, recogniser, name="photo.png")

    text = "".join(document.markdown().split())
    assert "Checkthepower" in text
    assert text.index("Checkthepower") < text.index("Openthedoor") < text.index("Pullthecard")
