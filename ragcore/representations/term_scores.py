"""How likely candidates for a lexicon are terms of a domain, as a language model judges them."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from ragcore.llm.client import LlmClient
from ragcore.text.mining.candidates import TermCandidate

PROMPT = "score_terms"
AT_ONCE = 25  # candidates in one request
REPLY_TOKENS = 20  # of one score
SHOWN_CHARACTERS = 120  # of the place where a candidate stands


class _Score(BaseModel):
    model_config = ConfigDict(extra="ignore")
    number: int
    score: float = Field(ge=0.0, le=1.0)


class _Scores(BaseModel):
    model_config = ConfigDict(extra="ignore")
    scores: list[_Score]


async def term_scores(candidates: Sequence[TermCandidate], *, domain: str, llm: LlmClient) -> dict[int, float] | None:
    """Position → score, 0 surely no term to 1 surely one, of those candidates (at most AT_ONCE) that the model judged.

    A number that it gives twice has no score. None where the model did not answer in this form.
    """
    lines = "\n".join(f"{number}. {_line(candidate)}" for number, candidate in enumerate(candidates, 1))
    most = 60 + REPLY_TOKENS * len(candidates)
    reply = await llm.json(PROMPT, _Scores, max_tokens=most, terms=lines, domain=domain)
    if reply is None:
        return None
    numbers = [each.number for each in reply.scores]
    return {
        each.number - 1: each.score
        for each in reply.scores
        if 1 <= each.number <= len(candidates) and numbers.count(each.number) == 1
    }


def _line(candidate: TermCandidate) -> str:
    names = [candidate.long_form, *candidate.translations[:2], *candidate.synonyms[:2]]
    further = f" ({'; '.join(name for name in names if name)})" if any(names) else ""
    place = " ".join(candidate.evidence.split())[:SHOWN_CHARACTERS]
    return f"{candidate.text}{further}" + (f" - {place}" if place else "")
