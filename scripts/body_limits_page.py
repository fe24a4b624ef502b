"""Write the table of limits in docs/operators.md from ragsite/body_limits.py: `python scripts/body_limits_page.py`.

`tests/docs/test_body_limits.py` fails when the page and the table differ.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragsite.body_limits import BodyLimit

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "operators.md"
BEGIN, END = "<!-- body limits: begin -->\n", "<!-- body limits: end -->"
VARIABLES = {
    "MAX_UPLOAD_BYTES": "`MAX_UPLOAD_MB`",
    "MAX_ATTACHMENT_BYTES": "`MAX_ATTACHMENT_MB`",
    "MAX_BULK_BYTES": "`MAX_BULK_MB`",
}
MIB = 1024 * 1024


def table() -> str:
    """The rows, in the order in which they count."""
    from ragsite.body_limits import BODY_LIMITS

    rows = ["| Address | Limit | Sender | What is sent there |", "|---|---|---|---|"]
    for limit in BODY_LIMITS:
        path = f"`{limit.path.removesuffix('*')}`…" if limit.path.endswith("*") else f"`{limit.path}`"
        sender = "anybody" if limit.is_open else "known"
        shown = "all others" if limit.path == "*" else path
        rows.append(f"| {shown} | {_size(limit)} | {sender} | {limit.content} |")
    return "".join(f"{row}\n" for row in rows)


def _size(limit: BodyLimit) -> str:
    variable = VARIABLES.get(str(limit.limit))
    if variable is None:
        return _readable(limit.limit_bytes)
    return f"{variable} + {_readable(limit.extra_bytes)}" if limit.extra_bytes else variable


def _readable(size: int) -> str:
    return f"{size // MIB} MB" if size >= MIB else f"{size // 1024} KB"


def page() -> str:
    """The whole page with the table of the code."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{table()}{END}{after}"


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    import django

    django.setup()
    PAGE.write_text(page(), encoding="utf-8")
