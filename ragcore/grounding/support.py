"""How well each sentence of an answer is supported by the sources (B4, V8)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from ragcore.grounding.similarity import MARKER, SourceSimilarity
from ragcore.ports import Embedder, Tokenizer
from ragcore.text.normalise import squeeze
from ragcore.text.scripts import cjk_share
from ragcore.text.sentences import split_sentences
from ragcore.types import Sentence, Source

SUPPORTED_FROM = 0.5  # V8
CONTRADICTED_BELOW = 0.15  # a cited source that shares next to nothing with the sentence does not carry it
MIN_LETTERS = 4
OTHER_SCRIPT = 0.5  # difference of the CJK shares from which the words of two texts cannot be compared

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_PREFIX = re.compile(r"(?:[-*+>•·]|\d{1,3}[.)、])\s+")
_BOLD_LINE = re.compile(r"(\*\*|__)[^*_]*[^*_.。!！?？]\1")  # a heading by other means
_NUMBER = re.compile(r"\[(\d{1,3})\]")
_RULE = re.compile(r"[\s|:\-=_*]*")


def support_states(
    text: str,
    sources: Sequence[Source],
    *,
    tokenizer: Tokenizer,
    embedder: Embedder | None = None,
    similarity: SourceSimilarity | None = None,
    refusals: Collection[str] = (),
    threshold: float = SUPPORTED_FROM,
) -> list[Sentence]:
    """Every sentence that claims something, in order, as it stands in `text` (which has `[n]` markers only).

    Headings (also bold lines without a full stop), code, lines that only introduce a list, and refusals claim nothing
    and are left out.
    """
    similarity = similarity or SourceSimilarity(sources, tokenizer, embedder)
    refused = {squeeze(sentence) for sentence in refusals}
    return [_judged(claim, similarity, threshold) for claim in _claims(text) if squeeze(claim) not in refused]


def _claims(text: str) -> Iterator[str]:
    for sentence in split_sentences(_FENCE.sub("\n", text)):
        claim = sentence.strip()
        while prefix := _PREFIX.match(claim):
            claim = claim[prefix.end() :]
        bare = MARKER.sub("", claim).rstrip("*_ ")
        if claim.startswith("#") or _BOLD_LINE.fullmatch(claim) or bare.endswith((":", "：")) or _RULE.fullmatch(bare):
            continue
        if sum(char.isalnum() for char in bare) >= MIN_LETTERS:
            yield claim


def _judged(claim: str, similarity: SourceSimilarity, threshold: float) -> Sentence:
    known = {source.number for source in similarity.sources}
    cited = tuple(n for n in dict.fromkeys(int(n) for n in _NUMBER.findall(claim)) if n in known)
    near = similarity.of(claim)
    best = max((near[number] for number in cited or near), default=0.0)
    missing = similarity.missing_numbers(claim)
    if cited:
        return _cited(claim, cited, best, missing, similarity, threshold)
    if best < threshold:
        return Sentence(
            text=claim, support="unsupported", reason="No source is cited, and none says this.", risk="high"
        )
    if missing:
        return Sentence(text=claim, support="weak", reason=_numbers(missing), risk="medium")
    where = max(near, key=lambda number: near[number])
    return Sentence(
        text=claim, support="weak", reason=f"No source is cited; source {where} says something similar.", risk="low"
    )


def _cited(
    claim: str,
    cited: tuple[int, ...],
    best: float,
    missing: list[str],
    similarity: SourceSimilarity,
    threshold: float,
) -> Sentence:
    if missing:
        return Sentence(text=claim, support="weak", citations=cited, reason=_numbers(missing), risk="medium")
    if best >= threshold:
        return Sentence(text=claim, support="supported", citations=cited)
    if _other_script(claim, cited, similarity):
        reason = "The cited source is in another language, so the wording could not be compared."
        return Sentence(text=claim, support="weak", citations=cited, reason=reason, risk="low")
    if best < CONTRADICTED_BELOW:
        reason = "The cited source does not say this."
        return Sentence(text=claim, support="unsupported", citations=cited, reason=reason, risk="high")
    reason = "The cited source says this only in part."
    return Sentence(text=claim, support="weak", citations=cited, reason=reason, risk="medium")


def _other_script(claim: str, cited: Collection[int], similarity: SourceSimilarity) -> bool:
    share = cjk_share(claim)
    return any(abs(share - cjk_share(s.text)) > OTHER_SCRIPT for s in similarity.sources if s.number in cited)


def _numbers(missing: Sequence[str]) -> str:
    return f"These figures stand in no source: {', '.join(missing[:5])}."
