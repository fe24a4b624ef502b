"""Whether an answer reads as one text: nothing repeated, nothing broken off, in the language of its question."""

from __future__ import annotations

import re

from ragcore.text.matching import jaccard
from ragcore.text.scripts import cjk_share
from ragcore.text.sentences import split_sentences

REPEATED = 0.8  # share of common words from which a sentence repeats an earlier one
OTHER_SCRIPT = 0.6  # difference of the CJK shares of question and answer that counts as another language
MOST_COMPARED = 60  # sentences
_WORD = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
_ENDED = re.compile(r"[.!?…。！？:：)）\]】|`*_”\"'》」』>-]\s*\Z")
_OPEN_FENCE = re.compile(r"^(```|~~~)", re.MULTILINE)
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")


def coherence(answer: str, *, question: str) -> float:
    """0 to 1: 1 minus the share of repeated sentences, halved for each of a break at the end and another language."""
    sentences = [s for s in split_sentences(answer) if any(char.isalnum() for char in s)][:MOST_COMPARED]
    if not sentences:
        return 0.0
    words = [frozenset(_WORD.findall(sentence.lower())) for sentence in sentences]
    repeated = sum(any(jaccard(words[at], earlier) >= REPEATED for earlier in words[:at]) for at in range(len(words)))
    score = 1 - repeated / len(sentences)
    if _breaks_off(answer, sentences[-1], len(sentences)):
        score /= 2
    if abs(cjk_share(answer) - cjk_share(question)) > OTHER_SCRIPT:
        score /= 2
    return score


def _breaks_off(answer: str, last: str, count: int) -> bool:
    """Whether a code block stays open, or a text of several sentences ends in the middle of one; lists may."""
    if len(_OPEN_FENCE.findall(answer)) % 2:
        return True
    return count > 1 and not _ENDED.search(last.strip()) and not _LIST_ITEM.match(last)
