"""What a conversation has been about: mentions of things, and how much attention each of them has.

A light form of centering (Grosz, Joshi, Weinstein 1995): named things gain attention with every mention, more in
questions than in answers, and lose it with every turn; a pronoun in an earlier question is a mention, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["person", "place", "plural", "thing", "unknown"]

ANY_KIND: Mapping[Kind, float] = {"person": 1.0, "place": 1.0, "plural": 1.0, "thing": 1.0, "unknown": 1.0}
DECAY = 0.75  # of attention from one question or answer to the next
MOST_CHARACTERS = 1000  # of a text that is searched for an enumeration
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
_ROW = re.compile(r"^[\s*|-]*(?P<key>[^·|:：\n]{1,60}?) · (?P<cells>[^·:：\n]{1,40}[:：][^\n]*)")
_HEADING = re.compile(r"(?:^|(?<=· ))[^·:：\n]{1,40}[:：]\s*")


@dataclass(frozen=True, slots=True)
class Resolution:
    """A text with what it referred to put in its place, and the expressions (signs) that referred to something.

    The text stays unchanged where the signs could not be resolved.
    """

    text: str
    signs: tuple[str, ...] = ()
    changed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """Something that a turn names, as written there."""

    text: str
    kind: Kind = "unknown"
    weight: float = 1.0  # attention that it gains
    is_name: bool = False
    is_woman: bool | None = None  # None: not known
    article: str = ""  # that stood before it

    @property
    def key(self) -> str:
        return self.text.lower()

    @property
    def phrase(self) -> str:
        """With its article, for the middle of a sentence."""
        return f"{self.article} {self.text}" if self.article and not self.key.startswith("the ") else self.text


@dataclass(slots=True)
class Attention:
    """Mentions by their attention, the strongest first."""

    mentions: dict[str, tuple[Mention, float]] = field(default_factory=dict)

    def fade(self) -> None:
        """One utterance has passed."""
        self.mentions = {key: (mention, value * DECAY) for key, (mention, value) in self.mentions.items()}

    def add(self, mention: Mention) -> None:
        """One more mention; a part of a longer name counts for that name, which stays as written in full."""
        full = self._full_name(mention)
        longest, value = self.mentions.pop(full.key, (full, 0.0))
        self.mentions[full.key] = (longest, value + mention.weight)

    def best(
        self, kinds: Mapping[Kind, float] = ANY_KIND, *, besides: str = "", she: bool | None = None
    ) -> Mention | None:
        """The mention with most attention times the factor of its kind; kinds without a factor are left out.

        `besides`: a text that must not contain it already. `she`: False leaves women out, True men.
        """
        around = besides.lower()
        fitting = [
            (value * kinds[mention.kind], -at, mention)
            for at, (mention, value) in enumerate(reversed(self.mentions.values()))
            if kinds.get(mention.kind) and mention.key not in around and not _other_gender(mention, she)
        ]
        return max(fitting, key=lambda item: item[:2])[2] if fitting else None

    def value(self, mention: Mention) -> float:
        """The attention of a mention, 0 for an unknown one."""
        return self.mentions.get(mention.key, (mention, 0.0))[1]

    def ranked(self) -> list[Mention]:
        return [mention for mention, _ in sorted(self.mentions.values(), key=lambda item: -item[1])]

    def _full_name(self, mention: Mention) -> Mention:
        if not mention.is_name or not mention.text.isascii():
            return mention
        words = mention.key.split()
        for earlier, value in list(self.mentions.values()):
            have = earlier.key.split()
            if (
                earlier.is_name
                and len(words) < len(have)
                and (have[-len(words) :] == words or have[: len(words)] == words)
            ):
                return earlier
            if (
                earlier.is_name
                and len(have) < len(words)
                and (words[-len(have) :] == have or words[: len(have)] == have)
            ):
                del self.mentions[earlier.key]
                self.mentions[mention.key] = (mention, value)
        return mention


def _other_gender(mention: Mention, she: bool | None) -> bool:
    return she is not None and mention.is_woman is not None and mention.is_woman != she


def find_enumeration(text: str) -> list[str]:
    """The items of the first list in a text: numbered or bulleted lines, else "A, B and C"; [] without two items."""
    text = text[:MOST_CHARACTERS]
    lines = [match["item"].strip() for match in _NUMBERED.finditer(text)]
    if len(lines) > 1:
        return lines
    if (run := _RUN_ZH.search(text)) is not None:
        return [item for item in re.split(r"、|以及|还是|和|与|及|或", run.group()) if item]
    if (sequence := _RUN_EN.search(text)) is not None:
        items = re.split(r",\s*(?:and|or)?\s*|\s+(?:and|or|versus|vs)\s+", sequence["run"])
        cleaned = [_LEAD_EN.sub("", item).strip() for item in items if item]
        return [item for item in cleaned if item]
    return []


def find_row(text: str) -> tuple[str, str] | None:
    """The first cell of the row of a table that a text begins with, and the other cells without their headings.

    None without a row, which is quoted as "A-12 · Name: Oil filter · Price: 18".
    """
    match = _ROW.match(text)
    if match is None:
        return None
    return match["key"].strip(" *"), _HEADING.sub("", match["cells"])


def without_leads(text: str) -> str:
    """An answer from its first quotation on: bold lines before it are the words of the product."""
    lines = text.split("\n")
    first = next((at for at, line in enumerate(lines) if line.strip() and not _is_bold(line.strip())), 0)
    return "\n".join(lines[first:])


def _is_bold(line: str) -> bool:
    return line.startswith("**") and line.endswith("**")
