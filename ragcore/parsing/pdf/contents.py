"""Tables of contents: rows that end with a page number, while they still are rows (D24).

cleaning/contents.py does the same for formats in which each entry is a paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ragcore.parsing.pdf.layout import Row, to_rows
from ragcore.parsing.pdf.page import PageText

MIN_ENTRIES = 3
_LEADER = re.compile(r".*?(?:[.．·•…_]\s?){4,}\s*(?:\d{1,4}|[ivxlc]{1,7})\s*", re.IGNORECASE)
_ENTRY = re.compile(r".{2,120}?[\s.．·•…]\s*(?P<page>\d{1,4})\s*")
_HEADING = re.compile(r"(?:table\s+of\s+contents|contents|list\s+of\s+(?:figures|tables)|目\s*[录錄次])", re.IGNORECASE)


def without_contents(page: PageText) -> PageText:
    """The page without entries of a table of contents and the heading above them."""
    rows = list(to_rows(page.runs))
    dropped = _leaders(rows) or _behind_heading(rows)
    if not dropped:
        return page
    spans = [(row.y0, row.y1) for row in dropped]
    return replace(page, runs=tuple(run for run in page.runs if not any(y0 <= run.middle <= y1 for y0, y1 in spans)))


def _leaders(rows: Sequence[Row]) -> list[Row]:
    """Entries with dots between title and page; a title over two lines loses its first line too."""
    entries = [at for at, row in enumerate(rows) if _LEADER.fullmatch(row.text)]
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
            found = _ENTRY.fullmatch(rows[index].text)
            if found is not None and int(found["page"]) >= pages[-1]:
                last, pages = index, [*pages, int(found["page"])]
            elif index - last > 1:
                break
        if len(pages) > MIN_ENTRIES:
            return list(rows[at : last + 1])
    return []
