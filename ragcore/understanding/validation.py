"""Whether what a model made of a question is still that question (D2)."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.ports import Tokenizer
from ragcore.text.keywords import keywords
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import language_of

MOST_TIMES, MOST_CHARACTERS = 4, 2000  # of the length of the question, and at all
SHORT = 30  # characters that a question counts with at least: 为什么 may become a whole sentence


def valid_form(
    text: str, question: str, history: Sequence[str], tokenizer: Tokenizer, *, any_language: bool = False
) -> str:
    """The text, normalised; "" if it changed the language, is too long, or shares no word with what was said.

    `history`: all that was said besides, and for `any_language` the other names of terms, too.
    """
    form = normalise_query(text)
    if not form or len(form) > min(MOST_TIMES * max(len(question), SHORT), MOST_CHARACTERS):
        return ""
    if not any_language and "other" not in (pair := (language_of(form), language_of(question))) and pair[0] != pair[1]:
        return ""
    said = set(tokenizer.words(" ".join((question, *history))))
    return form if said & set(keywords(form, tokenizer)) else ""
