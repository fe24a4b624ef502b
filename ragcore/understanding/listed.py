"""Things that are told one after the other, for "the second one" and 后者."""

from __future__ import annotations

import re

CHARACTERS = 1000  # of a text that are read
_NUMBERED = re.compile(
    r"^\s*(?:\d{1,2}[.)、]|[-*•])\s*(?P<item>[^\n:：。；;]{1,80}?)(?:\s*[:：。；;.,—-].*)?$", re.MULTILINE
)
_RUN_ZH = re.compile(
    r"(?:[^、，。；！？\s和与及是有为]{1,16}、)*[^、，。；！？\s和与及是有为]{1,16}(?:和|与|及|以及|或|还是)[^、，。；！？\s的都等在是有]{1,16}"
)
_RUN_EN = re.compile(
    r"(?P<run>(?:[\w-]+(?: [\w-]+){0,3}, )*[\w-]+(?: [\w-]+){0,3},?"
    r" (?:and|or|versus|vs) (?:the |a |an )?[\w-]+(?: [A-Z][\w-]+)*)"
)
_LEAD_EN = re.compile(
    r"^(?:.*\b(?:are|is|have|has|the|a|an|offer|include|includes|between|either|support|supports|of|for|from)\s+)", re.I
)


def listed(text: str) -> list[str]:
    """The items of the first list in a text: numbered or bulleted lines, else "A, B and C"; [] without two items."""
    text = text[:CHARACTERS]
    lines = [match["item"].strip() for match in _NUMBERED.finditer(text)]
    if len(lines) > 1:
        return lines
    if (run := _RUN_ZH.search(text)) is not None:
        return [item for item in re.split(r"、|以及|还是|和|与|及|或", run.group()) if item]
    if (found := _RUN_EN.search(text)) is not None:
        items = re.split(r",\s*(?:and|or)?\s*|\s+(?:and|or|versus|vs)\s+", found["run"])
        cleaned = [_LEAD_EN.sub("", item).strip() for item in items if item]
        return [item for item in cleaned if item]
    return []
