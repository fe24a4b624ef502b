"""The focus of a follow-up: documents that the previous answer cited.

"How long is it valid?" after an answer from the laboratory rules asks for something in these rules, whatever else has
the words. A question that has turned to something else has no focus, and neither has one of a client that sends the
turns itself: they name no documents.
"""

from __future__ import annotations

from chat.answering.cache_key import understand_by_rules
from chat.answering.context import AnswerContext
from knowledge import model_registry
from ragcore.understanding.standalone import within_conversation

MOST_DOCUMENTS = 2  # the first ones that the answer cited


def focus_documents(context: AnswerContext) -> tuple[int, ...]:
    """Ids of the documents that the question is about by its conversation, at most MOST_DOCUMENTS; may be empty."""
    if not context.cited_before:
        return ()
    _understood, depends_on_history = understand_by_rules(context)
    return context.cited_before[:MOST_DOCUMENTS] if depends_on_history else ()


def focus_question(context: AnswerContext, query: str) -> str:
    """The question behind the one before it, as it is compared with what stands in the focus; "" without a focus."""
    if not focus_documents(context):
        return ""
    return within_conversation(query, context.question, model_registry.tokenizer())
