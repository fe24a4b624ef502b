from __future__ import annotations

from io import BytesIO
from zipfile import ZipFile

import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.oxml import parse_xml
from pptx.util import Inches

from ragcore.errors import CorruptDocumentError, EmptyDocumentError, PasswordProtectedError
from ragcore.parsing import parse
from ragcore.parsing.office.graphics import diagram_list
from ragcore.parsing.office.pptx import Placed, reading_order
from ragcore.parsing.office.xml import read_xml
from tests.ragcore.parsing.office_build import png_bytes, pptx_bytes, zip_bytes

A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
DGM = 'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
MC = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
TITLE_ONLY, TITLE_AND_CONTENT, BLANK = 5, 1, 6


def add_slide(presentation, layout=BLANK, title=""):
    slide = presentation.slides.add_slide(presentation.slide_layouts[layout])
    if title:
        slide.shapes.title.text = title
    return slide


def add_text(slide, text, *, left=1.0, top=1.0, width=2.0, height=0.5):
    box = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(width), Inches(height))
    box.text_frame.text = text
    return box


def blocks(content: bytes) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in parse(content, name="a.pptx").blocks]


def test_each_slide_is_a_heading_with_its_content_and_its_notes_on_its_page():
    def write(presentation):
        first = add_slide(presentation, TITLE_AND_CONTENT, "Handover")
        first.placeholders[1].text = "one\ntwo"
        first.placeholders[1].text_frame.paragraphs[1].level = 1
        first.notes_slide.notes_text_frame.text = "Mind the\ntimer."
        add_text(add_slide(presentation), "第二页的文字")

    document = parse(pptx_bytes(write), name="a.pptx")

    assert [(block.kind, block.text, block.page) for block in document.blocks] == [
        ("heading", "Handover", 1),
        ("list", "- one\n  - two", 1),
        ("paragraph", "Notes: Mind the timer.", 1),
        ("heading", "第 2 页", 2),
        ("paragraph", "第二页的文字", 2),
    ]
    assert (document.title, document.pages) == ("Handover", 2)


def test_hidden_slides_are_read_too():
    def write(presentation):
        add_slide(presentation, TITLE_ONLY, "Shown")
        add_slide(presentation, TITLE_ONLY, "Hidden")._element.set("show", "0")

    assert blocks(pptx_bytes(write)) == [("heading", "Shown"), ("heading", "Hidden")]


def test_a_slide_with_nothing_on_it_leaves_nothing():
    def write(presentation):
        add_slide(presentation)
        add_text(add_slide(presentation), "Hall 4")

    assert blocks(pptx_bytes(write)) == [("heading", "Slide 2"), ("paragraph", "Hall 4")]
    with pytest.raises(EmptyDocumentError):
        parse(pptx_bytes(add_slide), name="a.pptx")


def test_numbered_paragraphs_count_and_others_have_no_mark():
    def write(presentation):
        box = add_text(add_slide(presentation, TITLE_ONLY, "Steps"), "Before\nfirst\nsecond\nAfter")
        for paragraph in box.text_frame.paragraphs[1:3]:
            paragraph._p.get_or_add_pPr().append(parse_xml(f'<a:buAutoNum {A} type="arabicPeriod"/>'))

    assert blocks(pptx_bytes(write))[1:] == [
        ("paragraph", "Before"),
        ("list", "1. first\n2. second"),
        ("paragraph", "After"),
    ]


def test_merged_cells_of_tables_are_filled():
    def write(presentation):
        slide = add_slide(presentation, TITLE_ONLY, "Limits")
        table = slide.shapes.add_table(3, 3, Inches(1), Inches(2), Inches(6), Inches(2)).table
        for number, cell in enumerate(table.iter_cells()):
            cell.text = str(number)
        table.cell(1, 0).merge(table.cell(2, 0))
        table.cell(1, 0).text = "tall"

    assert blocks(pptx_bytes(write))[1:] == [
        ("table", "| 0 | 1 | 2 |\n| --- | --- | --- |\n| tall | 4 | 5 |\n| tall | 7 | 8 |")
    ]


def test_a_chart_is_a_table_of_its_categories_and_series():
    def write(presentation):
        data = CategoryChartData(number_format="0.0%")
        data.categories = ["Q1", "Q2"]
        data.add_series("North", (0.125, 0.5))
        data.add_series("South", (0.25, None))
        slide = add_slide(presentation, TITLE_ONLY, "Load")
        chart = slide.shapes.add_chart(
            XL_CHART_TYPE.COLUMN_CLUSTERED, Inches(1), Inches(2), Inches(6), Inches(3), data
        ).chart
        chart.has_title = True
        chart.chart_title.text_frame.text = "Load by quarter"

    assert blocks(pptx_bytes(write))[1:] == [
        ("paragraph", "Load by quarter"),
        ("table", "|  | North | South |\n| --- | --- | --- |\n| Q1 | 12.5% | 25.0% |\n| Q2 | 50.0% |  |"),
    ]


def test_pictures_inside_groups_are_kept_once_with_their_page():
    png = png_bytes()

    def write(presentation):
        for _ in range(2):
            group = add_slide(presentation).shapes.add_group_shape()
            picture = group.shapes.add_picture(BytesIO(png), Inches(1), Inches(1))
            picture._element.nvPicPr.cNvPr.set("descr", "Antenna")

    document = parse(pptx_bytes(write), name="a.pptx")

    (picture,) = document.pictures
    assert (picture.content, picture.page, picture.alt) == (png, 1, "Antenna")
    assert [b.text for b in document.blocks if b.kind == "image"] == [f"![Antenna](picture:{picture.name})"] * 2


