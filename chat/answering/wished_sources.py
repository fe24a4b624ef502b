"""The answer before in another language, where no language model can translate it.

Answers are quoted as their documents word them. Where passages in the wished language say the same, the answer is
quoted from them; else it is shown again below a line that says what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from chat.answering.answer_language import wished_language
from chat.answering.context import AnswerContext
from chat.answering.fallback import NOT_TRANSLATED
from chat.answering.retrieval import SearchOutcome, build_search_request, run_search
from chat.concurrency.executors import run_cpu
from knowledge import model_registry
from ragcore.embedding.vectors import CachingEmbedder
from ragcore.extractive.sentence_cosines import sentence_cosines
from ragcore.extractive.sentence_meaning import filled, sentence_scores
from ragcore.extractive.sentences import read_statements
from ragcore.text.scripts import language_of
from ragcore.types import Source
from ragcore.types.answering import AnswerState

MOST_PASSAGES = 30  # of the search for passages in the wished language
MOST_SOURCES = 5  # of them
ALIKE = 0.5  # cosine from which a sentence says what one in the other language says
ALIKE_FIGURES = 0.35  # the same of two with the same figures
_MARKER = re.compile(r"\[\d{1,3}\]")
_OWN_LINE = re.compile(r"^\*\*[^*\n]+\*\*$", re.MULTILINE)
_FIGURES = re.compile(r"\d+(?:[.,:]\d+)*")


async def in_language(
    context: AnswerContext, state: AnswerState, outcome: SearchOutcome
) -> tuple[AnswerState, SearchOutcome, str]:
    """The state with passages in the wished language and their search, where they say what the answer before did.

    Else both as they are, and the line that stands above the answer; "" where no other language is wished.
    """
    language = wished_language(context)
    if language is None:
        return state, outcome, ""
    unchanged = state, outcome, f"**{NOT_TRANSLATED['zh' if context.question.language == 'zh' else 'en']}**\n\n"
    if language == "other":
        return unchanged
    further = await _search_further(context, state.query)
    hits = [(p, c) for p, c in further.hits if language_of(p.text) == language][:MOST_SOURCES]
    sources = tuple(Source(number=at, passage=p, text=p.text, score=1 / at) for at, (p, c) in enumerate(hits, start=1))
    if not sources:
        return unchanged
    same = await run_cpu(_same_source, state.query, sources, context.history[-1].answer)
    if same is None:
        return unchanged
    return replace(state, sources=(same,), further_sources=()), further, ""


async def _search_further(context: AnswerContext, question: str) -> SearchOutcome:
    """A search that goes on behind the best passages, which are mostly in the question's own language."""
    request = build_search_request(context, question, top_k=MOST_PASSAGES)
    options = {**request.options, "cliff": False}
    request = replace(request, defaults={**request.defaults, "cliff": False}, options=options, profile=context.profile)
    return SearchOutcome(retrieved=await run_search(scope=context.scope, request=request), seconds=0.0)


def _same_source(question: str, sources: Sequence[Source], answer: str) -> Source | None:
    """The source whose sentence answers as the answer before did: with its figures, and near to it by meaning."""
    first, tokenizer = _first_sentence(answer), model_registry.tokenizer()
    embedder = CachingEmbedder(model_registry.embedder())
    statements = [statement for statement in read_statements(sources, tokenizer) if not statement.is_row]
    if not first or not statements:
        return None
    best = statements[int(sentence_scores(question, statements, embedder, tokenizer).argmax())]
    figures = set(_FIGURES.findall(first))
    is_near = float(filled(sentence_cosines(first, [best], embedder))[0]) >= (ALIKE_FIGURES if figures else ALIKE)
    return best.source if is_near and figures <= set(_FIGURES.findall(best.text)) else None


def _first_sentence(answer: str) -> str:
    """What an answer quotes first, up to its first marker or line."""
    plain = _OWN_LINE.sub("", answer).strip()
    return _MARKER.split(plain.partition("\n")[0])[0].replace("*", "").strip()
