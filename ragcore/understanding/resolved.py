"""What the rules of one language return."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resolved:
    """A question with the signs that it depends on earlier turns; unchanged where nothing fitting was found."""

    text: str
    signs: tuple[str, ...] = ()
    changed: bool = False
