"""docs/architecture.md is true: every file and name in it exists, and every example of "add one thing" runs."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PACKAGES = (
    "accounts",
    "bench",
    "chat",
    "docker",
    "docs",
    "evaluation",
    "feedback",
    "knowledge",
    "locale",
    "notifications",
)
CORE = ("notifications", "ragcore", "ragsite", "tests", "work")
NAMED = re.compile(rf"`((?:{'|'.join((*PACKAGES, *CORE))})/[\w./-]*)(?::([\w.]+))?`")
BLOCK = re.compile(r"^```python\n# ([^\n]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """One way to add something: the file or line that is added, and what is then true."""

    title: str
    place: str  # a path; or "path: class NAME" or "path: end" for a line at the end of a class or module
    code: str
    check: str


def examples() -> list[Example]:
    chapter = PAGE.split("## Add one thing in one file", 1)[1].split("\n## ", 1)[0]
    found = []
    for section in chapter.split("\n### ")[1:]:
        (place, code), (check, then) = BLOCK.findall(section)
        assert check == "check"
        found.append(Example(section.splitlines()[0], place, code, then))
    return found


def names_of(path: Path) -> set[str]:
    """Names that a module defines: top-level ones, and Class.member."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
            names |= {f"{node.name}.{part.name}" for part in getattr(node, "body", []) if hasattr(part, "name")}
    return names


def test_every_file_and_name_on_the_page_exists():
    missing = []
    for path, name in NAMED.findall(PAGE):
        file = ROOT / path
        if path in {example.place.partition(":")[0] for example in examples()} and not file.exists():
            continue
        if not file.exists() or (name and name not in names_of(file)):
            missing.append(f"{path}:{name}" if name else path)

    assert missing == []
    assert len(NAMED.findall(PAGE)) > 40  # the page does name files


def test_every_package_is_on_the_map():
    packages = {path.parent.name for path in (ROOT / "ragcore").glob("*/__init__.py")}

    assert {name for name in packages if f"`ragcore/{name}`" not in PAGE} == set()


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.title)
def test_one_thing_is_added_in_one_file(example, tmp_path):
    package = example.place.partition("/")[0]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # where the other packages are
    shutil.copytree(ROOT / package, tmp_path / package)  # with what is compiled: the files keep their times
    add(example, tmp_path)

    done = subprocess.run(
        [sys.executable, "-c", example.check],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        check=False,
        timeout=120,
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.full
@pytest.mark.parametrize("example", examples(), ids=lambda example: example.title)
def test_without_its_file_it_is_not_there(example):
    done = subprocess.run(
        [sys.executable, "-c", example.check], capture_output=True, text=True, cwd=ROOT, check=False, timeout=120
    )

    assert done.returncode == 1, "the check of this example cannot fail"


def add(example: Example, folder: Path) -> None:
    """A new file; or a line at the end of a class or module."""
    path, _, owner = example.place.partition(": ")
    target = folder / path
    if not owner:
        assert not target.exists(), f"{path} is no new file"
        target.write_text(example.code, encoding="utf-8")
        return
    source = target.read_text(encoding="utf-8")
    nodes = ast.parse(source).body
    if owner != "end":
        nodes = next(n for n in nodes if isinstance(n, ast.ClassDef) and f"class {n.name}" == owner).body
    lines = source.splitlines(keepends=True)
    lines.insert(nodes[-1].end_lineno or 0, example.code)
    target.write_text("".join(lines), encoding="utf-8")
