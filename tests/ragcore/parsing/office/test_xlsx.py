from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from io import BytesIO

import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.comments import Comment
from openpyxl.drawing.image import Image
from openpyxl.styles import Font

from ragcore.errors import EmptyDocumentError, ResourceLimitError, UnsafeArchiveError
from ragcore.parsing import parse
from ragcore.parsing.office import xlsx
from ragcore.parsing.office.number_formats import display, display_text
from tests.ragcore.parsing.build import part, with_part
from tests.ragcore.parsing.office_build import png_bytes, xlsx_bytes


def fill(sheet, rows, *, top=1, left=1):
    for down, row in enumerate(rows):
        for right, value in enumerate(row):
            if value is not None:
                sheet.cell(top + down, left + right, value)


def sheet_blocks(*rows, merge=()) -> list[tuple[str, str]]:
    def write(workbook):
        fill(workbook.active, rows)
        for cells in merge:
            workbook.active.merge_cells(cells)

    return [(block.kind, block.text) for block in parse(xlsx_bytes(write), name="a.xlsx").blocks][1:]


def test_every_sheet_is_a_heading_and_its_table_hidden_ones_too():
    def write(workbook):
        workbook.active.title = "费用"
        fill(workbook.active, [("职务", "标准"), ("经理", 800)], top=3, left=2)
        hidden = workbook.create_sheet("Codes")
        hidden.sheet_state = "hidden"
        fill(hidden, [("Code", "Name"), ("A", "Alpha")])
        workbook.create_sheet("Nothing")

    document = parse(xlsx_bytes(write), name="a.xlsm")

    assert [block.markdown() for block in document.blocks] == [
        "# 费用",
        "| 职务 | 标准 |\n| --- | --- |\n| 经理 | 800 |",
        "# Codes",
        "| Code | Name |\n| --- | --- |\n| A | Alpha |",
    ]


def test_merged_cells_are_filled_and_a_header_of_two_rows_becomes_one():
    found = sheet_blocks(
        ("Area", "2023", None),
        (None, "Q1", "Q2"),
        ("North", 1, 2),
        (None, 3, 4),
        merge=["A1:A2", "B1:C1", "A3:A4"],
    )

    assert found == [
        ("table", "| Area | 2023 / Q1 | 2023 / Q2 |\n| --- | --- | --- |\n| North | 1 | 2 |\n| North | 3 | 4 |")
    ]


def test_titles_above_a_table_and_remarks_below_it_are_paragraphs():
    found = sheet_blocks(
        ("差旅费报销标准", None),
        ("职务", "标准"),
        ("经理", 800),
        ("职员", 500),
        ("注：以上均为每日标准。", None),
        merge=["A1:B1"],
    )

    assert [kind for kind, _ in found] == ["paragraph", "table", "paragraph"]
    assert found[0][1] == "差旅费报销标准"
    assert found[2][1] == "注：以上均为每日标准。"


def test_a_line_about_the_table_above_its_header_is_a_paragraph():
    found = sheet_blocks(
        ("Department: Network", None, None, None, "Unit: EUR"),
        ("No", "Item", "Plan", "Spent", "Left"),
        (1, "Power", 100, 80, 20),
    )

    assert found[0] == ("paragraph", "Department: Network  Unit: EUR")
    assert found[1][1].startswith("| No | Item | Plan | Spent | Left |")


def test_an_empty_row_before_another_header_separates_two_tables():
    found = sheet_blocks(("Name", "Load"), ("a", 1), (None, None), ("Site", "Power"), ("x", 5), ("y", 6))

    assert [text.split("\n")[0] for _, text in found] == ["| Name | Load |", "| Site | Power |"]


def test_rows_after_an_empty_row_without_a_header_belong_to_the_table_above():
    found = sheet_blocks(("Name", "Load"), ("a", 1), (None, None), ("b", 2), ("Total", 3))

    assert found == [("table", "| Name | Load |\n| --- | --- |\n| a | 1 |\n| b | 2 |\n| Total | 3 |")]