def test_dates_footers_and_slide_numbers_are_left_out():
    def write(presentation):
        slide = add_slide(presentation, TITLE_ONLY, "Scope")
        footer = next(p for p in slide.slide_layout.placeholders if p.placeholder_format.type.name == "FOOTER")
        slide.shapes.clone_placeholder(footer)
        slide.placeholders[footer.placeholder_format.idx].text = "Company confidential"

    assert blocks(pptx_bytes(write)) == [("heading", "Scope")]


def test_shapes_that_newer_programs_wrap_in_alternatives_are_read_once():
    def write(presentation):
        box = add_text(add_slide(presentation), "x = 1")
        shape = box._element
        parent = shape.getparent()
        wrapper = parse_xml(
            f"<mc:AlternateContent {MC}><mc:Choice Requires='a14'/><mc:Fallback/></mc:AlternateContent>"
        )
        parent.replace(shape, wrapper)
        wrapper[0].append(shape)

    assert blocks(pptx_bytes(write))[1:] == [("paragraph", "x = 1")]


def test_columns_that_a_wide_gap_divides_are_read_one_after_the_other():
    left = [Placed(shape=f"l{n}", x0=0, y0=n * 11, x1=40, y1=n * 11 + 10) for n in range(3)]
    right = [Placed(shape=f"r{n}", x0=60, y0=n * 11, x1=100, y1=n * 11 + 10) for n in range(3)]
    head = Placed(shape="head", x0=0, y0=-60, x1=100, y1=-30)

    assert reading_order([*right, head, *left]) == ["head", "l0", "l1", "l2", "r0", "r1", "r2"]


def test_overlapping_boxes_are_read_from_the_top():
    boxes = [Placed(shape=n, x0=0, y0=10 - n, x1=50, y1=60 - n) for n in range(3)]

    assert reading_order(boxes) == [2, 1, 0]


def test_the_nodes_of_a_diagram_are_a_nested_list_and_circles_end():
    def point(key, text, kind="node"):
        return f'<dgm:pt modelId="{key}" type="{kind}"><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>'

    points = point("0", "", "doc") + point("1", "Core") + point("2", "AMF") + point("3", "Radio")
    links = "".join(
        f'<dgm:cxn modelId="c{n}" srcId="{s}" destId="{d}" srcOrd="{o}"/>'
        for n, (s, d, o) in enumerate([("0", "3", 1), ("0", "1", 0), ("1", "2", 0), ("2", "1", 0)])
    )
    lists = f"<dgm:ptLst>{points}</dgm:ptLst><dgm:cxnLst>{links}</dgm:cxnLst>"
    root = read_xml(f"<dgm:dataModel {DGM} {A}>{lists}</dgm:dataModel>".encode())

    assert diagram_list(root).split("\n")[:2] == ["- Core", "  - AMF"]
    assert diagram_list(root).endswith("- Radio")


def test_a_truncated_presentation_is_corrupt_and_an_encrypted_one_says_so():
    content = pptx_bytes(add_slide)

    with pytest.raises(CorruptDocumentError):
        parse(content[: len(content) // 2], name="a.pptx")
    with pytest.raises(PasswordProtectedError):
        parse(bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le"), name="a.pptx")


def test_numbers_raised_figures_and_links_are_as_the_slide_shows_them():
    def write(presentation):
        slide = add_slide(presentation)
        box = add_text(slide, "one\ntwo\nthree")
        for paragraph, kind in zip(
            box.text_frame.paragraphs, ("circleNumDbPlain", "ea1ChsPeriod", "alphaLcParenR"), strict=True
        ):
            properties = paragraph._p.get_or_add_pPr()
            properties.append(parse_xml(f'<a:buAutoNum {A} type="{kind}"/>'))
        other = add_text(slide, "not over 10", top=3.0)
        run = other.text_frame.paragraphs[0].add_run()
        run.text = "6"
        run.font._element.set("baseline", "30000")
        link = add_text(slide, "", top=5.0).text_frame.paragraphs[0].add_run()
        link.text, link.hyperlink.address = "manual", "https://example.com/m"

    assert [text for _, text in blocks(pptx_bytes(write))][1:] == [
        "① one\n二. two\nc) three",
        "not over 10^6",
        "[manual](https://example.com/m)",
    ]


def test_a_presentation_with_missing_parts_in_the_strict_form_is_read():
    content = pptx_bytes(lambda presentation: add_text(add_slide(presentation), "The oil is L-HM46."))
    with ZipFile(BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    gone = b'<Relationship Id="rId99" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/image" '
    name = "ppt/slides/_rels/slide1.xml.rels"
    members[name] = members[name].replace(b"</Relationships>", gone + b'Target="NULL"/></Relationships>')
    for name, data in members.items():
        if name.endswith((".xml", ".rels")):
            for kind in (b"presentationml/2006/main", b"drawingml/2006/main", b"officeDocument/2006/relationships"):
                strict = kind.replace(b"2006/", b"")
                data = data.replace(
                    b"http://schemas.openxmlformats.org/" + kind, b"http://purl.oclc.org/ooxml/" + strict
                )
            members[name] = data

    assert ("paragraph", "The oil is L-HM46.") in blocks(zip_bytes(members))


def test_words_that_are_struck_through_are_marked_so():
    def write(presentation):
        line = add_text(add_slide(presentation), "").text_frame.paragraphs[0]
        line.add_run().text = "limit 40 W"
        line.runs[0].font._element.set("strike", "sngStrike")
        line.add_run().text = " 46 W"

    assert blocks(pptx_bytes(write))[-1] == ("paragraph", "~~limit 40 W~~ 46 W")
