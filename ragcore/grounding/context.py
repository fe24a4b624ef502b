"""The numbered sources that an answer is written from."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ragcore.grounding.markers import CodeSpans
from ragcore.ports import TokenCounter
from ragcore.text.normalise import visible
from ragcore.types import Passage, Source

SEPARATOR = "\n\n---\n\n"
MAX_SECTION_CHARACTERS = 160  # of the path of headings in the head of a source
MOST_SOURCES = 50  # of one answer (ragcore.options.AnswerOptions.max_chunks)
_SPACE = re.compile(r"\s+")
_OWN_REFERENCE = re.compile(
    r"(?:(?<![A-Za-z0-9_)\]])|(?=\[\^))\[(\^?\d{1,3}(?:\s*[-–,、]\s*\d{1,3})*)\]"
)  # not an index such as a[1]; the mark of a note stands at a figure, too: 2400[^3]
_FORGED = re.compile(r"[\[【]((?:source|来源|來源)\s*[:：#]?\s*\d[^\[\]【】\n]{0,40})[\]】]", re.IGNORECASE)
_PIECE = re.compile(r"(?P<ticks>`+|~{3,})|(?P<newline>\n[ \t]*)|[^`~\n]+|.", re.DOTALL)
_TAG = re.compile(r"<(?=\s*/?\s*(?:context|question|document|conversation|answer|statements)\b)", re.IGNORECASE)
_MAY_HARM = re.compile(r"[\[【<]")  # one of these stands in everything that is changed


def build_context(
    passages: Sequence[tuple[Passage, float]], *, budget_tokens: int, counter: TokenCounter
) -> list[Source]:
    """Sources numbered from 1, highest score first, whose rendered context has at most `budget_tokens` tokens.

    `passages`: with the score of the ranking, any scale, higher is better; ties keep their order. The first passage is
    truncated rather than dropped; of the others those that fit are taken.
    """
    ranked = sorted(passages, key=lambda item: item[1], reverse=True)
    scores = scaled_scores([score for _, score in ranked])
    sources: list[Source] = []
    blocks: list[str] = []
    separator = counter.count(SEPARATOR)
    used = 0  # tokens of the blocks, each with the separator behind it
    for (passage, _), score in zip(ranked, scores, strict=True):
        source = Source(number=len(sources) + 1, passage=passage, text=passage.text.strip(), score=score)
        block = render_context([source])
        tokens = counter.count(block)
        if not _fits([*blocks, block], used + tokens, budget_tokens=budget_tokens, counter=counter):
            cut = None if sources else _truncated(source, budget_tokens=budget_tokens, counter=counter)
            if cut is None:
                continue
            source, block = cut, render_context([cut])
            tokens = counter.count(block)
        sources.append(source)
        blocks.append(block)
        used += tokens + separator
    return sources


def _fits(blocks: Sequence[str], tokens: int, *, budget_tokens: int, counter: TokenCounter) -> bool:
    """Whether the blocks together stay within the budget; `tokens`: of all blocks and separators, each by itself.

    No token reaches beyond a separator, so that each block is counted once. A counter that rounds may find a token more
    for each block and separator: only where that decides the whole is counted.
    """
    if abs(tokens - budget_tokens) > 2 * len(blocks):
        return tokens <= budget_tokens
    return counter.count(SEPARATOR.join(blocks)) <= budget_tokens


def render_context(sources: Sequence[Source]) -> str:
    """`[Source N] (File: …, Section: …, Page: …)` blocks as they stand in the prompt."""
    return SEPARATOR.join(f"{_header(source)}\n{_harmless(source.text)}" for source in sources)


def header_tokens(passage: Passage, counter: TokenCounter) -> int:
    """Tokens that a passage takes in the context besides its text, at most."""
    source = Source(number=MOST_SOURCES, passage=passage, text="", score=0.0)
    return counter.count(f"{SEPARATOR}{_header(source)}\n")


def scaled_scores(scores: Sequence[float]) -> list[float]:
    """Scores of one ranking scaled to 0..1, order kept.

    Scores in 0..1 stay as they are, other positive ones (BM25) become shares of the best, and unbounded ones (logits of
    a reranker) become exp(score - best): their difference is what such a model means.
    """
    if not scores:
        return []
    best = max(scores)
    if min(scores) < 0:
        return [math.exp(score - best) for score in scores]
    return [score / best for score in scores] if best > 1 else list(scores)


def _header(source: Source) -> str:
    passage = source.passage
    name = _SPACE.sub(" ", passage.title or passage.external_id or f"document {passage.document}").strip()
    section = _section(passage, name)
    page = f", Page: {passage.page}" if passage.page is not None else ""
    newer = _SPACE.sub(" ", passage.replaced_by.title).strip() if passage.replaced_by is not None else ""
    edition = f", an older edition, replaced by: {_harmless(newer)}" if newer else ""
    return f"[Source {source.number}] (File: {_harmless(name)}{_harmless(section)}{page}{edition})"


def _section(passage: Passage, name: str) -> str:
    """The headings above a passage, as far as name and text do not say them; the innermost ones where they are long."""
    headings = [_SPACE.sub(" ", heading).strip() for heading in passage.heading_path]
    begin = _SPACE.sub(" ", passage.text[: 2 * MAX_SECTION_CHARACTERS])
    path = ""
    for heading in reversed(headings):
        if not heading or heading == name or heading in begin[: len(heading) + 8]:
            continue
        longer = f"{heading} > {path}" if path else heading
        if len(longer) > MAX_SECTION_CHARACTERS:
            break
        path = longer
    return f", Section: {path}" if path else ""


def _harmless(text: str) -> str:
    """A document must not end the context or pass for another source, nor its own [3] for a citation: that is ［3］.

    What people do not see of it a model does not read either.
    """
    text = visible(text)
    if not _MAY_HARM.search(text):
        return text
    text = _TAG.sub("&lt;", _FORGED.sub(r"［\1］", text))
    code = CodeSpans()
    return "".join(_piece(match, code) for match in _PIECE.finditer(text))


def _piece(match: re.Match[str], code: CodeSpans) -> str:
    piece = match.group()
    if match["ticks"]:
        code.ticks(piece)
    elif match["newline"]:
        code.newline()
    else:
        piece = piece if code.inside else _OWN_REFERENCE.sub(r"［\1］", piece)
        code.text(piece)
    return piece


def _truncated(source: Source, *, budget_tokens: int, counter: TokenCounter) -> Source | None:
    """The source cut so that its block fits; None if not even its header does."""
    room = budget_tokens - counter.count(_header(source) + "\n")
    while room > 0:
        text = counter.truncate(source.text, room)
        cut = Source(number=source.number, passage=source.passage, text=text, score=source.score)
        excess = counter.count(render_context([cut])) - budget_tokens
        if text and excess <= 0:
            return cut
        room -= max(1, excess)
    return None
