"""docs/features.md ties features to modules: every row names what exists, and the code carries no IDs of its own."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "features.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| ([A-Z]\d+) \|(.*)\|(.*)\|(.*)\|$", re.MULTILINE)
PATH = re.compile(r"`([^`]+)`")
PACKAGES = ("accounts", "bench", "chat", "evaluation", "feedback", "knowledge", "notifications", "ragcore", "ragsite")


@cache
def rows() -> list[tuple[str, list[str], list[str]]]:
    """ID, modules and tests of each feature."""
    return [(name, PATH.findall(modules), PATH.findall(tests)) for name, _what, modules, tests in ROW.findall(PAGE)]


def test_every_feature_has_one_row_with_modules_and_tests():
    names = [name for name, _modules, _tests in rows()]

    assert len(names) > 90
    assert sorted(name for name in set(names) if names.count(name) > 1) == []
    assert [name for name, modules, tests in rows() if not modules or not tests] == []


def test_every_module_and_test_of_a_feature_exists():
    missing = [
        f"{name}: {path}" for name, modules, tests in rows() for path in modules + tests if not (ROOT / path).exists()
    ]

    assert missing == []


def test_tests_stand_in_the_column_of_tests():
    assert [name for name, modules, _tests in rows() if any(path.startswith("tests/") for path in modules)] == []
    assert [name for name, _modules, tests in rows() if not all(path.startswith("tests/") for path in tests)] == []


def test_no_docstring_or_comment_carries_the_id_of_a_feature():
    names = "|".join(name for name, _modules, _tests in rows())
    in_brackets, behind_hash = rf"\((?:features? )?(?:{names})(?:[,;:)–]| to )", rf"#\s*(?:{names})(?:[,;:]|$)"
    carried = re.compile(rf"{in_brackets}|^{behind_hash}")
    somewhere = re.compile(rf"{in_brackets}|{behind_hash}", re.MULTILINE)  # only such a module is taken apart
    found = [
        f"{path.relative_to(ROOT)}:{line} {text.strip()[:60]}"
        for path in sources()
        if somewhere.search(path.read_text(encoding="utf-8"))
        for line, text in words_of(path)
        if carried.search(text)
    ]

    assert found == [], "name the feature in docs/features.md, with this module in its row"


def sources() -> list[Path]:
    paths = [path for name in (*PACKAGES, "tests") for path in sorted((ROOT / name).rglob("*.py"))]
    assert len(paths) > 1000
    return paths


def words_of(path: Path) -> Iterator[tuple[int, str]]:
    """Docstrings and comments of a module, each with its line."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield getattr(node, "lineno", 1), ast.get_docstring(node, clean=False) or ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
