"""The language model's say about candidates for a lexicon: a score beside that of the statistics.

It can only add: without a model, or where it does not answer, the candidates are suggested without its score.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator, Sequence
from dataclasses import replace

from accounts.models import Tenant
from knowledge.models import KnowledgeSet, LexiconTerm
from knowledge.models.lexicon import NAME_CHARACTERS
from knowledge.services.lexicon.mining import MinedLexicon
from knowledge.services.lexicon.terms import term_key
from knowledge.services.model_slots import background_json_model
from ragcore.llm.client import LlmClient, can_reply
from ragcore.llm.model_profile import profile_of
from ragcore.representations.term_scores import AT_ONCE, PROMPT, term_scores
from ragcore.text.mining.candidates import TermCandidate
from work.kinds import Checkpoint

logger = logging.getLogger(__name__)

MODEL_SECONDS = 60.0  # of a request to its first token
MOST_FAILURES = 3  # requests in a row without scores, after which the others are not made
Name = tuple[str, str]


def can_score() -> bool:
    """Whether there is a model that can be asked."""
    return _client() is not None


def model_scored(
    lexicon: MinedLexicon, candidates: Sequence[TermCandidate]
) -> Generator[Checkpoint, None, tuple[list[TermCandidate], dict[str, int]]]:
    """The candidates, those with a score that the model judged, and how many were `scored` and `unscored`.

    It is not asked about what people have decided, nor again about what it has judged.
    """
    llm, places = _client(), _open_places(lexicon, candidates)
    scored, domain = list(candidates), _domain(lexicon)
    count = failures = 0
    for start in range(0, len(places) if llm is not None else 0, AT_ONCE):
        if failures == MOST_FAILURES:
            logger.warning("the model gave no scores %s times in a row: the other terms have none", failures)
            break
        some = places[start : start + AT_ONCE]
        scores = _scores([candidates[at] for at in some], domain, llm) if llm is not None else None
        failures = 0 if scores else failures + 1
        for position, score in (scores or {}).items():
            at = some[position]
            scored[at] = replace(scored[at], model_score=round(score, 4))
        count += len(scores or ())
        yield Checkpoint()
    return scored, {"scored": count, "unscored": len(places) - count}


def _client() -> LlmClient | None:
    model = background_json_model()
    if model is None or not can_reply(profile_of(model), PROMPT):
        return None
    return LlmClient(model, seconds=MODEL_SECONDS, is_patient=True)


def _scores(candidates: Sequence[TermCandidate], domain: str, llm: LlmClient) -> dict[int, float] | None:
    try:
        return asyncio.run(term_scores(candidates, domain=domain, llm=llm))
    except Exception:  # the search is worth its result without the model
        logger.exception("the model could not be asked about terms")
        return None


def _domain(lexicon: MinedLexicon) -> str:
    """What the documents are a collection of: the names of the set, or of the tenant."""
    if lexicon.set_id is None:
        return Tenant.objects.values_list("name", flat=True).get(pk=lexicon.tenant_id)
    home = KnowledgeSet.objects.filter(pk=lexicon.set_id).first()
    return home.shown_name if home is not None else ""


def _open_places(lexicon: MinedLexicon, candidates: Sequence[TermCandidate]) -> list[int]:
    """Positions of the candidates that the model is asked about."""
    rows = LexiconTerm.objects.filter(tenant_id=lexicon.tenant_id, knowledge_set_id=lexicon.set_id)
    over = rows.exclude(status=LexiconTerm.Status.CANDIDATE, model_score=None).values_list("key", "long_form")
    names_over: set[Name] = {(key, long_form.lower()) for key, long_form in over}
    return [
        at
        for at, candidate in enumerate(candidates)
        if (term_key(candidate.text), candidate.long_form[:NAME_CHARACTERS].lower()) not in names_over
    ]
