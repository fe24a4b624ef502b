"""What a published lexicon does for the golden cases that mention its terms, as a whole and by term (D8)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from statistics import fmean
from typing import Any

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from evaluation.models import GoldenCase
from evaluation.services.run_cases import ranked_documents
from knowledge.models import LexiconVersion
from knowledge.selectors.lexicon import lexicon_of_version
from knowledge.services import retrieve
from knowledge.services.lexicon.publishing import version_measured_set, versions_unmeasured
from knowledge.types import RetrievalRequest
from ragcore.metrics.quality import ndcg_at_k

MOST_CASES = 200  # of one version
MOST_TERMS = 100  # that are told


def lexicons_measure() -> int:
    """Measure every version in use that was not measured yet, with the rights of who published it; returns how many."""
    done = 0
    for version in versions_unmeasured():
        if version.author is not None:
            version_measured_set(version_id=version.pk, measured=lexicon_measure(version, actor=version.author))
            done += 1
    return done


def lexicon_measure(version: LexiconVersion, *, actor: User) -> dict[str, Any]:
    """Mean nDCG@10 of the cases that mention a term, without and with the lexicon, and the same for each term.

    {"cases", "before", "after", "terms": {name: {"cases", "before", "after"}}}, or {"cases": 0, "terms": {}} where no
    case mentions one.
    """
    scope = scope_for(actor)
    lexicon = lexicon_of_version(version)
    pairs: list[tuple[float, float]] = []
    by_term: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for case in _cases(version):
        mentioned = lexicon.mentions(case.question)
        if not mentioned:
            continue
        before, after = (_ndcg(scope, case, lexicon=on) for on in (False, True))
        pairs.append((before, after))
        for mention in mentioned:
            by_term[lexicon.keys[mention.key][0][0]].append((before, after))
        if len(pairs) >= MOST_CASES:
            break
    terms = sorted(by_term.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_TERMS]
    return {**_means(pairs), "terms": {name: _means(found) for name, found in terms}}


def _cases(version: LexiconVersion) -> Iterator[GoldenCase]:
    """Golden cases of the sets that the lexicon is for, which name a relevant document."""
    rows = GoldenCase.objects.filter(golden_set__tenant_id=version.tenant_id).exclude(relevant=[])
    if version.knowledge_set_id is not None:
        rows = rows.filter(golden_set__sets=version.knowledge_set_id)
    return rows.order_by("pk").iterator()


def _ndcg(scope: Scope, case: GoldenCase, *, lexicon: bool) -> float:
    sets = tuple(case.golden_set.sets.values_list("pk", flat=True))
    request = RetrievalRequest(query=case.question, sets=sets, top_k=10, options={"lexicon": lexicon})
    candidates = retrieve(scope=scope, request=request).state.candidates
    return ndcg_at_k(ranked_documents(candidates, named=case.relevant), set(case.relevant), 10)


def _means(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    if not pairs:
        return {"cases": 0}
    before, after = (fmean(values) for values in zip(*pairs, strict=True))
    return {"cases": len(pairs), "before": round(before, 4), "after": round(after, 4)}
