"""Headers, footers and page numbers: what stands at the edge of many pages is not text (D24)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ragcore.parsing.pdf_chars import PageText, Run
from ragcore.parsing.pdf_layout import Row, to_rows

EDGE_ROWS = 3  # so many rows at the top and at the bottom are looked at
EDGE_RUNS = 40  # that certainly hold these rows
MIN_SHARE = 0.3  # of the pages; odd and even pages may differ
MIN_PAGES = 3
_PAGE_NUMBER = re.compile(
    r"[-–—·•|\s]*(?:(?:page|seite|p\.?|第)\s*)?(?:\d{1,4}|[ivxlc]{1,7}|[A-Z]-\d{1,4})\s*(?:页|頁)?"
    r"(?:\s*(?:of|/|共|,|，|\|)\s*(?:共\s*)?\d{1,4}\s*(?:页|頁)?)?[-–—·•|\s]*",
    re.IGNORECASE,
)


def without_furniture(pages: Sequence[PageText]) -> list[PageText]:
    """The pages without repeated edges and page numbers."""
    edges = [_edges(page) for page in pages]
    counts = Counter(key for rows in edges for key in {_key(side, row) for side, row in rows})
    needed = max(MIN_PAGES, MIN_SHARE * len(pages)) if len(pages) > MIN_PAGES else 2
    return [
        _without(page, [row for side, row in rows if counts[_key(side, row)] >= needed] + _numbers(rows))
        for page, rows in zip(pages, edges, strict=True)
    ]


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


def _numbers(rows: Sequence[tuple[str, Row]]) -> list[Row]:
    """Outermost rows that are nothing but a page number."""
    if len(rows) < 2:
        return []
    outermost = [rows[0][1]] * (rows[0][0] == "top") + [rows[-1][1]] * (rows[-1][0] == "bottom")
    return [row for row in outermost if _PAGE_NUMBER.fullmatch(row.text.strip())]


def _is_outside(row: Row, side: str, page: PageText) -> bool:
    """Whether a row is in its half of the page; on a nearly empty page the first row is also the last."""
    return row.y1 < page.height * 0.25 if side == "top" else row.y0 > page.height * 0.6


def _without(page: PageText, rows: Sequence[Row]) -> PageText:
    """A row holds joined runs, so runs go by place: every run that lies inside a removed row."""
    if not rows:
        return page
    return replace(page, runs=tuple(run for run in page.runs if not any(_inside(run, row) for row in rows)))


def _inside(run: Run, row: Row) -> bool:
    return row.y0 <= run.middle <= row.y1 and run.x0 >= row.x0 - 1 and run.x1 <= row.x1 + 1
