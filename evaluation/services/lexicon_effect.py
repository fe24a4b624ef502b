"""What a version of a lexicon does for the golden cases that mention its terms, as a whole and by term.

It is compared with the version that was in use before it, or with no lexicon where it is the first one. Everything else
stays as it is, other lexicons among it.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator
from statistics import fmean
from typing import Any

from accounts.scope import Scope
from accounts.selectors import scope_for
from evaluation.models import GoldenCase
from evaluation.services.gates import asker_of
from evaluation.services.runs.measuring import ranked_documents
from knowledge.models import LexiconVersion
from knowledge.options_draft import OptionsDraft
from knowledge.selectors.lexicon import lexicon_of_version
from knowledge.services import retrieve
from knowledge.services.lexicon.publishing import former_version, version_measured_set, versions_unmeasured
from knowledge.types import RetrievalRequest
from ragcore.metrics.quality import ndcg_at_k

logger = logging.getLogger(__name__)

MOST_CASES = 200  # of one version
MOST_TERMS = 100  # that are told


def lexicons_measure() -> int:
    """Measure every version in use that was not measured yet; returns how many. One that fails leaves the others."""
    count = 0
    for version in versions_unmeasured():
        try:
            version_measured_set(version_id=version.pk, measured=lexicon_measure(version))
            count += 1
        except Exception:
            logger.exception("the effect of lexicon version %s could not be measured", version.pk)
    return count


def lexicon_measure(version: LexiconVersion) -> dict[str, Any]:
    """Mean nDCG@10 of the cases that mention a term, with the version before and with this one, and for each term.

    {"cases", "before", "after", "terms": {name: {"cases", "before", "after"}}}, or {"cases": 0, "terms": {}} where no
    case mentions one. A set is asked with the rights of who published the version, or of somebody else who may ask it.
    """
    lexicon = lexicon_of_version(version)
    former = former_version(version)
    pairs: list[tuple[float, float]] = []
    by_term: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for case in _cases(version):
        mentioned = lexicon.mentions(case.question)
        scope = _scope(case, version) if mentioned else None
        if scope is None:
            continue
        before, after = (_ndcg(scope, case, version, tried) for tried in (former, version.pk))
        pairs.append((before, after))
        for mention in mentioned:
            by_term[lexicon.keys[mention.key][0][0]].append((before, after))
        if len(pairs) >= MOST_CASES:
            break
    terms = sorted(by_term.items(), key=lambda item: (-len(item[1]), item[0]))[:MOST_TERMS]
    return {**_means(pairs), "terms": {name: _means(scores) for name, scores in terms}}


def _scope(case: GoldenCase, version: LexiconVersion) -> Scope | None:
    """The rights to ask all sets of a case with; None where nobody has them."""
    sets = list(case.golden_set.sets.order_by("pk"))
    askers = [asker_of(actor=version.author, knowledge_set=home) for home in sets] or [version.author]
    first = askers[0]
    return scope_for(first) if first is not None and all(asker == first for asker in askers) else None


def _cases(version: LexiconVersion) -> Iterator[GoldenCase]:
    """Golden cases of the sets that the lexicon is for, which name a relevant document."""
    rows = GoldenCase.objects.filter(golden_set__tenant_id=version.tenant_id).exclude(relevant=[])
    if version.knowledge_set_id is not None:
        rows = rows.filter(golden_set__sets=version.knowledge_set_id)
    return rows.order_by("pk").iterator()


def _ndcg(scope: Scope, case: GoldenCase, version: LexiconVersion, tried: int | None) -> float:
    """With a version of the same lexicon in the place of this one."""
    sets = tuple(case.golden_set.sets.values_list("pk", flat=True))
    draft = OptionsDraft(lexicons={version.knowledge_set_id: tried})
    request = RetrievalRequest(query=case.question, sets=sets, top_k=10, options={"lexicon": True}, draft=draft)
    candidates = retrieve(scope=scope, request=request).state.candidates
    return ndcg_at_k(ranked_documents(candidates, named=case.relevant), set(case.relevant), 10)


def _means(pairs: list[tuple[float, float]]) -> dict[str, Any]:
    if not pairs:
        return {"cases": 0}
    before, after = (fmean(values) for values in zip(*pairs, strict=True))
    return {"cases": len(pairs), "before": round(before, 4), "after": round(after, 4)}
