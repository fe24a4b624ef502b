"""Tables, the machine in words, and the parts of a page that a benchmark writes; what stands around them is by hand."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path


class MarkersError(ValueError):
    """A page does not have exactly one `<!-- name -->` before exactly one `<!-- /name -->`."""


def section_write(path: Path, name: str, markdown: str) -> None:
    """Replace what stands between `<!-- name -->` and `<!-- /name -->`; everything else stays byte by byte.

    The page is replaced as a whole, so that nobody reads half of one. Raises MarkersError.
    """
    page = path.read_text(encoding="utf-8")
    begin, end = _span(page, name)
    if any(marker in markdown for marker in _markers(name)):
        raise MarkersError(f"the text for {name} contains its own markers")
    written = path.with_name(f".{path.name}.new")
    written.write_text(f"{page[:begin]}\n\n{markdown.strip()}\n\n{page[end:]}", encoding="utf-8")
    written.replace(path)


def section_read(path: Path, name: str) -> str:
    """What stands between the markers, without the empty lines around it. Raises MarkersError."""
    page = path.read_text(encoding="utf-8")
    begin, end = _span(page, name)
    return page[begin:end].strip()


def _span(page: str, name: str) -> tuple[int, int]:
    """From the end of the first marker to the start of the second one."""
    opening, closing = _markers(name)
    if page.count(opening) != 1 or page.count(closing) != 1 or page.index(closing) < page.index(opening):
        raise MarkersError(f"the page needs {opening} and after it {closing}, each once")
    return page.index(opening) + len(opening), page.index(closing)


def _markers(name: str) -> tuple[str, str]:
    return f"<!-- {name} -->", f"<!-- /{name} -->"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; every row must be as long as the header (ValueError)."""
    for row in rows:
        if len(row) != len(header):
            raise ValueError(f"a row of {len(row)} cells under {len(header)} headings: {row}")
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def table_read(markdown: str) -> list[list[str]]:
    """The rows of all tables in a text, without the lines under the headings; the way back from `table`."""
    lines = [line for line in markdown.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    return [row for row in rows if set("".join(row)) != {"-"}]


def machine_words() -> str:
    """Cores, memory, Python and system, as a reader of figures wants them; benchmarks use no GPU."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    system = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    return f"{cores} cores, {memory:.0f} GB memory, no GPU, {system}"
