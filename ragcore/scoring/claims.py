"""Faithfulness by claims: a language model lists the claims of an answer, and checks each one against the sources.

After Es et al. 2024 (RAGAS) and Min et al. 2023 (FActScore): supported claims over all claims. A verdict counts as
supported only with a quotation that stands in the named source.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from ragcore.llm.client import LlmClient
from ragcore.text.normalise import squeeze

CLAIMS_PROMPT, CHECK_PROMPT = "judge_claims", "judge_claim"
MAX_CLAIMS = 12  # of one answer; a request each. Of more the first ones are checked
MAX_CHARACTERS = 1000  # of a claim
MIN_QUOTATION = 4  # letters and figures; less stands in any source
CONTEXT_CHARACTERS = 12_000  # of the sources together


class ListedClaims(BaseModel):
    """The reply to the first prompt."""

    model_config = ConfigDict(extra="ignore")

    claims: list[str] = Field(max_length=100)


class CheckedClaim(BaseModel):
    """The reply to the second prompt."""

    model_config = ConfigDict(extra="ignore")

    supported: bool
    source: int = 0
    quotation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimVerdict:
    """One claim of an answer. `source`: 1-based number of the passage that states it; None where none does."""

    text: str
    source: int | None = None

    @property
    def is_supported(self) -> bool:
        return self.source is not None


async def claims_checked(
    *, question: str, answer: str, contexts: Sequence[str], llm: LlmClient
) -> tuple[ClaimVerdict, ...]:
    """The claims of an answer with their verdicts, in the order of the answer.

    () where the model lists none or one of its replies cannot be used: a share of some claims says nothing of all.
    """
    listed = await llm.json(CLAIMS_PROMPT, ListedClaims, question=question, answer=answer)
    if listed is None:
        return ()
    texts = dict.fromkeys(text.strip()[:MAX_CHARACTERS] for text in listed.claims if text.strip())
    context = _numbered(contexts)
    verdicts = []
    for text in list(texts)[:MAX_CLAIMS]:
        checked = await llm.json(CHECK_PROMPT, CheckedClaim, context=context, claim=text)
        if checked is None:
            return ()
        verdicts.append(ClaimVerdict(text=text, source=_stating_source(checked, contexts)))
    return tuple(verdicts)


def supported_share(verdicts: Sequence[ClaimVerdict]) -> float | None:
    """Supported claims over all claims, 0 to 1; None without claims."""
    return sum(verdict.is_supported for verdict in verdicts) / len(verdicts) if verdicts else None


def _numbered(contexts: Sequence[str]) -> str:
    return "\n\n".join(f"[{number}] {text}" for number, text in enumerate(contexts, start=1))[:CONTEXT_CHARACTERS]


def _stating_source(checked: CheckedClaim, contexts: Sequence[str]) -> int | None:
    """The named source, where the quotation stands in it; letter case, spaces and punctuation do not count."""
    quotation = squeeze(checked.quotation)
    if not checked.supported or not 1 <= checked.source <= len(contexts) or len(quotation) < MIN_QUOTATION:
        return None
    return checked.source if quotation in squeeze(contexts[checked.source - 1]) else None
