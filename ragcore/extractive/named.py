"""What a question names by its title is what its answer is about (A4).

"How did Acme Ltd. finance its growth in 2020?" is answered from the reports of Acme Ltd. Sentences of other companies'
reports that share every other word of it are true, and no answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.extractive.sentences import Statement
from ragcore.ports import Tokenizer
from ragcore.text.tokenise import stop_words

LEAST_WORDS = 2  # of a title, so that it names something


def about_named(question: str, found: Sequence[Statement], tokenizer: Tokenizer) -> Sequence[Statement]:
    """The sentences of documents whose whole title the question names; all where it does not name the best source's."""
    if not found:
        return found
    asked = set(tokenizer.words(question))
    titles = {s.source.passage.title for s in found}
    named = {title for title in titles if _is_named(title, asked, tokenizer)}
    best = min(found, key=lambda s: s.source.number)
    if best.source.passage.title not in named or named == titles:
        return found
    return [s for s in found if s.source.passage.title in named]


def _is_named(title: str, asked: set[str], tokenizer: Tokenizer) -> bool:
    words = set(tokenizer.words(title)) - stop_words()
    return len(words) >= LEAST_WORDS and words <= asked
