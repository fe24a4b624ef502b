"""Tables without drawn lines: rows of several cells that align under each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragcore.parsing.pdf.layout import Gap, Row, Run
from ragcore.parsing.pdf.paragraphs import join_lines
from ragcore.parsing.tables import markdown_table

MIN_ROWS = 2  # rows of several cells; fewer are no table
MAX_SINGLES = 2  # rows of one cell between them: wrapped labels and subheadings
MIN_STRIPE_ROWS = 4
MIN_STRIPE_POINTS = 1.0
WRAPPED_PITCH = 0.8  # of the usual distance of rows
MAX_LEADING = 2.2  # font sizes between the rows of one table
_OPENERS = frozenset({"$", "€", "£", "¥", "￥", "(", "US$", "$(", "A$", "-"})
_TRAILING_SIGN = re.compile(r"(?<!\s)\s+([$€£¥￥])$")
_NUMBER = re.compile(
    r"[-–—+±~<>≤≥≈(（$€£¥￥\s]*(?:\d[\d,.\s]*(?:[a-zA-Z%‰万亿元℃]{0,4})?[)）*]?|[-–—/]{1,3}|n/?a)", re.I
)
_BAR = re.compile(r"(?<!\\)\|")
_CLOSERS = frozenset({")", "%", ")%", "%)", "*"})


def split_tables(rows: Sequence[Row]) -> Iterator[tuple[bool, list[Row]]]:
    """Stretches of rows that form a table, or do not."""
    prose: list[Row] = []
    index = 0
    while index < len(rows):
        end = _table_end(rows, index)
        if end is None:
            prose.append(rows[index])
            index += 1
            continue
        if prose:
            yield False, prose
            prose = []
        yield True, list(rows[index:end])
        index = end
    if prose:
        yield False, prose


def _table_end(rows: Sequence[Row], start: int) -> int | None:
    """Index behind the table that begins here, or None."""
    if not _is_tabular(rows[start]):
        return None
    end, tabular, singles = start + 1, 1, 0
    for index in range(start + 1, len(rows)):
        row, before = rows[index], rows[index - 1]
        if row.y0 - before.y1 > MAX_LEADING * max(row.size, before.size):
            break
        if _is_tabular(row):
            end, tabular, singles = index + 1, tabular + 1, 0
        else:
            singles += 1
            if singles > MAX_SINGLES or len(row.text) > 120:
                break
    return end if tabular >= MIN_ROWS else None


def _is_tabular(row: Row) -> bool:
    cells = merge_signs(row.cells)
    return len(cells) > 1 and not (len(cells) == 2 and len(cells[0].text) <= 4 and not cells[0].text[0].isdigit())


def merge_signs(cells: Sequence[Run]) -> list[Run]:
    """Cells with currency signs and brackets that stand apart put back to their numbers."""
    merged: list[Run] = []
    for cell in cells:
        before = merged[-1] if merged else None
        if before is not None and (before.text in _OPENERS or cell.text in _CLOSERS):
            merged[-1] = _join_runs(before, cell)
        elif before is not None and (sign := _TRAILING_SIGN.search(before.text)) is not None:
            end = before.x1 - cell.size  # the sign is about one character wide
            merged[-1] = replace(before, text=before.text[: sign.start()], x1=max(end, before.x0 + 1))
            merged.append(replace(cell, text=sign[1] + cell.text))
        else:
            merged.append(cell)
    return merged


def is_number(text: str) -> bool:
    """Whether a cell holds a figure: digits with signs, units and marks around them, or a sign for none."""
    return _NUMBER.fullmatch(text.strip()) is not None


def _join_runs(first: Run, other: Run) -> Run:
    y0, y1 = min(first.y0, other.y0), max(first.y1, other.y1)
    return Run(first.text + other.text, first.x0, y0, other.x1, y1, other.size, other.bold)


def aligned_table_markdown(rows: Sequence[Row]) -> str:
    """Rows as a Markdown table, cells put under each other by their position; "" if they do not align."""
    lines = _cut_at_stripes([merge_signs(row.cells) for row in rows])
    columns = _columns(lines)
    if len(columns) < 2:
        return ""
    grid = []
    for line in _join_wrapped_cells(lines):
        texts = [""] * len(columns)
        for cell in line:
            at = max(range(len(columns)), key=lambda i: _closeness(cell, columns[i]))
            texts[at] = join_lines(texts[at], cell.text)
        grid.append(texts)
    return markdown_table(grid)


def repeat_header(before: str, table: str) -> str:
    """A table that goes on from the page before, under the head that stands there.

    Both are Markdown. A first row of words over rows of numbers is a head of its own.
    """
    lines, head = table.split("\n"), before.split("\n")[:2]
    if lines[0] == head[0] or _cells(lines[0]) != _cells(head[0]):
        return table
    numbers = sum(_has_number(line) for line in lines[2:])
    if not _has_number(lines[0]) and numbers > 0.5 * len(lines[2:]):
        return table
    return "\n".join([*head, lines[0], *lines[2:]])


def _cells(line: str) -> int:
    return len(_BAR.findall(line)) - 1


def _has_number(line: str) -> bool:
    return any(any(char.isdigit() for char in cell) and is_number(cell) for cell in _BAR.split(line))


def _cut_at_stripes(lines: Sequence[list[Run]]) -> list[list[Run]]:
    """Cells with two numbers cut where nearly all rows leave a white stripe, however narrow it is."""
    result = [list(line) for line in lines]
    if len(lines) < MIN_STRIPE_ROWS:
        return result
    gaps = sorted({(gap[1], gap[2]) for line in lines for cell in line for gap in cell.gaps if _divides(cell, gap)})
    for stripe in _common(gaps):
        crossing = sum(any(_crosses(cell, stripe) for cell in line) for line in result)
        if crossing <= 0.1 * len(lines):
            result = [[piece for cell in line for piece in _pieces(cell, stripe)] for line in result]
    return result


def _divides(cell: Run, gap: Gap) -> bool:
    """Whether numbers stand on both sides of a gap."""
    before, after = cell.text[: gap[0]].split(), cell.text[gap[0] :].split()
    return bool(before and after) and is_number(before[-1]) and is_number(after[0])


def _common(gaps: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """What gaps that overlap have in common, as far as several rows have it."""
    groups: list[list[tuple[float, float]]] = []
    for start, end in gaps:
        if groups and start < min(gap[1] for gap in groups[-1]):
            groups[-1].append((start, end))
        else:
            groups.append([(start, end)])
    common = [(max(start for start, _ in group), min(end for _, end in group)) for group in groups if len(group) > 1]
    return [stripe for stripe in common if stripe[1] - stripe[0] > MIN_STRIPE_POINTS]


def _crosses(cell: Run, stripe: tuple[float, float]) -> bool:
    """Whether text stands on a stripe."""
    middle = (stripe[0] + stripe[1]) / 2
    return cell.x0 < middle < cell.x1 and not any(gap[1] <= middle <= gap[2] for gap in cell.gaps)


def _pieces(cell: Run, stripe: tuple[float, float]) -> Sequence[Run]:
    middle = (stripe[0] + stripe[1]) / 2
    over = [gap for gap in cell.gaps if gap[1] <= middle <= gap[2]]
    return cell.cut(over[0]) if over else (cell,)


def _join_wrapped_cells(lines: Sequence[list[Run]]) -> list[list[Run]]:
    """Rows with the second lines of long cells put back: a lone cell that stands closer than rows usually do."""
    middles = [sum(cell.middle for cell in line) / len(line) for line in lines]
    pitches = [after - before for before, after in zip(middles, middles[1:], strict=False)]
    if len(pitches) < MIN_STRIPE_ROWS:
        return [list(line) for line in lines]
    close = WRAPPED_PITCH * sorted(pitches)[len(pitches) // 2]
    result: list[list[Run]] = []
    waiting: list[Run] = []  # the beginning of a label whose row follows
    for at, line in enumerate(lines):
        is_lone = len(line) == 1
        up = pitches[at - 1] if at else close
        down = pitches[at] if at < len(pitches) else close
        if is_lone and min(up, down) < close and up <= down and result:
            result[-1] = [*result[-1], *line]
        elif is_lone and down < close:
            waiting = [*waiting, *line]
        else:
            result.append([*waiting, *line])
            waiting = []
    return [*result, waiting] if waiting else result


def _columns(lines: Sequence[Sequence[Run]]) -> list[tuple[float, float]]:
    """Stripes that the cells of the fullest rows share; a cell across several stripes is a header above them."""
    columns: list[tuple[float, float]] = []
    most = max(map(len, lines))
    for line in sorted(lines, key=len, reverse=True):
        if len(line) < max(2, most / 2):
            break
        for cell in line:
            touched = [column for column in columns if column[0] < cell.x1 and cell.x0 < column[1]]
            if not touched:
                columns.append((cell.x0, cell.x1))
            elif len(touched) == 1:
                columns.remove(touched[0])
                columns.append((min(touched[0][0], cell.x0), max(touched[0][1], cell.x1)))
    return sorted(columns)


def _closeness(cell: Run, column: tuple[float, float]) -> float:
    """Points of overlap, or the negative distance."""
    return min(cell.x1, column[1]) - max(cell.x0, column[0])
