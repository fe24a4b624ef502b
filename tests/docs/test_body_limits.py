"""docs/operators.md shows the limits of bodies that the code enforces."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_of_body_limits_is_the_one_that_is_enforced():
    page = runpy.run_path(str(ROOT / "scripts" / "body_limits_page.py"))["page"]()

    assert (ROOT / "docs" / "operators.md").read_text(encoding="utf-8") == page
    assert "| `/api/v1/documents/bulk` | `MAX_BULK_MB` | known |" in page
