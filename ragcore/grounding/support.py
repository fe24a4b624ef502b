"""Whether the sources support each sentence of an answer: rules and a trained model, then a language model.

`judge_undecided` asks a language model about the sentences that the rules leave open.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest
from typing import Any

import regex
from pydantic.dataclasses import dataclass as validated

from ragcore.errors import fill
from ragcore.grounding.context import render_context
from ragcore.grounding.source_texts import MARKER, SourceSimilarity, SourceText
from ragcore.grounding.support_model import SupportFeatures, SupportModel
from ragcore.llm.client import LlmClient
from ragcore.ports import Embedder, Tokenizer
from ragcore.text.code_blocks import CodeBlock, code_blocks, verbatim_parts
from ragcore.text.markdown import is_row, is_rule, labelled, row_cells, tables, without_pictures
from ragcore.text.normalise import squeeze
from ragcore.text.scripts import cjk_share
from ragcore.text.sentences import lines_of, split_sentences
from ragcore.types import Sentence, Source

SUPPORTED_FROM = 0.5  # of the probability of the model
CONTRADICTED_BELOW = 0.15  # a cited source that says so little of the sentence does not carry it
MIN_LETTERS = 4
FIELD_DOT = " · "
OTHER_SCRIPT = 0.5  # difference of the CJK shares from which the words of two texts cannot be compared

# Reasons whose text changes from case to case, by name.
REASONS: Mapping[str, str] = {
    "similar": "No source is cited; source %(number)s says something similar.",
    "figures": "These numbers are not in any source: %(figures)s.",
}
NOT_CITED = "No source is cited, and none says this."
IN_PART = "The cited source says this only in part."
OTHER_LANGUAGE = "The cited source is in another language, so the wording could not be compared."
NOT_SAID = "The cited source does not say this."

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_MARKERS_OF_CODE = re.compile(r"\s*(?P<markers>(?:\[\d{1,3}\])+)")
_PREFIX = re.compile(r"(?:[-*+>•·]|\d{1,3}[.)、])\s+")
# a heading by other means; a question claims nothing
_BOLD_LINE = re.compile(r"\*\*[^*]*[^*.。!！]\*\*|__[^_]*[^_.。!！]__")
_NUMBER = re.compile(r"\[(\d{1,3})\]")
_RULE = re.compile(r"[\s|:\-=_*]*")

_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]|[\p{L}\p{N}\p{M}]+")
_COLON = re.compile(r"[:：]")
_OWN_MARKER = re.compile(r"［(\^?\d{1,3})］")  # a source's own [n], as a quotation writes it
JUDGED = 12  # sentences in one request; the rest go into further ones
REFUSED = "A language model compared them: the cited source does not say this."
_OPEN = frozenset({IN_PART, OTHER_LANGUAGE})


def support_states(
    text: str,
    sources: Sequence[Source],
    *,
    tokenizer: Tokenizer,
    embedder: Embedder | None = None,
    similarity: SourceSimilarity | None = None,
    refusals: Collection[str] = (),
    threshold: float = SUPPORTED_FROM,
    model: SupportModel | None = None,
) -> list[Sentence]:
    """Every sentence that claims something, in order, as it stands in `text` (which has `[n]` markers only).

    Headings (also bold lines without a full stop, and names of columns), code, lines that only introduce a list, and
    refusals claim nothing and are left out. `threshold`: probability of the model from which a sentence is supported.
    """
    similarity = similarity or SourceSimilarity(sources, tokenizer, embedder)
    refused = {squeeze(sentence) for sentence in refusals}
    judge = _Judge(
        similarity=similarity,
        evidence=SupportFeatures(similarity.texts, similarity.embedder),
        model=model or SupportModel.shipped(similarity.embedder.model if similarity.embedder else ""),
        threshold=threshold,
    )
    claims_made = [claim for claim in claims(text) if squeeze(claim) not in refused]
    lent = lent_markers(text, claims_made)
    judged = [judge.sentence(claim, numbers) for claim, numbers in zip(claims_made, lent, strict=True)]
    return _in_order(text, judged, list(quoted_code(text, similarity.texts.all)))


def quoted_code(text: str, texts: Iterable[SourceText]) -> Iterator[Sentence]:
    """The blocks of code of an answer that stand, character by character, in a source that a marker behind them names.

    Other code claims nothing: a model may write an example of its own. Lines may be left out where a line says so.
    """
    by_number = {source_text.source.number: source_text for source_text in texts}
    for block in code_blocks(text):
        if (behind := _MARKERS_OF_CODE.match(text, block.end)) is None:
            continue
        cited = tuple(dict.fromkeys(int(number) for number in _NUMBER.findall(behind["markers"])))
        originals = [by_number[number].source.text for number in cited if number in by_number]
        if any(_holds_code(original, block) for original in originals):
            block_text = text[block.start : block.end].rstrip()
            yield Sentence(text=block_text, support="supported", citations=cited, quoted=True)


def _holds_code(original: str, block: CodeBlock) -> bool:
    codes = [original_block.code for original_block in code_blocks(original)]
    parts = verbatim_parts(block.code)
    return bool(parts) and any(all(part.rstrip() in code for part in parts) for code in codes)


def _in_order(text: str, sentences: Sequence[Sentence], code: Sequence[Sentence]) -> list[Sentence]:
    """Both in the order in which they stand in the text."""
    if not code:
        return list(sentences)
    placed: list[tuple[int, Sentence]] = []
    for group in (sentences, code):
        at = 0
        for sentence in group:
            start = max(text.find(sentence.text, at), at)
            placed.append((start, sentence))
            at = start + len(sentence.text)
    return [sentence for _start, sentence in sorted(placed, key=lambda item: item[0])]


def lent_markers(text: str, claims_made: Sequence[str]) -> list[tuple[int, ...]]:
    """For each claim without a marker those of the next claim in the same line that has some; () for the others.

    The claims stand in the text in this order.
    """
    lines = lines_of(text, claims_made)
    lent: list[tuple[int, ...]] = [()] * len(claims_made)
    behind: tuple[int, tuple[int, ...]] = (-1, ())
    for at in range(len(claims_made) - 1, -1, -1):
        numbers = tuple(int(n) for n in _NUMBER.findall(claims_made[at]))
        if numbers:
            behind = (lines[at], numbers)
        elif behind[0] == lines[at]:
            lent[at] = behind[1]
    return lent


def claims(text: str) -> Iterator[str]:
    """The sentences of an answer that claim something, as they stand in it, without the sign of their list item."""
    sentences = split_sentences(_FENCE.sub("\n", text))
    for sentence, following in zip_longest(sentences, sentences[1:], fillvalue=""):
        claim = sentence.strip()
        if is_row(claim) and is_rule(following):
            continue  # names of columns claim nothing
        while prefix := _PREFIX.match(claim):
            claim = claim[prefix.end() :]
        bare = MARKER.sub("", claim).rstrip("*_ ")
        if claim.startswith("#") or _BOLD_LINE.fullmatch(claim) or bare.endswith((":", "：")) or _RULE.fullmatch(bare):
            continue
        if sum(char.isalnum() for char in bare) >= MIN_LETTERS:
            yield claim


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judge:
    similarity: SourceSimilarity
    evidence: SupportFeatures
    model: SupportModel
    threshold: float

    def sentence(self, claim: str, lent: Sequence[int] = ()) -> Sentence:
        """`lent`: numbers behind a later sentence of the same line; they prove a sentence that is quoted from there."""
        numbers = {source.number for source in self.similarity.sources}
        cited = tuple(n for n in dict.fromkeys(int(n) for n in _NUMBER.findall(claim)) if n in numbers)
        if not cited and (near := tuple(dict.fromkeys(n for n in lent if n in numbers))):
            cited = near if is_quoted(claim, self.similarity.texts.of(near)) else ()
        if cited and is_quoted(claim, self.similarity.texts.of(cited)):
            return Sentence(text=claim, support="supported", citations=cited, quoted=True)
        probability = self.model.probability(self.evidence, claim, cited) if numbers else 0.0
        missing = self.similarity.missing_numbers(claim)
        return self._cited(claim, cited, probability, missing) if cited else self._uncited(claim, probability, missing)

    def _uncited(self, claim: str, probability: float, missing: Sequence[str]) -> Sentence:
        if probability < self.threshold and not is_quoted(claim, self.similarity.texts.all):
            return Sentence(text=claim, support="unsupported", reason=NOT_CITED, risk="high")
        if missing:
            return Sentence(text=claim, support="weak", risk="medium", **_figures(missing))
        near = self.similarity.coverage(MARKER.sub("", claim))
        where = max(near, key=lambda number: near[number])
        return Sentence(text=claim, support="weak", risk="low", **_reason("similar", number=where))

    def _cited(self, claim: str, cited: tuple[int, ...], probability: float, missing: Sequence[str]) -> Sentence:
        if missing:
            return Sentence(text=claim, support="weak", citations=cited, risk="medium", **_figures(missing))
        if probability >= self.threshold:
            return Sentence(text=claim, support="supported", citations=cited)
        if self._other_script(claim, cited):
            return Sentence(text=claim, support="weak", citations=cited, reason=OTHER_LANGUAGE, risk="low")
        if probability < min(CONTRADICTED_BELOW, self.threshold):
            return Sentence(text=claim, support="unsupported", citations=cited, reason=NOT_SAID, risk="high")
        return Sentence(text=claim, support="weak", citations=cited, reason=IN_PART, risk="medium")

    def _other_script(self, claim: str, cited: Collection[int]) -> bool:
        share = cjk_share(claim)
        return any(abs(share - cjk_share(s.text)) > OTHER_SCRIPT for s in self.similarity.sources if s.number in cited)


def is_quoted(claim: str, texts: Iterable[SourceText]) -> bool:
    """Whether the words of a claim stand in one of the texts in this order, whatever marks stand between them.

    A claim with several markers is taken apart at them, a row of a table into the cells with a marker, and a point
    behind its announcement at the colon: each part counts for itself. Case and width do not count. Fields between dots
    ("SP-2 · stock: 3") must stand in one row or paragraph, each with its label.
    """
    texts = list(texts)
    if FIELD_DOT in claim and any(_holds_fields(claim, text) for text in texts):
        return True
    parts = [_running(part) for part in _parts(claim)]
    parts = [part for part in parts if part.strip()]
    whole = [running for text in texts for running in _runnings(text.source.text)]
    return bool(parts) and all(_stands(part, whole) for part in parts)


def _holds_fields(claim: str, text: SourceText) -> bool:
    """Whether all fields of a claim stand in the same row or paragraph of a source; the names of the source do, too."""
    fields = [_running(field) for field in MARKER.sub("", claim).split(FIELD_DOT)]
    names = _running(text.names)
    return any(all(field in unit or field in names for field in fields) for unit in _units(text.source.text))


@lru_cache(maxsize=256)
def _units(text: str) -> tuple[str, ...]:
    """The words of each row, with the names of its columns, and of each paragraph of a source."""
    rows = (labelled(table.head, cells) for table in tables(text.splitlines()) for cells in table.rows)
    blocks = (block for block in text.split("\n\n") if not is_row(block))
    return tuple(_running(unit) for unit in (*rows, *blocks))


def _parts(claim: str) -> list[str]:
    if not claim.startswith("|"):
        return [inner for part in _NUMBER.split(claim)[::2] for inner in _COLON.split(part)]
    cells = [cell for cell in row_cells(claim) if _NUMBER.search(cell)]
    return [part for cell in cells for part in _NUMBER.split(cell)[::2]]


def _stands(part: str, whole: Iterable[str]) -> bool:
    return any(part in text for text in whole)


@lru_cache(maxsize=256)
def _runnings(text: str) -> tuple[str, ...]:
    """The words of a source, and those of its rows with the names of their columns."""
    rows = (labelled(table.head, cells) for table in tables(text.splitlines()) for cells in table.rows)
    return _running(text), _running("\n".join(rows))


def _running(text: str) -> str:
    """The words of a text between single spaces, with one in front and one behind; numbers in brackets left out."""
    plain = without_pictures(_OWN_MARKER.sub(r"[\1]", text))
    return f" {' '.join(_WORD.findall(unicodedata.normalize('NFKC', plain).casefold()))} "


def _figures(missing: Sequence[str]) -> dict[str, Any]:
    return _reason("figures", figures=", ".join(missing[:5]))


def _reason(name: str, **data: str | int) -> dict[str, Any]:
    """The fields of a Sentence that say why: in English, and what is needed to translate it."""
    return {"reason": fill(REASONS[name], data), "reason_data": {"reason": name, **data}}


async def judge_undecided(sentences: Sequence[Sentence], sources: Sequence[Source], llm: LlmClient) -> list[Sentence]:
    """The sentences with those decided that the rules could not decide, in order.

    Only cited sentences between the two thresholds, or in another language than their source, are asked about. A
    sentence without a citation, or with a figure that no source has, stays what it is: a model's word does not replace
    evidence. Where the model fails, the rules stay. Never raises for the model.
    """
    judged = list(sentences)
    places = [at for at, sentence in enumerate(judged) if sentence.reason in _OPEN and sentence.citations]
    for start in range(0, len(places), JUDGED):
        part = places[start : start + JUDGED]
        cited = {number for at in part for number in judged[at].citations}
        supported = await _supported([judged[at] for at in part], [s for s in sources if s.number in cited], llm)
        if supported is None:
            break  # later requests would fail the same way, and the reader waits
        for number, at in enumerate(part, start=1):
            judged[at] = _decided(judged[at], number in supported)
    return judged


@validated(frozen=True, slots=True, kw_only=True)
class _Verdict:
    supported: list[int]


async def _supported(sentences: Sequence[Sentence], sources: Sequence[Source], llm: LlmClient) -> set[int] | None:
    """Numbers of supported sentences, from 1; None if the model did not say."""
    statements = "\n".join(f"{n}. {' '.join(s.text.split())}" for n, s in enumerate(sentences, start=1))
    reply = await llm.json("judge_support", _Verdict, context=render_context(sources), statements=statements)
    return None if reply is None else set(reply.supported)


def _decided(sentence: Sentence, supported: bool) -> Sentence:
    if supported:
        return replace(sentence, support="supported", reason=None, risk=None)
    return replace(sentence, support="unsupported", reason=REFUSED, risk="high")
