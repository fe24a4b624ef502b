from __future__ import annotations

import re
from io import BytesIO

import pytest
from PIL import Image
from reportlab.lib.enums import TA_JUSTIFY, TA_LEFT
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate

from ragcore.errors import CorruptDocumentError, EmptyDocumentError, PasswordProtectedError
from ragcore.parsing import parse
from tests.ragcore.ocr.drawing import encoded
from tests.ragcore.parsing.build import SONG, lines, pdf_bytes, turned

LEFT = [
    "The left column begins with a line that",
    "fills its width and goes on with more of",
    "the same text until the end of the col-",
    "umn is reached by the patient reader who",
    "wants to know what comes after this one,",
    "and although there is not much to learn",
    "from it, the column needs some more lines",
    "as pages of papers and books have them,",
    "so that nobody takes it for a table with",
    "two long cells that stand in one row.",
]
RIGHT = [
    "Only then does the right column follow,",
    "which again has several lines of text in",
    "a width that is about the same as before",
    "and which would be mixed with the left",
    "one if rows were read across the page, a",
    "mistake that is easy to make because the",
    "lines of both columns often stand on the",
    "same height, as they do here, and a line",
    "of the left one has no full stop at the",
    "end that would tell them apart at once.",
]


def texts(content: bytes) -> list[str]:
    return [block.text for block in parse(content, name="a.pdf").blocks]


def test_two_columns_are_read_one_after_the_other():
    page = [(72, 60, "A title that stands across both of the columns of this page", "Helvetica-Bold", 16)]
    page += lines(LEFT, x=72) + lines(RIGHT, x=320)

    found = texts(pdf_bytes([page]))

    assert found[0].startswith("A title")
    assert found[1].startswith("The left column begins with a line that fills its width and goes on with more of the")
    assert "until the end of the column is reached" in found[1]
    assert found[1].endswith("two long cells that stand in one row.")
    assert found[2].startswith("Only then does the right column follow, which again")
    assert len(found) == 3


def test_a_table_with_long_cells_is_not_taken_for_columns():
    faults = ["The fan does not turn at the start", "The lamp of the unit stays dark", "The unit ends after a minute"]
    causes = ["The fuse F2 of the fan is blown", "There is no voltage at plug X4", "The air filter is full of dust"]
    page = lines([*faults, "The lamp is red all of the time"], x=72)
    page += lines([*causes, "A wire of the sensor is broken"], x=320)

    assert [block.kind for block in parse(pdf_bytes([page]), name="a.pdf").blocks] == ["table"]


def test_short_columns_whose_lines_go_on_are_no_table():
    page = lines(LEFT[5:], x=72) + lines(RIGHT[5:], x=320)
    chinese = [
        "随机接入是终端与基站之间建立上行同步",
        "的过程，它分为基于竞争的随机接入和基",
        "于非竞争的随机接入两种，用于初始接入",
        "和切换等场景，由高层触发。",
    ]

    assert [text.split()[0] for text in texts(pdf_bytes([page]))] == ["and", "mistake"]
    assert texts(pdf_bytes([lines(chinese, x=72) + lines(chinese, x=320)], font=SONG)) == ["".join(chinese)] * 2


def test_chinese_lines_are_joined_without_a_space():
    page = lines(
        [
            "随机接入是终端与基站之间建立上行同步的过程，它分为基于竞争的",
            "随机接入和基于非竞争的随机接入两种，用于初始接入和切换等场景。",
        ]
    )

    assert texts(pdf_bytes([page], font=SONG)) == [
        "随机接入是终端与基站之间建立上行同步的过程，它分为基于竞争的随机接入和基于非竞争的随机接入两种，用于初始接入和切换等场景。"
    ]


def test_headings_are_found_by_size_and_numbering():
    page = [
        (72, 60, "1 Overview", "Helvetica-Bold", 18),
        *lines(["Body text in the usual size, long enough to be the body of this page."] * 3, y=100),
        (72, 160, "1.1 Details", "Helvetica-Bold", 14),
        *lines(["More body text follows in the usual size, and ends with a full stop."] * 3, y=190),
    ]

    document = parse(pdf_bytes([page]), name="a.pdf")

    headings = [(block.text, block.level) for block in document.blocks if block.kind == "heading"]
    assert headings[0] == ("1 Overview", 1)
    assert headings[1][0] == "1.1 Details"
    assert headings[1][1] > 1
    assert document.title == "1 Overview"


