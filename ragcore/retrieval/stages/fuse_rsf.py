"""Relative score fusion (feature D4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from math import exp

from ragcore.labels import gettext_noop as _
from ragcore.ports import Ports
from ragcore.retrieval.pipeline import stage
from ragcore.text.matching import shares_in
from ragcore.types import Candidate, Query, State

STYLE_WEIGHTS: Mapping[str, float] = {"precise": 0.8}  # of the dense arm, instead of the formula (V5)
BOOST_RANGE = (0.5, 2.0)  # of the factor of a document, whatever stages before agreed on


@stage("fuse.rsf", label=_("fusion"), timing="fine", ranking="fused")
@dataclass(frozen=True, slots=True, kw_only=True)
class FuseRsf:
    """Merge the dense and lexical rankings into state.candidates, best first.

    Score: (alpha * dense + (1 - alpha) * (lexical + title_weight * heading)) * boost, each ranking scaled by its own
    best hit and its theoretical minimum (0), so that a lone bad hit does not become 1. `heading` is the share of the
    question's terms, by idf, that stand in title and headings; `boost` is that of the document (state.boosts).
    Without boosts and headings the score lies in [0, 1].

    alpha grows with the query: 0.4 + 0.3 / (1 + exp(-(words - centre) / slope)), moved by state.alpha_shift. Instead of
    that stands, where it is set, `vector_weight_zh` or `vector_weight_en` for a question in this language, then
    `vector_weight`, then the weight of the style. alpha never exceeds how far the embedder can be trusted with the
    script of the query.
    """

    centre: float = 8.0  # query words at which alpha is 0.55
    slope: float = 1.0
    vector_weight: float = -1.0  # in [0, 1]: instead of the formula; negative: the formula
    vector_weight_zh: float = -1.0
    vector_weight_en: float = -1.0
    title_weight: float = 0.0
    each: int = 160  # hits of each arm that take part
    keep: int = 80

    def __call__(self, state: State, ports: Ports) -> State:
        wanted, by = self.alpha(state.query)
        shift = state.alpha_shift if by == "formula" else 0.0
        trust = ports.embedder.trust(state.query.cjk_share)
        alpha = min(max(wanted + shift, 0.0), 1.0, trust)
        raw = self._fused(state, ports, alpha)
        factors = {chunk: _factor(state, chunk) for chunk in raw} if state.boosts else {}
        scores = {chunk: score * factors.get(chunk, 1.0) for chunk, score in raw.items()}
        ranked = state.ranked(
            "fuse.rsf",
            scores,
            keep=self.keep,
            note={
                "alpha": round(alpha, 4),
                "formula": round(wanted, 4),
                "by": by,
                "trust": trust,
                "shift": round(shift, 4),
                "style": state.query.style,
                "boosted": sum(factors.get(chunk, 1.0) != 1.0 for chunk in raw),
            },
        )
        return replace(ranked, candidates=tuple(_explained(c, ranked, raw[c.chunk]) for c in ranked.candidates))

    def alpha(self, query: Query) -> tuple[float, str]:
        """The weight of the dense arm before shift and cap, and what it was decided by."""
        by_language = {"zh": self.vector_weight_zh, "en": self.vector_weight_en}.get(query.language, -1.0)
        if by_language >= 0:
            return by_language, f"vector_weight_{query.language}"
        if self.vector_weight >= 0:
            return self.vector_weight, "vector_weight"
        if query.style in STYLE_WEIGHTS:
            return STYLE_WEIGHTS[query.style], "style"
        return 0.4 + 0.3 / (1 + exp(-(query.token_count - self.centre) / self.slope)), "formula"

    def _fused(self, state: State, ports: Ports, alpha: float) -> dict[int, float]:
        """Scores before boosts."""
        dense, lexical = (scaled(state.arms.get(arm, {}), self.each) for arm in ("dense", "lexical"))
        titled = islice(state.arms.get("title", {}), self.each)
        chunks = list(dict.fromkeys([*lexical, *dense, *titled]))
        heads = ports.facts.heads(chunks) if self.title_weight > 0 and ports.facts is not None else {}
        shares = shares_in(state.query.weights, heads.values())
        bonus = {chunk: self.title_weight * shares[head] for chunk, head in heads.items()}
        return {
            chunk: alpha * dense.get(chunk, 0.0) + (1 - alpha) * (lexical.get(chunk, 0.0) + bonus.get(chunk, 0.0))
            for chunk in chunks
        }


def _factor(state: State, chunk: int) -> float:
    low, high = BOOST_RANGE
    return min(max(state.boosts.get(state.pool[chunk].document, 1.0), low), high)


def _explained(candidate: Candidate, state: State, raw: float) -> Candidate:
    """The candidate with its boost, the reasons for it and the score before it, where it has one."""
    factor = _factor(state, candidate.chunk)
    if factor == 1.0:
        return candidate
    boost = {"factor": round(factor, 4), "raw": raw, "why": list(state.reasons.get(candidate.document, ()))}
    return replace(candidate, detail={**candidate.detail, "boost": boost})


def scaled(arm: Mapping[int, float], limit: int) -> dict[int, float]:
    """The first `limit` scores divided by the best one, negative ones as 0; empty if the best is not above 0."""
    first = dict(islice(arm.items(), limit))
    best = max(first.values(), default=0.0)
    return {chunk: max(score, 0.0) / best for chunk, score in first.items()} if best > 0 else {}
