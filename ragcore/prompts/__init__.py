"""Prompts as files: one .md each, its variables declared in front; load() gives text, variables and fingerprint."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_FRONT = re.compile(r"\A---\n(.*?)\n---\n+(.*)\Z", re.DOTALL)
_SLOT = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt text with `{{ variable }}` slots."""

    name: str
    text: str
    variables: frozenset[str]
    sha256: str  # of the file; stored with every answer

    def render(self, **values: str) -> str:
        """The text with its slots filled; what a value contains is never read as a slot.

        Raises ValueError that names the variables that are missing or unknown.
        """
        missing, unknown = self.variables - set(values), set(values) - self.variables
        if missing or unknown:
            raise ValueError(f"prompt {self.name!r}: missing {sorted(missing)}, unknown {sorted(unknown)}")
        return _SLOT.sub(lambda match: str(values[match[1]]), self.text)


@cache
def load(name: str) -> Prompt:
    """The prompt in `NAME.md`.

    Raises FileNotFoundError for an unknown name, ValueError when the declared variables are not the used ones.
    """
    if not _NAME.fullmatch(name):
        raise FileNotFoundError(f"there is no prompt {name!r}")
    return parse(name, (files("ragcore.prompts") / f"{name}.md").read_text(encoding="utf-8"))


def parse(name: str, source: str) -> Prompt:
    """A prompt from the text of its file: front matter with `variables: a, b`, then the prompt."""
    match = _FRONT.match(source)
    if match is None:
        raise ValueError(f"prompt {name!r} has no front matter")
    fields = dict(line.split(":", 1) for line in match[1].splitlines() if ":" in line)
    declared = frozenset(v for part in fields.get("variables", "").split(",") if (v := part.strip()))
    text = match[2].strip()
    used = frozenset(_SLOT.findall(text))
    if declared != used:
        raise ValueError(f"prompt {name!r} declares {sorted(declared)} and uses {sorted(used)}")
    return Prompt(name, text, declared, hashlib.sha256(source.encode()).hexdigest())
