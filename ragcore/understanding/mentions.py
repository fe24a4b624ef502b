"""What a conversation has been about: things that were named, with how much attention each of them has.

A light form of centering (Grosz, Joshi, Weinstein 1995): named things gain attention with every mention, more in
questions than in answers, and lose it with every turn; a pronoun in an earlier question is a mention, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["person", "place", "plural", "thing", "unknown"]

ANY_KIND: Mapping[Kind, float] = {"person": 1.0, "place": 1.0, "plural": 1.0, "thing": 1.0, "unknown": 1.0}
DECAY = 0.75  # of attention from one question or answer to the next


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

    held: dict[str, tuple[Mention, float]] = field(default_factory=dict)

    def fade(self) -> None:
        """One utterance has passed."""
        self.held = {key: (mention, value * DECAY) for key, (mention, value) in self.held.items()}

    def add(self, mention: Mention) -> None:
        """One more mention; a part of a longer name counts for that name, which stays as written in full."""
        full = self._full_name(mention)
        known, value = self.held.pop(full.key, (full, 0.0))
        self.held[full.key] = (known, value + mention.weight)

    def best(
        self, kinds: Mapping[Kind, float] = ANY_KIND, *, besides: str = "", she: bool | None = None
    ) -> Mention | None:
        """The mention with most attention times the factor of its kind; kinds without a factor are left out.

        `besides`: a text that must not contain it already. `she`: False leaves women out, True men.
        """
        around = besides.lower()
        fitting = [
            (value * kinds[mention.kind], -at, mention)
            for at, (mention, value) in enumerate(reversed(self.held.values()))
            if kinds.get(mention.kind) and mention.key not in around and not _other_gender(mention, she)
        ]
        return max(fitting, key=lambda item: item[:2])[2] if fitting else None

    def value(self, mention: Mention) -> float:
        """The attention of a mention, 0 for an unknown one."""
        return self.held.get(mention.key, (mention, 0.0))[1]

    def ranked(self) -> list[Mention]:
        return [mention for mention, _ in sorted(self.held.values(), key=lambda item: -item[1])]

    def _full_name(self, mention: Mention) -> Mention:
        if not mention.is_name or not mention.text.isascii():
            return mention
        words = mention.key.split()
        for known, value in list(self.held.values()):
            have = known.key.split()
            if (
                known.is_name
                and len(words) < len(have)
                and (have[-len(words) :] == words or have[: len(words)] == words)
            ):
                return known
            if known.is_name and len(have) < len(words) and (words[-len(have) :] == have or words[: len(have)] == have):
                del self.held[known.key]
                self.held[mention.key] = (mention, value)
        return mention


def _other_gender(mention: Mention, she: bool | None) -> bool:
    return she is not None and mention.is_woman is not None and mention.is_woman != she
