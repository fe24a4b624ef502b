"""Who leads something, asked by a verb, is asked for by the role that documents name: the project manager."""

from __future__ import annotations

import re

from ragcore.understanding.words import alternatives, entries

_LEADS = re.compile(
    r"\bwho(?:\s+(?:leads|heads|runs|manages)|(?:\s+is|['’]s)\s+(?:leading|heading|running|managing|in\s+charge\s+of))\s+(?P<what>[^?.!,]+?)(?P<end>\s*[?.!]*)$",
    re.I,
)
_CLASS = alternatives("english", "managed", "led", "headed")


def name_role(text: str, earlier: str) -> str:
    """ "who is the project manager of NOVA" for "who leads NOVA" after a question about the project NOVA.

    The text itself where neither says whether it is a project, a team or a department.
    """
    match = _LEADS.search(text)
    if match is None:
        return text
    name = re.escape(re.sub(r"^(?:the|our|this)\s+", "", match["what"], flags=re.I))
    classed = rf"\b(?:(?P<before>{_CLASS})\s+{name}\b|{name}\s+(?P<after>{_CLASS})\b)"
    class_match = re.search(classed, earlier, re.I) or re.search(rf"\b(?P<own>{_CLASS})\b", match["what"], re.I)
    if class_match is None:
        return text
    noun = next(group for group in class_match.groups() if group).lower()
    return f"{text[: match.start()]}who is the {_role(noun)} of {match['what']}{match['end']}"


def _role(noun: str) -> str:
    if noun in entries("english", "headed"):
        return "head"
    return f"{noun} leader" if noun in entries("english", "led") else f"{noun} manager"