@pytest.mark.parametrize("margin", range(72, 330, 60))
@pytest.mark.parametrize("aligned", [TA_LEFT, TA_JUSTIFY])
def test_a_line_that_begins_or_ends_with_bold_words_is_no_heading(margin, aligned):
    marked = (
        "Protect the receiver against water by turning the <b>gasket</b> before the lid is closed; "
        "the <b>torque wrench</b> is used with <b>four</b> newton metres on each of the <b>eight</b> screws "
        "in the order of the picture <b>beside</b> the lid, and <b>then</b> the unit is started <b>twice</b>."
    )
    style = ParagraphStyle("text", alignment=aligned)
    file = BytesIO()
    SimpleDocTemplate(file, rightMargin=margin).build([Paragraph(marked, style)])

    assert texts(file.getvalue()) == [re.sub("</?b>", "", marked)]


def test_headers_footers_and_page_numbers_are_removed():
    pages = [
        [
            (72, 30, "Confidential design guide"),
            *lines([f"Text number {word} of this document."], y=300),
            (290, 820, f"{n}"),
        ]
        for n, word in enumerate(("one", "two", "three", "four"), 1)
    ]

    assert texts(pdf_bytes(pages)) == [
        f"Text number {word} of this document." for word in ("one", "two", "three", "four")
    ]


def test_blocks_have_a_page_and_a_box_from_the_top_left_corner():
    content = pdf_bytes([lines(["First page text."]), lines(["Second page text."], x=72, y=200)])

    document = parse(content, name="a.pdf")

    block = document.blocks[1]
    assert (document.pages, block.page) == (2, 2)
    assert block.box is not None
    assert block.box.x0 == pytest.approx(72, abs=1)
    assert block.box.y0 < 200 < block.box.y1
    assert block.box.y1 - block.box.y0 < 20


# where a text near the top left corner of an A4 page comes to lie when the page is turned clockwise
@pytest.mark.parametrize(
    ("rotate", "corner"), [(90, (842 - 100, 72)), (180, (595 - 72, 842 - 100)), (270, (100, 595 - 72))]
)
def test_boxes_lie_on_the_page_as_it_is_shown(rotate, corner):
    content = pdf_bytes([lines(["Some text on a turned page, long enough."], x=72, y=100)], rotate=rotate)

    block = parse(content, name="a.pdf").blocks[0]

    assert block.text == "Some text on a turned page, long enough."
    box = block.box
    assert box is not None
    assert min(abs(box.x0 - corner[0]), abs(box.x1 - corner[0])) < 12
    assert min(abs(box.y0 - corner[1]), abs(box.y1 - corner[1])) < 12
    assert (box.y1 - box.y0 > box.x1 - box.x0) == (rotate != 180)


def test_a_landscape_page_with_turned_text_is_read_upright():
    target = BytesIO()
    canvas = Canvas(target, pagesize=turned((595, 842)))
    canvas.setPageRotation(90)
    canvas.translate(595, 0)
    canvas.rotate(90)
    for n, line in enumerate(LEFT):
        canvas.drawString(100, 500 - 14 * n, line)
    canvas.save()

    blocks = parse(target.getvalue(), name="a.pdf").blocks

    assert blocks[0].text.startswith("The left column begins")
    assert blocks[0].box is not None
    assert blocks[0].box.x0 == pytest.approx(100, abs=2)
    assert blocks[0].box.y0 < 595 - 500 < blocks[0].box.y1


def test_aligned_cells_become_a_table_with_whole_rows():
    rows = [("Item", "2022", "2023"), ("Net sales", "$ 1,200", "1,350"), ("Cost", "800", "870")]
    page = [(x, 100 + 16 * n, text) for n, row in enumerate(rows) for x, text in zip((72, 250, 350), row, strict=True)]

    blocks = parse(pdf_bytes([page]), name="a.pdf").blocks

    assert [block.kind for block in blocks] == ["table"]
    assert blocks[0].text.split("\n")[2:] == ["| Net sales | $ 1,200 | 1,350 |", "| Cost | 800 | 870 |"]


def test_bullets_become_a_list():
    page = lines(["• first item of the list", "• second item of the list"])

    blocks = parse(pdf_bytes([page]), name="a.pdf").blocks

    assert [(block.kind, block.text) for block in blocks] == [
        ("list", "- first item of the list\n- second item of the list")
    ]