def test_tables_beside_each_other_with_different_rows_are_two():
    found = sheet_blocks(("A", "B", None, "C", "D"), (1, 2, None, 3, 4), (5, 6, None, None, None))

    assert [text.split("\n")[0] for _, text in found] == ["| A | B |", "| C | D |"]


def test_an_empty_column_inside_a_table_keeps_labels_and_values_together():
    ((_, text),) = sheet_blocks(("Item", None, "Q1", "Q2"), ("Load", None, 1, 2))

    assert "| Load | 1 | 2 |" in text


def test_a_formula_without_a_value_is_shown_itself_and_counted():
    document = parse(xlsx_bytes(lambda workbook: fill(workbook.active, [("a", "sum"), (1, "=A2+1")])), name="a.xlsx")

    assert document.blocks[-1].text.endswith("| 1 | `=A2+1` |")
    assert document.metadata["formulas_without_value"] == "1"


def test_pictures_on_a_sheet_follow_its_tables():
    def write(workbook):
        fill(workbook.active, [("a", "b"), (1, 2)])
        workbook.active.add_image(Image(BytesIO(png_bytes())), "D4")

    document = parse(xlsx_bytes(write), name="a.xlsx")

    (picture,) = document.pictures
    assert document.blocks[-1].text == f"![](picture:{picture.name})"


def test_a_workbook_with_more_cells_than_allowed_is_refused_not_cut(monkeypatch):
    monkeypatch.setattr(xlsx, "MAX_CELLS", 3)

    with pytest.raises(ResourceLimitError):
        sheet_blocks(("a", "b"), (1, 2))


def test_a_workbook_without_a_single_value_is_empty():
    with pytest.raises(EmptyDocumentError):
        parse(xlsx_bytes(lambda workbook: None), name="a.xlsx")


def test_entities_are_refused_before_a_library_sees_them():
    content = xlsx_bytes(lambda workbook: fill(workbook.active, [("text", "more")]))
    bomb = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;">]>'
    workbook = part(content, "xl/workbook.xml")

    with pytest.raises(UnsafeArchiveError):
        parse(with_part(content, "xl/workbook.xml", bomb + workbook), name="a.xlsx")


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (800, "General", "800"),
        (800.0, "General", "800"),
        (0.1 + 0.2, "General", "0.3"),
        (1e20, "General", "1e+20"),
        (0.000012, "General", "0.000012"),
        (0.125, "0.0%", "12.5%"),
        (0.125, "0%", "13%"),
        (1234.5, "#,##0.00", "1,234.50"),
        (-1234.5, "#,##0.00_);[Red](#,##0.00)", "-1,234.50"),
        (1234.5, '_ "¥"* #,##0.00_ ;_ "¥"* -#,##0.00_ ;_ "¥"* "-"??_ ;_ @_ ', "¥1,234.50"),
        (99.9, "[$€-2] #,##0.00", "€ 99.90"),
        (3, '0"元"', "3元"),
        (12345678, '0.0,,"M"', "12.3M"),
        (1.5, "0.##", "1.5"),
        (2, "0.##", "2"),
        (0.5, "# ?/?", "0.5"),
        (1.5e-7, "0.00E+00", "1.50E-07"),
        (48, "0.0E-0", "4.8E1"),
        (5, "00000", "00005"),
        (True, "General", "TRUE"),
        (None, "General", ""),
        (datetime(2024, 3, 5), "mm-dd-yy", "2024-03-05"),
        (datetime(2024, 3, 5, 14, 30), "yyyy-mm-dd hh:mm", "2024-03-05 14:30"),
        (datetime(2024, 3, 5), 'yyyy"年"m"月"d"日"', "2024年3月5日"),
        (datetime(2024, 3, 5), 'yyyy"年"m"月"', "2024年3月"),
        (datetime(2024, 3, 1), "mmm-yy", "2024-03"),
        (date(2024, 3, 5), "General", "2024-03-05"),
        (time(9, 5), "h:mm", "09:05"),
        (timedelta(hours=26, minutes=30), "[h]:mm", "26:30"),
    ],
)
def test_values_are_shown_as_the_number_format_says(value, code, shown):
    assert display(value, code) == shown


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (1, '[=1]"yes";[=0]"no"', "yes"),
        (0, '[=1]"是";[=0]"否"', "否"),
        (59, '[>=60]"合格";"不合格"', "不合格"),
        (0, '#,##0;-#,##0;"none"', "none"),
        (0, '_ * #,##0_ ;_ * -#,##0_ ;_ * "-"_ ;_ @_ ', "0"),
        (-5, '"profit "0;"loss "0', "loss 5"),
        (0, "0;-0;;@", ""),
        (5, 'General"天"', "5天"),
        (123456, r'0\.0,"万元"', "12.3万元"),
        (13812345678, "000-0000-0000", "138-1234-5678"),
        (12, '"KX-"0000', "KX-0012"),
    ],
)
def test_words_and_groups_of_a_number_format_are_shown(value, code, shown):
    assert display(value, code) == shown


