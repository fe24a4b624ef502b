"""What a request to a language model was for, by its prompt (V15)."""

from __future__ import annotations

from typing import Literal

Purpose = Literal["understanding", "rewriting", "searching", "compression", "judging", "writing"]

_BY_PROMPT: dict[str, Purpose] = {
    "standalone": "understanding",
    "analysis": "understanding",
    "refine_hop": "searching",
    "refine_query": "searching",
    "compress": "compression",
    "summarise_context": "compression",
    "conversation": "writing",
}
_BY_BEGINNING: dict[str, Purpose] = {"rewrite_": "rewriting", "judge_": "judging"}


def purpose_of(prompt: str) -> Purpose:
    """The purpose of a prompt file that an Asker puts; "judging" for one that is not known here."""
    if prompt in _BY_PROMPT:
        return _BY_PROMPT[prompt]
    return next((purpose for start, purpose in _BY_BEGINNING.items() if prompt.startswith(start)), "judging")
