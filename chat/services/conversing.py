"""Replies that need no documents: greetings, thanks, questions about the conversation itself (V10)."""

from __future__ import annotations

from ragcore.answering.types import Question, Turn
from ragcore.llm.client import LlmClient

SHOWN_TURNS = 10
SHOWN_CHARACTERS = 300  # of an answer, for the model
GREETING = {
    "zh": "您好！请提出与知识库有关的问题，我会根据文档回答并注明出处。",
    "en": "Hello! Ask about what is in the knowledge base; the answer will come from its documents, with sources.",
}
ASKED = {"zh": "到目前为止，您问过：", "en": "So far you have asked:"}


async def conversation_reply(question: Question, *, asker: LlmClient | None) -> tuple[str, str]:
    """The reply and the model that wrote it; without one the questions so far, or a greeting."""
    language = "zh" if question.language == "zh" else "en"
    turns = question.history[-SHOWN_TURNS:]
    if asker is not None:
        told = await asker.text(
            "conversation", temperature=0.3, conversation=_conversation(turns), question=question.text
        )
        if told and told.strip():
            return told.strip(), asker.model.name
    if not turns:
        return GREETING[language], ""
    return "\n".join([ASKED[language], "", *(f"- {turn.question}" for turn in turns)]), ""


def _conversation(turns: tuple[Turn, ...]) -> str:
    return (
        "\n".join(f"User: {turn.question}\nAssistant: {turn.answer[:SHOWN_CHARACTERS]}" for turn in turns) or "(none)"
    )
