"""docs/dependencies.md and pyproject.toml say the same, and no licence forbids what we do."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
ROWS = {cells[0]: cells for line in PAGE.splitlines() if (cells := [c.strip() for c in line.strip("|").split("|")])}


def required() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *sum(project["optional-dependencies"].values(), [])]
    return sorted({re.match(r"[A-Za-z0-9._-]+", line).group() for line in lines})


def test_every_dependency_says_what_it_is_for_its_licence_and_what_was_rejected():
    assert [name for name in required() if len(ROWS.get(name, [])) != 4 or not all(ROWS[name])] == []


def test_no_dependency_is_described_that_is_not_used():
    described = {name for name, cells in ROWS.items() if len(cells) == 4 and re.fullmatch(r"[a-z][a-z0-9-]+", name)}

    assert described == set(required())


def licence_of(distribution: metadata.Distribution) -> str:
    """What a package says of its licence, in whatever field; texts of licences are cut to their beginning.

    Of licences to choose from ("Apache-2.0 OR GPL-2.0-or-later") those that are not chosen are left out.
    """
    about = distribution.metadata
    classifiers = [line for line in about.get_all("Classifier") or [] if line.startswith("License")]
    expression = re.sub(r"\bOR A?GPL[\w.-]*", "", about.get("License-Expression") or "")
    return " ".join([expression, (about.get("License") or "")[:80], *classifiers])


def test_nothing_that_is_installed_is_gpl_or_agpl():
    strict = re.compile(r"(?<!L)\bA?GPL|(?<!Lesser )General Public Licen[cs]e", re.IGNORECASE)

    found = {d.metadata["Name"]: licence_of(d) for d in metadata.distributions() if strict.search(licence_of(d))}

    assert found == {}