def test_a_paragraph_that_runs_over_the_page_end_is_one():
    first = lines(["This paragraph begins on one page and is not over at the end of it, because it"], y=780)
    second = lines(["continues on the following page, where it finds its end after a few words."], y=60)

    assert len(texts(pdf_bytes([first, second]))) == 1


def test_a_range_that_runs_over_the_page_end_is_one():
    first = lines(["85 points and more are grade A, and for the second one of the grades it takes 70–"], y=780)
    second = lines(["84 points are grade B."], y=60)

    (text,) = texts(pdf_bytes([first, second]))

    assert text.endswith(" it takes 70–84 points are grade B.")


def test_text_across_the_page_is_dropped():
    target = BytesIO()
    canvas = Canvas(target)
    for n, line in enumerate(LEFT):
        canvas.drawString(100, 700 - 14 * n, line)
    canvas.rotate(90)
    canvas.drawString(300, -30, "arXiv stamp")
    canvas.save()

    assert "stamp" not in " ".join(texts(target.getvalue()))


def scan(*pages: str, share: float = 1.0) -> bytes:
    """A PDF of pages that a picture covers, with a text on top of it where one is given."""
    target = BytesIO()
    canvas = Canvas(target, pagesize=(600, 800))
    for text in pages:
        canvas.drawImage(ImageReader(BytesIO(encoded(Image.new("L", (30, 40), "grey")))), 0, 0, 600, 800 * share)
        canvas.drawString(100, 700, text)
        canvas.showPage()
    canvas.save()
    return target.getvalue()


def test_pages_that_are_pictures_are_left_for_character_recognition():
    document = parse(scan("", ""), name="scan.pdf")

    assert (document.blocks, document.unread_pages, document.pages) == ((), (1, 2), 2)


def test_a_scan_with_a_stamp_is_still_unread_and_one_with_a_text_layer_is_not():
    document = parse(
        scan("Received 3 May", "A text layer that someone put over the picture of the page " * 2), name="a.pdf"
    )

    assert document.unread_pages == (1,)
    assert any("text layer" in block.text for block in document.blocks)


def test_a_text_layer_without_meaning_is_unread():
    document = parse(with_private_glyphs("some words of a page that is long enough"), name="a.pdf")

    assert (document.blocks, document.unread_pages) == ((), (1,))


def with_private_glyphs(text: str) -> bytes:
    """A page whose font maps all letters to the private use area, as symbol fonts and scrambled files do."""
    entries = "\n".join(f"<{code:02x}> <{0xE000 + code:04x}>" for code in range(32, 127))
    mapping = f"1 begincodespacerange <00> <ff> endcodespacerange 95 beginbfchar\n{entries}\nendbfchar"
    drawing = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET"
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R"
        " /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(drawing)} >> stream\n{drawing}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
        f"<< /Length {len(mapping)} >> stream\n{mapping}\nendstream",
    )
    body = "\n".join(f"{number} 0 obj {content} endobj" for number, content in enumerate(objects, 1))
    return f"%PDF-1.7\n{body}\ntrailer << /Root 1 0 R /Size 7 >>\n%%EOF".encode()


def test_blank_pages_are_an_empty_document():
    with pytest.raises(EmptyDocumentError):
        parse(pdf_bytes([[], []]), name="a.pdf")


def test_an_encrypted_file_says_so():
    with pytest.raises(PasswordProtectedError):
        parse(pdf_bytes([lines(["secret"])], encrypt="open sesame"), name="a.pdf")


def test_a_broken_file_is_corrupt():
    with pytest.raises(CorruptDocumentError):
        parse(b"%PDF-1.7\n" + b"garbage " * 100, name="a.pdf")


def test_the_declared_title_wins_unless_a_program_made_it():
    page = [
        (72, 60, "The real title", "Helvetica-Bold", 18),
        *lines(["Body text of the page in the usual size."], y=100),
    ]

    assert parse(pdf_bytes([page], title="Radio planning"), name="a.pdf").title == "Radio planning"
    assert parse(pdf_bytes([page], title="report_final.docx"), name="a.pdf").title == "The real title"
    assert parse(pdf_bytes([page], title="(anonymous)"), name="a.pdf").title == "The real title"
