"""Drops repeated headers and footers, page numbers, margin marks and tables of contents from PDF pages.

cleaning/block_rules.py drops tables of contents in formats where each entry is a paragraph.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ragcore.parsing.pdf.layout import PageText, Row, Run, to_rows

EDGE_ROWS = 3  # so many rows at the top and at the bottom are looked at
EDGE_RUNS = 40  # that certainly hold these rows
MIN_SHARE = 0.3  # of the pages; odd and even pages may differ
MIN_PAGES = 3
MIN_RUNNING = 0.6  # of the pages have a row in this place
MAIN_WIDTH = 0.5  # of the text: lines of the main column
MIN_MAIN_ROWS = 5
_MARK = re.compile(r"\d{1,4}\s*[(（\[]\s*[IVXl1|Ⅰ-Ⅻ]*\s*[)）\]]|[(（\[]\s*[IVXⅠ-Ⅻ]+\s*[)）\]]")
_ISSUE = re.compile(
    r"第\s*\d+\s*卷.{0,4}第\s*\d+\s*期|\bvol(?:ume|\.)\s*\d+\W{1,3}(?:no|issue|iss)\.?\s*\d+|\bISSN\b", re.I
)
_PAGE_NUMBER = re.compile(
    r"[-–—·•|\s]*(?:(?:page|seite|p\.?|第)\s*)?(?:\d{1,4}|[ivxlc]{1,7}|[A-Z]-\d{1,4})\s*(?:页|頁)?"
    r"(?:\s*(?:of|/|共|,|，|\|)\s*(?:共\s*)?\d{1,4}\s*(?:页|頁)?)?[-–—·•|\s]*",
    re.IGNORECASE,
)
MIN_ENTRIES = 3
MAX_ENTRY = 400  # characters of a row; a longer one is no entry of a table of contents
_LEADER = re.compile(r".*?(?:[.．·•…_]\s?){4,}\s*(?:\d{1,4}|[ivxlc]{1,7})\s*", re.IGNORECASE)
_ENTRY = re.compile(r".{2,120}?[\s.．·•…]\s*(?P<page>\d{1,4})\s*")
_HEADING = re.compile(r"(?:table\s+of\s+contents|contents|list\s+of\s+(?:figures|tables)|目\s*[录錄次])", re.IGNORECASE)


def drop_boilerplate(pages: Sequence[PageText]) -> list[PageText]:
    """The pages without repeated edges, page numbers, marks at the margin and tables of contents."""
    pages = [drop_contents(drop_margin_marks(page)) for page in pages]
    edges = [_edges(page) for page in pages]
    counts = Counter(key for rows in edges for key in {_key(side, row) for side, row in rows})
    places = Counter(place for rows in edges for place in {_place(side, row) for side, row in rows})
    needed = max(MIN_PAGES, MIN_SHARE * len(pages)) if len(pages) > MIN_PAGES else 2

    def is_furniture(side: str, row: Row) -> bool:
        count = counts[_key(side, row)]
        # headers name the chapter: each text is on a few pages only, but on all of them in the same place
        is_running = count > 1 and len(pages) > MIN_PAGES and places[_place(side, row)] >= MIN_RUNNING * len(pages)
        return count >= needed or is_running or _ISSUE.search(row.text) is not None

    cleaned = [
        _drop_rows(page, [row for side, row in rows if is_furniture(side, row)] + _numbers(rows))
        for page, rows in zip(pages, edges, strict=True)
    ]
    return cleaned if any(page.runs for page in cleaned) else pages  # pages that are all alike, such as labels


def edge_lines(pages: Sequence[PageText]) -> list[str | list[str]]:
    """The texts of the outer rows of pages, and their cells: where headers and footers stand."""
    rows = [row for page in pages for _, row in _edges(page)]
    return [line for row in rows for line in (row.text, [cell.text for cell in row.cells])]


def drop_margin_marks(page: PageText) -> PageText:
    """The page without page marks of older editions beside the text, such as "14(II)"."""
    width = max((run.x1 for run in page.runs), default=0.0) - min((run.x0 for run in page.runs), default=0.0)
    wide = [run for run in page.runs if run.x1 - run.x0 >= MAIN_WIDTH * width]
    if len(wide) < MIN_MAIN_ROWS:
        return page
    left, right = min(run.x0 for run in wide), max(run.x1 for run in wide)
    marks = {id(run) for run in page.runs if (run.x1 < left or run.x0 > right) and _MARK.fullmatch(run.text)}
    return replace(page, runs=tuple(run for run in page.runs if id(run) not in marks)) if marks else page


def _edges(page: PageText) -> list[tuple[str, Row]]:
    """The outer rows, those at the top first, each with its side."""
    ordered = sorted(page.runs, key=lambda run: run.middle)
    top = list(to_rows(ordered[:EDGE_RUNS]))[:EDGE_ROWS]
    bottom = list(to_rows(ordered[-EDGE_RUNS:]))[-EDGE_ROWS:]
    outer = [("top", row) for row in top] + [("bottom", row) for row in bottom]
    return [(side, row) for side, row in outer if _is_outside(row, side, page)]


def _key(side: str, row: Row) -> tuple[str, str]:
    """The same on all pages: digits are masked, because footers count."""
    return side, re.sub(r"\d+", "#", "".join(row.text.split()))


def _place(side: str, row: Row) -> tuple[str, int, int]:
    """Where a row stands and how large it is, coarsely."""
    return side, round(row.y0 / 4), round(row.size * 2)


def _numbers(rows: Sequence[tuple[str, Row]]) -> list[Row]:
    """Outermost rows that are nothing but a page number."""
    if len(rows) < 2:
        return []
    outermost = [rows[0][1]] * (rows[0][0] == "top") + [rows[-1][1]] * (rows[-1][0] == "bottom")
    return [row for row in outermost if _PAGE_NUMBER.fullmatch(row.text.strip())]


def _is_outside(row: Row, side: str, page: PageText) -> bool:
    """Whether a row is in its half of the page; on a nearly empty page the first row is also the last."""
    return row.y1 < page.height * 0.25 if side == "top" else row.y0 > page.height * 0.6


def _drop_rows(page: PageText, rows: Sequence[Row]) -> PageText:
    """A row holds joined runs, so runs go by place: every run that lies inside a removed row."""
    if not rows:
        return page
    return replace(page, runs=tuple(run for run in page.runs if not any(_inside(run, row) for row in rows)))


def _inside(run: Run, row: Row) -> bool:
    return row.y0 <= run.middle <= row.y1 and run.x0 >= row.x0 - 1 and run.x1 <= row.x1 + 1


def drop_contents(page: PageText) -> PageText:
    """The page without entries of a table of contents and the heading above them."""
    rows = list(to_rows(page.runs))
    dropped = _leaders(rows) or _behind_heading(rows)
    if not dropped:
        return page
    spans = [(row.y0, row.y1) for row in dropped]
    return replace(page, runs=tuple(run for run in page.runs if not any(y0 <= run.middle <= y1 for y0, y1 in spans)))


def _leaders(rows: Sequence[Row]) -> list[Row]:
    """Entries with dots between title and page; a title over two lines loses its first line too."""
    entries = [at for at, row in enumerate(rows) if len(row.text) <= MAX_ENTRY and _LEADER.fullmatch(row.text)]
    if len(entries) < MIN_ENTRIES:
        return []
    between = [at for at in range(entries[0], entries[-1]) if at not in entries]
    wrapped = between if len(between) < len(entries) else []
    headings = [at for at in range(entries[0]) if _HEADING.fullmatch(rows[at].text.strip())]
    return [rows[at] for at in sorted({*entries, *wrapped, *headings})]


def _behind_heading(rows: Sequence[Row]) -> list[Row]:
    """Entries without dots: behind the heading "Contents", with page numbers that never fall."""
    for at, row in enumerate(rows):
        if not _HEADING.fullmatch(row.text.strip()):
            continue
        last, pages = at, [0]
        for index in range(at + 1, len(rows)):
            match = _ENTRY.fullmatch(rows[index].text[:MAX_ENTRY])
            if match is not None and int(match["page"]) >= pages[-1]:
                last, pages = index, [*pages, int(match["page"])]
            elif index - last > 1:
                break
        if len(pages) > MIN_ENTRIES:
            return list(rows[at : last + 1])
    return []
