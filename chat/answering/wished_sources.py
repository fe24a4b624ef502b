"""The answer before in another language, where no language model can translate it.

Answers are quoted as their documents word them. Where passages in the wished language say the same, the answer is
quoted from them; else it is shown again below a line that says what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from chat.answering.answer_language import wished_language
from chat.answering.answerability import judge_answerability
from chat.answering.context import AnswerContext
from chat.answering.fallback import NOT_TRANSLATED
from chat.answering.retrieval import SearchOutcome
from chat.concurrency.executors import run_cpu
from knowledge import model_registry
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.ports import GenerationRequest
from ragcore.text.scripts import language_of
from ragcore.types import Source
from ragcore.types.answering import AnswerState
from ragcore.types.sentence_vectors import direction

LEAST_ALIKE = 0.5  # cosine from which the first sentences of two answers may say the same
_MARKER = re.compile(r"\[\d{1,3}\]")
_OWN_LINE = re.compile(r"^\*\*[^*\n]+\*\*$", re.MULTILINE)
_FIGURES = re.compile(r"\d+(?:[.,:]\d+)*")


async def in_language(context: AnswerContext, state: AnswerState, outcome: SearchOutcome) -> tuple[AnswerState, str]:
    """The state with the sources in the wished language, where they answer as the answer before did.

    Else the state as it is, and the line that stands above the answer; "" where no other language is wished.
    """
    language = wished_language(context)
    if language is None:
        return state, ""
    line = f"**{NOT_TRANSLATED['zh' if context.question.language == 'zh' else 'en']}**\n\n"
    sources = tuple(source for source in state.sources if language_of(source.passage.text) == language)
    if language == "other" or not sources:
        return state, line
    verdict = await judge_answerability(context, replace(state, sources=sources), outcome, sources)
    if not verdict.is_answerable or not await run_cpu(_says_the_same, state.query, sources, context.history[-1].answer):
        return state, line
    return replace(state, sources=sources), ""


def _says_the_same(question: str, sources: Sequence[Source], answer: str) -> bool:
    """Whether what these sources answer is the answer before: near by meaning, and with one of its figures."""
    embedder = model_registry.embedder()
    request = GenerationRequest(question=question, sources=tuple(sources))
    quoted = "".join(ExtractiveGenerator(model_registry.tokenizer(), embedder).blocks(request))
    first, other = _first_sentence(answer), _first_sentence(quoted)
    if not first or not other:
        return False
    figures = set(_FIGURES.findall(first)), set(_FIGURES.findall(other))
    if figures[0] and not figures[0] & figures[1]:
        return False
    vectors = embedder.embed_documents([first, other])
    return float(direction(vectors[0]) @ direction(vectors[1])) >= LEAST_ALIKE


def _first_sentence(answer: str) -> str:
    """What an answer quotes first, up to its first marker or line."""
    plain = _OWN_LINE.sub("", answer).strip()
    return _MARKER.split(plain.partition("\n")[0])[0].replace("*", "").strip()
