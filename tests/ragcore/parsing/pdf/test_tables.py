"""Tables of PDFs: ruled, partly ruled, not ruled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO

from hypothesis import given
from hypothesis import strategies as st
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from ragcore.parsing import parse
from ragcore.parsing.pdf.aligned_tables import repeat_header
from ragcore.parsing.pdf.ruled_tables import find_grids, split_lines
from ragcore.types import Block
from tests.ragcore.parsing.build import lines, pdf_bytes

Cell = tuple[float, float, float, float, str]  # x, y, width, height from the top left corner, text


def drawn(draw: Callable[[Canvas], None]) -> bytes:
    target = BytesIO()
    canvas = Canvas(target)
    canvas.setFont("Helvetica", 10)
    draw(canvas)
    canvas.save()
    return target.getvalue()


def boxes(cells: Sequence[Cell]) -> Callable[[Canvas], None]:
    """Cells with frames; the lines of a text stand under each other."""

    def draw(canvas: Canvas) -> None:
        for x, y, width, height, text in cells:
            canvas.rect(x, A4[1] - y - height, width, height)
            for n, line in enumerate(text.split("\n")):
                canvas.drawString(x + 3, A4[1] - y - 11 - 12 * n, line)

    return draw


def tables(content: bytes) -> list[Block]:
    return [block for block in parse(content, name="a.pdf").blocks if block.kind == "table"]


def rows(block: Block) -> list[list[str]]:
    said = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.text.split("\n")]
    return said[:1] + said[2:]


def test_a_ruled_table_keeps_its_cells_however_close_they_stand():
    cells = [(72 + 60 * c, 100 + 16 * r, 60, 16, f"row {r} col {c}") for r in range(3) for c in range(4)]

    (table,) = tables(drawn(boxes(cells)))

    assert rows(table) == [[f"row {r} col {c}" for c in range(4)] for r in range(3)]
    assert table.box is not None
    assert (table.box.x0, table.box.y0, table.box.x1, table.box.y1) == (72, 100, 312, 148)


def test_merged_cells_are_filled_and_wrapped_ones_are_one_line():
    cells = [
        (72, 100, 80, 32, "Category"),
        (152, 100, 160, 16, "Results"),
        (152, 116, 80, 16, "Accuracy"),
        (232, 116, 80, 16, "Time"),
        (72, 132, 80, 32, "Low\nvision"),
        (152, 132, 80, 32, "98 %"),
        (232, 132, 80, 32, "1716 sec"),
    ]

    (table,) = tables(drawn(boxes(cells)))

    assert rows(table) == [
        ["Category", "Results", "Results"],
        ["Category", "Accuracy", "Time"],
        ["Low vision", "98 %", "1716 sec"],
    ]


def test_rows_without_rulings_between_ruled_columns_are_kept_apart():
    head = [(72 + 100 * c, 100, 100, 16, text) for c, text in enumerate(("Item", "2023", "2024"))]
    body = [
        (72 + 100 * c, 116, 100, 60, text)
        for c, text in enumerate(("Sales\nCost\nTax\nProfit", "10\n8\n1\n1", "12\n9\n1\n2"))
    ]

    (table,) = tables(drawn(boxes(head + body)))

    assert rows(table)[1:] == [["Sales", "10", "12"], ["Cost", "8", "9"], ["Tax", "1", "1"], ["Profit", "1", "2"]]


def test_headings_over_columns_that_only_the_body_rules_stand_in_their_columns():
    cells = [(72, 100, 80, 16, "Region"), (152, 100, 120, 16, "")]
    cells += [
        (x, 116 + 16 * r, w, 16, f"{r}{w:.0f}{x:.0f}") for r in range(3) for x, w in ((72, 80), (152, 60), (212, 60))
    ]

    def draw(canvas: Canvas) -> None:
        boxes(cells)(canvas)
        canvas.drawString(165, A4[1] - 111, "Hand")
        canvas.drawString(215, A4[1] - 111, "Long")

    (table,) = tables(drawn(draw))

    assert rows(table)[0] == ["Region", "Hand", "Long"]


def test_a_title_in_a_frame_above_the_columns_is_no_row():
    cells = [(72, 100, 200, 20, "Sales of the year")]
    cells += [(72 + 100 * c, 120 + 16 * r, 100, 16, f"r{r}c{c}") for r in range(3) for c in range(2)]

    blocks = parse(drawn(boxes(cells)), name="a.pdf").blocks

    assert [block.kind for block in blocks] == ["paragraph", "table"]
    assert blocks[0].text == "Sales of the year"


def test_a_frame_around_text_is_no_table():
    content = drawn(boxes([(60, 90, 400, 60, "A remark that someone framed\nbecause it matters a lot.")]))

    assert tables(content) == []


def test_a_table_stands_where_it_is_in_the_text():
    def draw(canvas: Canvas) -> None:
        canvas.drawString(72, 780, "Words above the table, as they introduce what follows.")
        boxes([(72 + 90 * c, 100 + 16 * r, 90, 16, f"r{r}c{c}") for r in range(3) for c in range(3)])(canvas)
        canvas.drawString(72, 640, "Words below the table, which end the page.")

    kinds = [(block.kind, block.text[:11]) for block in parse(drawn(draw), name="a.pdf").blocks]

    assert kinds == [("paragraph", "Words above"), ("table", "| r0c0 | r0"), ("paragraph", "Words below")]


def test_numbers_that_nearly_touch_are_told_apart_by_the_rows_around_them():
    values = [
        ("Alabama", "22,650", "859"),
        ("Alaska", "3,209", "191"),
        ("Arizona", "9,041", "707"),
        ("Idaho", "527", "90"),
    ]
    page = [
        (x, 100 + 14 * n, text) for n, row in enumerate(values) for x, text in zip((72, 200, 236), row, strict=True)
    ]

    (table,) = tables(pdf_bytes([page]))

    assert rows(table) == [list(row) for row in values]


def test_a_label_over_two_lines_is_put_back_to_its_row():
    values = [
        ("Sales", "10", "12"),
        ("Cost", "8", "9"),
        ("Profit", "2", "3"),
        ("Margin", "20", "25"),
        ("Other", "1", "1"),
    ]
    page = [
        (x, 100 + 20 * n, text) for n, row in enumerate(values) for x, text in zip((72, 200, 280), row, strict=True)
    ]
    page += [(72, 203, "Return on"), (200, 209, "14"), (280, 209, "18"), (72, 215, "equity")]
    page += [(x, 235, text) for x, text in zip((72, 200, 280), ("Last", "5", "6"), strict=True)]

    (table,) = tables(pdf_bytes([page]))

    assert ["Return on equity", "14", "18"] in rows(table)


@given(st.integers(2, 6), st.integers(2, 6), st.data())
def test_the_fields_of_a_grid_cover_it_once_whatever_lines_are_missing(across, down, data):
    edges = [(40 * c, 30 * r, 40 * (c + 1), 30 * r) for r in range(down + 1) for c in range(across)]
    edges += [(40 * c, 30 * r, 40 * c, 30 * (r + 1)) for r in range(down) for c in range(across + 1)]
    kept = [edge for edge in edges if data.draw(st.integers(0, 4))]

    for grid in find_grids(*split_lines(kept)):
        seats = [
            (row, column)
            for field in grid.fields
            for row in range(field.row, field.row + field.rows)
            for column in range(field.column, field.column + field.columns)
        ]
        assert sorted(seats) == [(row, column) for row in range(grid.size[0]) for column in range(grid.size[1])]


def test_a_page_of_prose_beside_a_rule_stays_prose():
    def draw(canvas: Canvas) -> None:
        canvas.line(60, 60, 60, 780)
        for x, y, text in lines(["Some words of a paragraph that goes on for a while."] * 6):
            canvas.drawString(x, A4[1] - y, text)

    assert tables(drawn(draw)) == []


def test_a_table_that_goes_on_on_the_next_page_repeats_its_head():
    def draw(canvas: Canvas) -> None:
        for page, (top, first) in enumerate(((600, 0), (60, 10))):
            names = [("Item", "2023", "2024")] if page == 0 else []
            values = [(f"Item {n}", str(n), str(2 * n)) for n in range(first, first + 8)]
            boxes(
                [
                    (72 + 90 * c, top + 20 * r, 90, 20, text)
                    for r, row in enumerate(names + values)
                    for c, text in enumerate(row)
                ]
            )(canvas)
            canvas.showPage()
            canvas.setFont("Helvetica", 10)

    first, second = tables(drawn(draw))

    assert (first.page, second.page) == (1, 2)
    assert rows(second)[:2] == [["Item", "2023", "2024"], ["Item 10", "10", "20"]]


def test_a_table_with_a_head_of_its_own_keeps_it():
    before = "| A | B |\n| --- | --- |\n| x | 1 |"

    assert repeat_header(before, "| C | D |\n| --- | --- |\n| y | 2 |") == "| C | D |\n| --- | --- |\n| y | 2 |"
    assert repeat_header(before, "| y | 2 |\n| --- | --- |\n| z | 3 |").startswith(
        "| A | B |\n| --- | --- |\n| y | 2 |"
    )
    assert repeat_header(before, "| y | 2 | 3 |\n| --- | --- | --- |").startswith("| y |")
