"""Whether a text states the answer to a question, as a language model tells it that was found able to."""

from __future__ import annotations

import re

from ragcore.llm.client import LlmClient

PROMPT = "judge_stated"  # its file
REPLY_TOKENS = 8
TEXT_CHARACTERS = 1_500  # of a quoted text that is read
_YES = re.compile(r"(?:yes|true)\b|是(?!否)|能|有", re.IGNORECASE)
_NO = re.compile(r"(?:no|not|false)\b|否|不|没|未|无", re.IGNORECASE)


def says_stated(reply: str) -> bool | None:
    """What a reply says; None where it says neither yes nor no."""
    plain = reply.lstrip(" \t\r\n\"'“‘*`([")
    if _NO.match(plain):
        return False
    return True if _YES.match(plain) else None


async def is_stated(llm: LlmClient, question: str, text: str) -> bool | None:
    """Whether a quoted text states the answer, as the model says; None where it does not say so in time."""
    reply = await llm.text(PROMPT, text=text[:TEXT_CHARACTERS], question=question, max_tokens=REPLY_TOKENS)
    return None if reply is None else says_stated(reply)