def test_a_text_stands_between_the_words_of_its_format():
    assert [display_text("A7", code) for code in ('"No. "@', '0;-0;0;"No. "@', "General", "_ @_ ")] == [
        "No. A7",
        "No. A7",
        "A7",
        "A7",
    ]


def cells_of(content: bytes) -> str:
    return parse(content, name="a.xlsx").blocks[-1].text


def simple() -> bytes:
    return xlsx_bytes(lambda workbook: fill(workbook.active, [("part", "place"), ("6205-2RS", "B-14")]))


@pytest.mark.parametrize(
    "styles",
    [
        b"<fills count='1'><fill/></fills>",
        b"<fills count='1'><fill><patternFill><fgColor rgb='#DDEEFF'/></patternFill></fill></fills>",
        b"<fonts count='1'><font><family val='99'/><sz val='large'/></font></fonts>",
        b"<cellXfs count='1'><xf numFmtId='9999' fontId='x'/></cellXfs>",
        b"<numFmts><numFmt numFmtId='200'/></numFmts>",
    ],
)
def test_odd_styles_do_not_keep_a_workbook_from_being_read(styles):
    data = b'<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">' + styles + b"</styleSheet>"

    assert "| 6205-2RS | B-14 |" in cells_of(with_part(simple(), "xl/styles.xml", data))


@pytest.mark.parametrize("broken", ["xl/styles.xml", "docProps/core.xml", "xl/theme/theme1.xml"])
def test_broken_parts_beside_the_cells_are_left_out(broken):
    assert "| 6205-2RS | B-14 |" in cells_of(with_part(simple(), broken, b"<broken"))


def test_odd_dates_of_the_file_do_not_matter():
    core = part(simple(), "docProps/core.xml")
    odd = re.sub(rb"(<dcterms:created[^>]*>)[^<]*", rb"\g<1>yesterday", core)

    assert "| 6205-2RS | B-14 |" in cells_of(with_part(simple(), "docProps/core.xml", odd))


def test_the_strict_form_of_the_standard_is_read_with_its_dates():
    content = simple()
    sheet = (
        b'<worksheet xmlns="http://purl.oclc.org/ooxml/spreadsheetml/main"><sheetData>'
        b'<row r="1"><c r="A1" t="inlineStr"><is><t>day</t></is></c><c r="B1" t="inlineStr"><is><t>n</t></is></c></row>'
        b'<row r="2"><c r="A2" t="d"><v>2026-03-05</v></c><c r="B2"><v>7</v></c></row></sheetData></worksheet>'
    )
    for name in ("xl/workbook.xml", "xl/_rels/workbook.xml.rels", "_rels/.rels"):
        data = part(content, name)
        data = data.replace(
            b"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
            b"http://purl.oclc.org/ooxml/spreadsheetml/main",
        ).replace(
            b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
            b"http://purl.oclc.org/ooxml/officeDocument/relationships",
        )
        content = with_part(content, name, data)

    assert "| 2026-03-05 | 7 |" in cells_of(with_part(content, "xl/worksheets/sheet1.xml", sheet))


