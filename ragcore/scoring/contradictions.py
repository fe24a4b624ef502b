"""Whether a claim says the opposite of a sentence on the same matter: another figure, another unit, a negation.

Rules in the manner of natural logic for entailment (MacCartney and Manning 2007), for two short texts that share most
of their words. They find few contradictions and are seldom wrong: a claim that is only not said is no contradiction.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache, cached_property

from ragcore.grounding.facts import figures_offered, negations, plain_figure
from ragcore.ports import Tokenizer
from ragcore.text.matching import keywords
from ragcore.text.normalise import nfkc
from ragcore.text.word_lists import read_spaced_words

# Share of the keywords, without figures, that both texts have in common: of the shorter one, for figures and units; of
# the longer one for a negation, which may belong to words that the other text does not have.
SAME_MATTER, SAME_STATEMENT = 0.6, 0.75

_MEASURE = re.compile(r"(\d+(?:[.,]\d+)*)\s*([%‰°€$£¥]|[A-Za-zµμΩ]{1,12}(?:/[A-Za-z]{1,8})?|[\u4e00-\u9fff]{1,2})?")
_PLURAL = re.compile(r"(?<=[a-z]{3})s\Z")


@dataclass(frozen=True)
class Statement:
    """A sentence with what the rules compare."""

    text: str
    tokenizer: Tokenizer

    @cached_property
    def words(self) -> frozenset[str]:
        """Keywords that are no figures."""
        words = keywords(self.text, self.tokenizer)
        return frozenset(word for word in words if not any(char.isdigit() for char in word))

    @cached_property
    def measures(self) -> dict[str, set[str]]:
        """Figure -> the units, or words, that stand behind it; the word may be empty."""
        units: dict[str, set[str]] = {}
        for figure, unit in _MEASURE.findall(nfkc(self.text)):
            units.setdefault(plain_figure(figure), set()).add(_PLURAL.sub("", unit))
        return units

    @cached_property
    def is_denied(self) -> bool:
        """Whether it has an odd number of negations: two of them affirm."""
        return negations(self.text) % 2 == 1


def contradiction(claim: Statement, other: Statement) -> str | None:
    """The rule by which the claim contradicts the other sentence: "figure", "unit", "negation"; None: by none."""
    least, most = sorted((len(claim.words), len(other.words)))
    common = len(claim.words & other.words)
    if least < 2 or common < SAME_MATTER * least:  # a single word says nothing
        return None
    if claim.is_denied != other.is_denied and common >= SAME_STATEMENT * most:
        return "negation"
    if not claim.measures or not other.measures:
        return None
    shared = claim.measures.keys() & other.measures.keys()
    if any(_other_unit(claim.measures[figure], other.measures[figure]) for figure in shared):
        return "unit"
    if shared or claim.measures.keys() <= figures_offered(other.text):
        return None
    units = set().union(*claim.measures.values()) & set().union(*other.measures.values())
    return "figure" if units - {""} else None


def _other_unit(units: Collection[str], other: Collection[str]) -> bool:
    """Whether both name units for a figure, and none in common; case counts (mW, MW)."""
    ours, theirs = set(units) - {""}, set(other) - {""}
    return bool(ours and theirs and not ours & theirs and all(map(_is_unit, ours | theirs)))


def _is_unit(word: str) -> bool:
    return word in _units() or not word.isalpha()


@cache
def _units() -> frozenset[str]:
    return frozenset(read_spaced_words("ragcore.scoring", "units.txt"))
