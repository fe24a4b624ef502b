"""From the scores of the arms to one ranking: the profile of the user, fusion, or one arm alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import exp

from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports
from ragcore.retrieval.pipeline import stage
from ragcore.text.matching import shares_in
from ragcore.text.normalise import nfkc
from ragcore.text.scripts import CJK, is_across
from ragcore.types import Candidate, DocumentFacts, Profile, Query, State

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

PROFILE_FACTS = frozenset(
    kind for _weight, kinds in FIELDS.values() for kind in kinds
)  # that a profile is compared with
ACROSS = 0.5  # of a cosine, that words would have added to it in the other language
READS = 0.5  # trust in an embedder, for both scripts, from which it is taken to see what is said in the other one
STYLE_WEIGHTS: Mapping[str, float] = {"precise": 0.8}  # of the dense arm, instead of the formula
# Extra weight of question words that occur in the title or headings, on the scale of the best BM25 score. With 0.3,
# nDCG@10 of the fusion rose from .868 to .871 (DragonBall, English) and from .832 to .839 (Chinese) and stayed at
# .879 (TeleQuAD), each on 300 questions. On TeleQuAD it began to fall at 0.5.
TITLE_WEIGHT = 0.3
BOOST_RANGE = (0.5, 2.0)  # of the factor of a document, whatever stages before agreed on


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
        pairs = list(_wanted(profile))
        shared = {document: _share(facts_of_document, pairs, profile) for document, facts_of_document in facts.items()}
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
        return self.shift * profile_shift(question, profile)


def profile_shift(question: str, profile: Profile) -> float:
    """How far a profile moves alpha for this question, as a share of the largest shift: -1 to 0.5."""
    plain = _plain(question)
    terms = {_plain(term) for term in (profile.product, *profile.interests)}
    count = sum(_within(term, plain) for term in terms)
    if count:
        return -min(1.0, count / 2)
    is_general = any(_within(_plain(term), plain) for term in (profile.department, profile.role))
    return 0.5 if profile.interests and not is_general else 0.0


def matching_values(profile: Profile, facts: Mapping[str, Iterable[str]]) -> tuple[tuple[str, str], ...]:
    """(field, value) of a profile that agree with any of these facts (kind -> values, as in DocumentFacts).

    The other values boost no document that has no other facts than these.
    """
    fact_values = {kind: list(values) for kind, values in facts.items()}
    return tuple(
        (name, value)
        for name, value in _wanted(profile)
        if any(
            _same(value, fact)
            for kind, values in fact_values.items()
            if _kind(kind) in FIELDS[name][1]
            for fact in values
        )
    )


def is_profile_fact(kind: str) -> bool:
    """Whether a profile is compared with facts of this kind."""
    return _kind(kind) in PROFILE_FACTS


def _wanted(profile: Profile) -> Iterator[tuple[str, str]]:
    """(field, value) of what a profile says."""
    fields = [("department", profile.department), ("product", profile.product), ("role", profile.role)]
    for name, value in [*fields, *(("interest", interest) for interest in dict.fromkeys(profile.interests))]:
        if _plain(value):
            yield name, value


def _share(facts: DocumentFacts, pairs: Iterable[tuple[str, str]], profile: Profile) -> tuple[float, tuple[str, ...]]:
    """How much a document has in common with the profile, 0 to 1, and what, in the words of the profile."""
    share, interests, why = 0.0, 0, []
    for name, value in pairs:
        weight, kinds = FIELDS[name]
        if name == "interest" and interests == MOST_INTERESTS:
            continue
        if any(_same(value, fact) for kind, values in facts.values.items() if _kind(kind) in kinds for fact in values):
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


@stage("fuse.rsf", label=_("fusion"), timing="fine", ranking="fused")
@dataclass(frozen=True, slots=True, kw_only=True)
class FuseRsf:
    """Merge the dense and lexical rankings into state.candidates, best first.

    Score: (alpha * dense + (1 - alpha) * (lexical + title_weight * heading)) * boost, each ranking scaled by its own
    best hit and its theoretical minimum (0), so that a lone bad hit does not become 1. `heading` is the share of the
    question's terms, by idf, that stand in title and headings; `boost` is that of the document (state.boosts).
    Without boosts and headings the score lies in [0, 1]. In a passage of the other language, Chinese or English, words
    cannot match: there ACROSS * dense stands in the place of `lexical`, where the embedder reads both.

    alpha grows with the query: 0.4 + 0.3 / (1 + exp(-(words - centre) / slope)), moved by state.alpha_shift. Instead of
    that stands `vector_weight`, where it is set, then the weight of the style. alpha never exceeds how far the embedder
    can be trusted with the script of the query.
    """

    centre: float = 8.0  # query words at which alpha is 0.55
    slope: float = 1.0
    vector_weight: float = -1.0  # in [0, 1]: instead of the formula; negative: the formula
    title_weight: float = TITLE_WEIGHT
    each: int = 160  # hits of each arm that take part
    keep: int = 80

    def __call__(self, state: State, ports: Ports) -> State:
        alpha_of_query, by = self.alpha(state.query)
        shift = state.alpha_shift if by == "formula" else 0.0
        trust = ports.embedder.trust(state.query.cjk_share)
        alpha = min(max(alpha_of_query + shift, 0.0), 1.0, trust)
        raw, across = self._fused(state, ports, alpha)
        factors = {chunk: _factor(state, chunk) for chunk in raw} if state.boosts else {}
        scores = {chunk: score * factors.get(chunk, 1.0) for chunk, score in raw.items()}
        ranked = state.ranked(
            "fuse.rsf",
            scores,
            keep=self.keep,
            note={
                "alpha": round(alpha, 4),
                "formula": round(alpha_of_query, 4),
                "by": by,
                "trust": trust,
                "shift": round(shift, 4),
                "style": state.query.style,
                "across": across,
                "boosted": sum(factors.get(chunk, 1.0) != 1.0 for chunk in raw),
            },
        )
        return replace(ranked, candidates=tuple(_explained(c, ranked, raw[c.chunk]) for c in ranked.candidates))

    def alpha(self, query: Query) -> tuple[float, str]:
        """The weight of the dense arm before shift and cap, and what it was decided by."""
        if self.vector_weight >= 0:
            return self.vector_weight, "vector_weight"
        if query.style in STYLE_WEIGHTS:
            return STYLE_WEIGHTS[query.style], "style"
        return 0.4 + 0.3 / (1 + exp(-(query.token_count - self.centre) / self.slope)), "formula"

    def _fused(self, state: State, ports: Ports, alpha: float) -> tuple[dict[int, float], int]:
        """Scores before boosts, and how many of them are of passages in the other language."""
        dense, lexical = (scaled(state.arms.get(arm, {}), self.each) for arm in ("dense", "lexical"))
        titled = islice(state.arms.get("title", {}), self.each)
        chunks = list(dict.fromkeys([*lexical, *dense, *titled]))
        reads_both = min(ports.embedder.trust(0.0), ports.embedder.trust(1.0)) >= READS
        is_read = reads_both or self.title_weight > 0
        heads = ports.facts.heads(chunks) if is_read and ports.facts is not None else {}
        shares = shares_in(state.query.weights, {head.text for head in heads.values()}) if self.title_weight > 0 else {}
        language = state.query.language
        across = {chunk for chunk, head in heads.items() if reads_both and is_across(language, head.language)}
        words = lexical | {chunk: ACROSS * dense.get(chunk, 0.0) for chunk in across}
        bonus = {chunk: self.title_weight * shares.get(head.text, 0.0) for chunk, head in heads.items()}
        return {
            chunk: alpha * dense.get(chunk, 0.0) + (1 - alpha) * (words.get(chunk, 0.0) + bonus.get(chunk, 0.0))
            for chunk in chunks
        }, len(across)


def _factor(state: State, chunk: int) -> float:
    low, high = BOOST_RANGE
    return min(max(state.boosts.get(state.pool[chunk].document, 1.0), low), high)


def _explained(candidate: Candidate, state: State, raw: float) -> Candidate:
    """The candidate with its boost, the reasons for it and the score before it, where it has one."""
    factor = _factor(state, candidate.chunk)
    if factor == 1.0:
        return candidate
    boost = {"factor": round(factor, 4), "raw": raw, "why": list(state.reasons.get(candidate.document, ()))}
    return candidate.explained("boost", boost)


def scaled(arm: Mapping[int, float], limit: int) -> dict[int, float]:
    """The first `limit` scores divided by the best one, negative ones as 0; empty if the best is not above 0."""
    first = dict(islice(arm.items(), limit))
    best = max(first.values(), default=0.0)
    return {chunk: max(score, 0.0) / best for chunk, score in first.items()} if best > 0 else {}


@stage("rank.single_arm", label=_("single ranking"), timing="fine")
@dataclass(frozen=True, slots=True, kw_only=True)
class RankSingleArm:
    """Order by the raw score of `arm` ("lexical": BM25, "dense": cosine); candidates outside it are dropped."""

    arm: str
    keep: int = 80

    def __call__(self, state: State, ports: Ports) -> State:
        return state.ranked("rank.single_arm", state.arms.get(self.arm, {}), keep=self.keep, note={"arm": self.arm})
