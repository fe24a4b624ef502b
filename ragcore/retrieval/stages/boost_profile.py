"""What the asker works on moves the ranking, within bounds (feature D4)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports
from ragcore.retrieval.pipeline import stage
from ragcore.text.normalise import nfkc
from ragcore.text.scripts import CJK
from ragcore.types import DocumentFacts, Profile, State

# Which facts of a document a field of the profile is compared with, and its share of the largest boost.
FIELDS: Mapping[str, tuple[float, frozenset[str]]] = {
    "department": (0.3, frozenset({"axis Y", "department", "organisation", "organization", "tag"})),
    "product": (0.3, frozenset({"axis X", "axis Y", "product", "product line", "tag"})),
    "interest": (0.15, frozenset({"axis 1", "axis X", "topic", "category", "domain", "direction", "product", "tag"})),
    "role": (0.1, frozenset({"axis X", "role", "audience", "direction", "tag"})),
}
RECENT_SHARE = 0.2  # of a document in a knowledge set that was asked lately
MOST_INTERESTS = 2  # that count for one document

_WORD = re.compile(rf"[{CJK}]|[^\W_]+")
_CJK = re.compile(f"[{CJK}]")


@stage("boost.profile", label=_("profile"), optional=True)
@dataclass(frozen=True, slots=True, kw_only=True)
class BoostProfile:
    """Fill state.boosts (document -> factor in [1, 1 + `boost`]) and state.alpha_shift (in [-`shift`, `shift`]).

    A document's factor is 1 + boost * share, where share adds up, to 1 at most, what its facts have in common with the
    profile (FIELDS, RECENT_SHARE). Texts are the same when one consists of whole words of the other.

    alpha falls by half of `shift` for each product or interest of the profile that the question names, down to
    -shift: who knows a field uses its words. It rises by half of `shift` where the profile has interests and the
    question names nothing of the profile: who is new to a field asks in other words than its documents.

    Without a profile nothing changes.
    """

    boost: float = 0.15
    shift: float = 0.1
    each: int = 160  # candidates of each arm whose documents are looked at

    def __call__(self, state: State, ports: Ports) -> State:
        profile = state.query.profile
        if profile is None or ports.facts is None:
            return state
        facts = ports.facts.documents(self._documents(state))
        wanted = list(_wanted(profile))
        shared = {document: _share(found, wanted, profile) for document, found in facts.items()}
        factors = {document: 1 + self.boost * share for document, (share, _) in shared.items() if share > 0}
        reasons = {document: why for document, (share, why) in shared.items() if share > 0}
        moved = self._shift(state.query.text, profile)
        counts = Counter(reason for why in reasons.values() for reason in why)
        state = replace(state.boosted(factors, reasons), alpha_shift=moved)
        return state.noted(matched=dict(counts), documents=len(factors), most=self.boost, shift=round(moved, 4))

    def _documents(self, state: State) -> list[int]:
        arms = (state.arms.get(name, {}) for name in ("dense", "lexical", "title"))
        chunks = dict.fromkeys(chunk for arm in arms for chunk in islice(arm, self.each))
        return list(dict.fromkeys(state.pool[chunk].document for chunk in chunks))

    def _shift(self, question: str, profile: Profile) -> float:
        asked = _plain(question)
        terms = {_plain(term) for term in (profile.product, *profile.interests)}
        named = sum(_within(term, asked) for term in terms)
        if named:
            return -self.shift * min(1.0, named / 2)
        others = any(_within(_plain(term), asked) for term in (profile.department, profile.role))
        return self.shift / 2 if profile.interests and not others else 0.0


def _wanted(profile: Profile) -> Iterator[tuple[str, str]]:
    """(field, value) of what a profile says."""
    fields = [("department", profile.department), ("product", profile.product), ("role", profile.role)]
    for name, value in [*fields, *(("interest", interest) for interest in dict.fromkeys(profile.interests))]:
        if _plain(value):
            yield name, value


def _share(facts: DocumentFacts, wanted: Iterable[tuple[str, str]], profile: Profile) -> tuple[float, tuple[str, ...]]:
    """How much a document has in common with the profile, 0 to 1, and what, in the words of the profile."""
    share, interests, why = 0.0, 0, []
    for name, value in wanted:
        weight, kinds = FIELDS[name]
        if name == "interest" and interests == MOST_INTERESTS:
            continue
        if any(_same(value, fact) for kind, found in facts.values.items() if _kind(kind) in kinds for fact in found):
            share += weight
            interests += name == "interest"
            why.append(f"{name}: {value}")
    if set(facts.sets) & set(profile.recent_sets):
        share += RECENT_SHARE
        why.append("recent set")
    return min(share, 1.0), tuple(why)


def _kind(name: str) -> str:
    """The name of an attribute however it is written: Product_Line, product-line."""
    return name if name.startswith("axis ") else re.sub(r"[\s_-]+", " ", name).strip().lower()


def _same(value: str, fact: str) -> bool:
    first, second = _plain(value), _plain(fact)
    return first == second or _within(first, second) or _within(second, first)


def _plain(text: str) -> str:
    """Words between single spaces, folded; every CJK character is a word."""
    return " ".join(_WORD.findall(nfkc(text).casefold()))


def _within(part: str, whole: str) -> bool:
    """Whether one plain text consists of whole words of another and is long enough to mean something."""
    letters = part.replace(" ", "")
    least = 2 if _CJK.search(part) else 3
    return len(letters) >= least and f" {part} " in f" {whole} "
