"""Run bandit and print what nobody has answered; exit status 1 if there is something.

Ruff knows most of bandit's rules by the same numbers (`S608` is `B608`) and runs at every `make lint`. Where the code
answers one of them with `# noqa: S608 (why)`, that holds here, too, and so does `# nosec`. What pyproject.toml leaves
out for ruff is left out here.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CHECKED = ("accounts", "chat", "evaluation", "feedback", "knowledge", "ragcore", "ragsite", "scripts", "manage.py")
EXCLUDED = ("ragcore/training",)  # command lines of the authors; not part of the running product
SAME_AS = {"B703": "S308", "B607": "S603", "B404": "S603"}  # where ruff has one rule for two


def main() -> int:
    found = json.loads(_bandit())
    problems = [one for one in found["results"] if not _is_answered(one)]
    for one in problems:
        print(f"{one['filename']}:{one['line_number']}: {one['test_id']} {one['issue_text']}")  # noqa: T201
    for error in found["errors"]:
        print(f"{error['filename']}: {error['reason']}")  # noqa: T201
    return int(bool(problems or found["errors"]))


def _bandit() -> str:
    command = [sys.executable, "-m", "bandit", "-q", "-f", "json", "-x", ",".join(EXCLUDED), "-r", *CHECKED]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def _is_answered(one: dict[str, Any]) -> bool:
    rule = SAME_AS.get(one["test_id"], f"S{one['test_id'][1:]}")
    lines = (ROOT / one["filename"]).read_text(encoding="utf-8").splitlines()
    span = lines[one["line_range"][0] - 1 : one["line_range"][-1] + 1]
    return rule in _left_out() or any(re.search(rf"noqa:[^#]*\b{rule}\b", line) for line in span)


def _left_out() -> set[str]:
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    return set(tools["ruff"]["lint"]["ignore"])


if __name__ == "__main__":
    sys.exit(main())
