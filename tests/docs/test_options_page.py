"""docs/options.md says what the declarations of the options say."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_options_is_what_the_declarations_say():
    page = runpy.run_path(str(ROOT / "scripts" / "options_page.py"))["page"]()

    assert (ROOT / "docs" / "options.md").read_text(encoding="utf-8") == page
    assert page.count("\n| `") > 60