def test_notes_stand_with_their_cells():
    def write(workbook):
        fill(workbook.active, [("date", "night"), ("1 May", "group B"), ("2 May", None)])
        workbook.active["B2"].comment = Comment("Wei:\ncovered by\nHe Jun", "Wei")
        workbook.active["B3"].comment = Comment("尚未安排", "x")

    assert cells_of(xlsx_bytes(write)).endswith("| 1 May | group B (covered by He Jun) |\n| 2 May | （尚未安排） |")


def test_text_boxes_over_a_sheet_follow_its_table():
    def write(workbook):
        fill(workbook.active, [("a", "b"), (1, 2)])
        workbook.active.add_image(Image(BytesIO(png_bytes())), "D4")

    content = xlsx_bytes(write)
    box = (
        b'<xdr:sp xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" '
        b'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><xdr:txBody><a:bodyPr/>'
        b"<a:p><a:r><a:t>Register two days ahead, at most 10</a:t></a:r>"
        b'<a:r><a:rPr baseline="30000"/><a:t>3</a:t></a:r></a:p>'
        b"</xdr:txBody></xdr:sp>"
    )
    drawing = part(content, "xl/drawings/drawing1.xml")
    end = drawing.rindex(b"</")

    document = parse(with_part(content, "xl/drawings/drawing1.xml", drawing[:end] + box + drawing[end:]), name="a.xlsx")

    assert document.blocks[-1].text == "Register two days ahead, at most 10^3"


def test_raised_figures_of_a_cell_are_told_apart():
    def write(workbook):
        raised = TextBlock(InlineFont(vertAlign="superscript"), "6")
        fill(workbook.active, [("limit", "unit"), (CellRichText("10", raised), "Ω")])

    assert "| 10^6 | Ω |" in cells_of(xlsx_bytes(write))


def test_formulas_that_share_one_have_their_own_references():
    rows = (
        b'<row r="1"><c r="A1" t="str"><v>n</v></c><c r="B1" t="str"><v>twice</v></c></row>'
        b'<row r="2"><c r="A2"><v>1</v></c><c r="B2"><f t="shared" ref="B2:B3" si="0">A2*2</f></c></row>'
        b'<row r="3"><c r="A3"><v>2</v></c><c r="B3"><f t="shared" si="0"/></c></row>'
        b'<row r="4"><c r="A4"><v>3</v></c><c r="B4" t="str"><f>""</f><v></v></c></row>'
    )
    sheet = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%s</sheetData></worksheet>'

    text = cells_of(with_part(simple(), "xl/worksheets/sheet1.xml", sheet % rows))

    assert text.split("\n")[2:] == ["| 1 | `=A2*2` |", "| 2 | `=A3*2` |", "| 3 |  |"]


def test_the_address_of_a_link_is_kept():
    def write(workbook):
        fill(workbook.active, [("manual", "n"), ("pump", 1)])
        workbook.active["A2"].hyperlink = "https://intranet.example/m?id=7"

    assert "| [pump](https://intranet.example/m?id=7) | 1 |" in cells_of(xlsx_bytes(write))


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        ('=HYPERLINK("https://intranet.example/m?id=7","pump")', "[pump](https://intranet.example/m?id=7)"),
        ('=HYPERLINK("https://intranet.example/m")', "https://intranet.example/m"),
        ('=HYPERLINK(A1,"pump")', '`=HYPERLINK(A1,"pump")`'),
    ],
)
def test_a_link_that_a_formula_makes_is_shown_by_its_words(formula, shown):
    assert f"| {shown} | 1 |" in cells_of(
        xlsx_bytes(lambda workbook: fill(workbook.active, [("manual", "n"), (formula, 1)]))
    )


def test_struck_cells_and_struck_words_of_a_cell_are_marked_so():
    def write(workbook):
        sheet = workbook.active
        old, new = TextBlock(InlineFont(strike=True), "40 W"), TextBlock(InlineFont(), " 46 W")
        fill(sheet, [("part", "limit"), ("P1", 40), ("P2", CellRichText(old, new))])
        sheet["B2"].font = Font(strike=True)

    assert "| P1 | ~~40~~ |\n| P2 | ~~40 W~~ 46 W |" in cells_of(xlsx_bytes(write))
