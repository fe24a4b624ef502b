"""The thread of a conversation: a follow-up that names nothing is looked for where the answer before stood.

First in the row of a table that it told: "why did it move" asks for another column of that row. Then with the subject
of the last question before it: "how long does it take" after one about a release. What the document of the answer
before does not answer is asked as it was written.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from chat.answering.answerability import Verdict, judge_answerability
from chat.answering.context import AnswerContext
from chat.answering.focus import focus_documents
from chat.answering.preparation import Preparation, retrieve
from chat.answering.retrieval import read_documents, sources_behind
from chat.answering.stage_ports import AnswerPorts
from chat.concurrency.executors import run_cpu
from knowledge import model_registry
from ragcore.extractive.row_follow_up import question_of_row
from ragcore.extractive.sentences import read_statements
from ragcore.text.codes import codes_in
from ragcore.text.scripts import columns, language_of
from ragcore.types import Passage
from ragcore.types.answering import AnswerState
from ragcore.understanding.standalone import names_of, thread_subject

_THAT_EDITION = re.compile(r"^(?:那|这|該|该|此)(?:一)?[个個份款]?(?:版本|版|型号|型號|文件|文档)(?:的|里|中)?")
MOST_PASSAGES = 60  # of one document
MOST_COLUMNS = 60  # of a follow-up that may lack its subject


async def retrieve_in_thread(context: AnswerContext, ports: AnswerPorts, state: AnswerState) -> Preparation:
    """Sources for a question, read with the row or subject of the answer before where that is what it asks about.

    With a language model, which reads the conversation itself, by the question as it is.
    """
    plain = partial(retrieve, context, ports)
    if not context.cited_chunks or model_registry.chat_model() is not None:
        return await plain(state)
    if text := await _question_of_row(context, state):
        return await _retrieve_within(context, ports, replace(state, standalone=text))
    text = await run_cpu(_with_subject, context, state)
    if not text:
        return await plain(state)
    unchanged = await plain(state)
    other = replace(ports, searches=[])  # the first search of each reading looks into the focus
    carried = await retrieve(context, other, replace(state, standalone=text))
    ports.searches += other.searches
    with_subject, alone = await _verdict(context, ports, carried), await _verdict(context, ports, unchanged)
    if not with_subject.is_answerable or (alone.is_answerable and not await run_cpu(_is_in_focus, context, carried)):
        return unchanged
    is_elsewhere = alone.is_answerable and not await run_cpu(_is_in_focus, context, unchanged)
    return unchanged if is_elsewhere and alone.most_confidence >= with_subject.most_confidence else carried


async def _retrieve_within(context: AnswerContext, ports: AnswerPorts, state: AnswerState) -> Preparation:
    """Sources from the document that the answer before cited first, or from those that the filters name."""
    filters = context.request.filters
    if filters.names_documents:
        return await retrieve(context, ports, state)
    request = replace(context.request, filters=replace(filters, documents=context.cited_before[:1]))
    narrowed = replace(ports, context=replace(context, request=request))
    preparation = await retrieve(narrowed.context, narrowed, state)
    ports.is_context_reported |= narrowed.is_context_reported
    return preparation


async def _question_of_row(context: AnswerContext, state: AnswerState) -> str:
    passages = await read_documents(context, state.query, context.cited_chunks[:1], most=MOST_PASSAGES)
    answer = context.history[-1].answer if context.history else ""
    return await run_cpu(_of_row, context.question.text, answer, passages) if passages and answer else ""


def _of_row(question: str, answer: str, passages: list[Passage]) -> str:
    tokenizer = model_registry.tokenizer()
    return question_of_row(question, answer, read_statements(sources_behind((), passages), tokenizer), tokenizer)


def _with_subject(context: AnswerContext, state: AnswerState) -> str:
    """A question without any name behind or before what the last one was about; "" where it needs none."""
    question, tokenizer = context.question, model_registry.tokenizer()
    text = question.text
    if state.query != text or columns(text) > MOST_COLUMNS or codes_in(text) or names_of(text, tokenizer):
        return ""
    subject = thread_subject(question, tokenizer)
    if not subject or subject.lower() in text.lower():
        return ""
    if language_of(text) == "zh":
        return f"{subject}{_THAT_EDITION.sub('', text)}"
    return f"{text.rstrip(' ?.!')} for {subject}?"


def _is_in_focus(context: AnswerContext, preparation: Preparation) -> bool:
    """Whether the best source belongs to the answer before."""
    sources = preparation.state.sources
    if not sources:
        return False
    return min(sources, key=lambda source: source.number).passage.document in focus_documents(context)


async def _verdict(context: AnswerContext, ports: AnswerPorts, preparation: Preparation) -> Verdict:
    state = preparation.state
    if not state.sources:
        return Verdict(is_answerable=False, most_confidence=0.0)
    return await judge_answerability(context, state, ports.main_search(state), state.sources)
