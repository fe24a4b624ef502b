"""The documents say what is true: links lead somewhere, commands and variables exist."""

from __future__ import annotations

import re
from pathlib import Path

from django.core.management import get_commands

from ragcore.errors import RagError
from ragsite.env import Environment

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = r"\]\((?!https?:|#|mailto:)([^)#\s]+)"
OUR_COMMANDS = {"bootstrap", "ingest", "evaluate", "api_key", "collectstatic"}
LOOKED_UP = {"architecture", "benchmarks", "dependencies", "features", "measurements"}  # nobody reads them through
LONGEST_WORDS, LONGEST_DECISION_WORDS = 2_200, 900


def found_in(expression: str) -> list[tuple[Path, str]]:
    """Where the documents say what the expression describes, and what."""
    return [(page, found) for page in PAGES for found in re.findall(expression, page.read_text(encoding="utf-8"))]


def faults(found: list[tuple[Path, str]]) -> list[tuple[str, str]]:
    return [(str(page.relative_to(ROOT)), what) for page, what in found]


def test_links_between_documents_lead_somewhere():
    links = found_in(LINK)

    assert len(links) > 50
    assert faults([(page, target) for page, target in links if not (page.parent / target).exists()]) == []


def test_make_targets_that_are_named_exist():
    targets = found_in(r"\bmake ([a-z-]+)`")
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))

    assert len(targets) > 10
    assert faults([(page, target) for page, target in targets if target not in known]) == []


def test_management_commands_that_are_named_exist():
    commands = found_in(r"manage\.py ([a-z_]+)")

    assert commands
    assert faults([(page, command) for page, command in commands if command not in get_commands()]) == []


def test_every_variable_is_documented_for_operators_and_no_other():
    page = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1] for line in page.splitlines() if re.match(r"\| `[A-Z_]+`", line)]
    documented = {name for row in rows for name in re.findall(r"`([A-Z_]+)`", row)}

    assert documented == set(Environment.model_fields)


def test_error_codes_that_owners_read_about_exist():
    page = (ROOT / "docs" / "owners.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `([a-z_]+)`", page, re.MULTILINE))

    assert documented
    assert documented <= {error.code for error in _errors(RagError)}


def _errors(base: type[RagError]) -> set[type[RagError]]:
    below = set(base.__subclasses__())
    return below.union(*(_errors(error) for error in below))


def test_pages_can_be_read_in_one_sitting():
    pages = {page for page in (ROOT / "docs").glob("*.md") if page.stem not in LOOKED_UP}
    decisions = set((ROOT / "docs" / "decisions").glob("*.md"))
    longest = dict.fromkeys(pages, LONGEST_WORDS) | dict.fromkeys(decisions, LONGEST_DECISION_WORDS)

    words = {page: len(page.read_text(encoding="utf-8").split()) for page in longest}
    assert len(pages) > 15
    assert {page.name: count for page, count in words.items() if count > longest[page]} == {}
