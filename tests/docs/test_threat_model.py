"""THREAT_MODEL.md names tests that exist, and one for each entry of the OWASP Top 10 for LLM applications."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "THREAT_MODEL.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_test_that_the_page_names_exists():
    named = NAMED.findall(PAGE)
    functions = {
        path: {node.name for node in ast.walk(ast.parse((ROOT / path).read_text("utf-8"))) if hasattr(node, "name")}
        for path, _name in named
    }

    assert len(named) > 20
    assert [f"{path}::{name}" for path, name in named if name not in functions[path]] == []


@pytest.mark.parametrize("number", range(1, 11))
def test_every_risk_of_language_models_has_a_measure_and_a_test(number):
    (row,) = re.findall(rf"^\| LLM{number:02} ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)

    name, measure, tests = row
    assert all((name, measure))
    assert NAMED.search(tests)


def test_the_files_that_the_page_links_exist():
    linked = [path for path in re.findall(r"\]\(([^)#]+)\)", PAGE) if "://" not in path]

    assert [path for path in linked if not (ROOT / path).exists()] == []
