"""What English answers name: names, the subject of the first sentence, what the row of a table is about."""

from __future__ import annotations

import re
from dataclasses import replace

from ragcore.understanding.english_mentions import (
    MOST_WORDS,
    QUOTED,
    Token,
    article_before,
    begins_sentence,
    is_verb,
    kind_of,
    names,
    question_mentions,
    tokens,
)
from ragcore.understanding.mentions import Mention, find_row, without_leads
from ragcore.understanding.words import entries

SUBJECT, ALONE, IN_ANSWER = 1.0, 0.3, 0.4  # attention that a mention gains
MOST_WORDS_ALONE = 5  # of an answer that is a name and nothing else
ANSWER_CHARACTERS = 400  # that are read of an answer; what comes later is detail
CHOSEN = 1.5  # of the row that answers "which one"
_ASKS_PLACE = re.compile(r"\bwhere\b|\b(?:what|which) (?:city|country|town|state|place|region|county|village)\b", re.I)
_ASKS_WHICH = re.compile(r"\bwhich\s+\w", re.I)
_OBJECT = re.compile(r"\s+(?:to|the|an?|your|this|that|it|them|all|any|no|only|each|every|everything|nothing)\b")


def answer_mentions(text: str, question: str = "") -> list[Mention]:
    """Names at the beginning of an answer, and the subject of its first sentence, or what its first row is about.

    A short answer to a question for a place is one.
    """
    head = without_leads(text)[:ANSWER_CHARACTERS]
    if (row := find_row(head)) is not None:
        return _row_mentions(*row, question)
    mentions = [Mention(text=m[1], kind="thing", weight=IN_ANSWER, is_name=True) for m in QUOTED.finditer(head)]
    head_names = [name for name in names(head) if not (_is_told_to_do(name, head) or _is_common_plural(name, head))]
    mentions += [replace(name, weight=IN_ANSWER * name.weight * _certainty(name, head)) for name in head_names]
    subject = subject_of(head)
    if not subject or subject.lower() in entries("english", "attributes"):
        return mentions  # "The budget is …" tells what was asked of something
    alone = head.strip(" .,!") in (subject, f"The {subject}", f"the {subject}")
    if alone and _ASKS_PLACE.search(question):
        return [replace(mention, kind="place") for mention in mentions]
    article = article_before(head, head.index(subject))
    weight = ALONE if alone else SUBJECT
    return [*mentions, Mention(text=subject, kind=kind_of(subject), weight=weight, article=article)]


def _row_mentions(key: str, values: str, question: str) -> list[Mention]:
    """What a row of a table is about: most of all what the question named of it, or the row itself if it asked which.

    The headings of its cells are nothing that is spoken about.
    """
    names_of_row, words_of_row = names(values), {token.lower for token in tokens(f"{key} {values}")}
    whole = [name for name in names_of_row if not any(f"{name.key} " in other.key for other in names_of_row)]
    words_of_row |= entries("english", "function")
    topics_of_question = [
        mention
        for mention in question_mentions(question)
        if words_of_row.issuperset(mention.key.split()) and not mention.is_name
    ]
    mentions = [replace(mention, weight=IN_ANSWER) for mention in (*whole, *topics_of_question)]
    chosen = _ASKS_WHICH.search(question) is not None and key.lower() not in question.lower()
    return [*mentions, Mention(text=key, kind="thing", weight=CHOSEN if chosen else IN_ANSWER, is_name=True)]


def _certainty(name: Mention, head: str) -> float:
    """A single word that only ever begins a sentence may be any word with a capital."""
    if " " in name.text or name.kind == "person":
        return 1.0
    places = [match.start() for match in re.finditer(rf"\b{re.escape(name.text)}\b", head)]
    begins = all(begins_sentence(head, at) for at in places)
    return 0.4 if begins else 1.0


def _is_told_to_do(name: Mention, head: str) -> bool:
    """ "Write to the service desk.": a verb that begins a sentence."""
    return " " not in name.text and all(
        _OBJECT.match(head, match.end()) and begins_sentence(head, match.start())
        for match in re.finditer(rf"\b{re.escape(name.text)}\b", head)
    )


def _is_common_plural(name: Mention, head: str) -> bool:
    """ "Customers pay a deposit.": a noun with the capital of its sentence; in "Nandos serves lunch" it is a name."""
    is_plural = " " not in name.text and name.kind == "unknown" and kind_of(name.text) == "plural"
    following = tokens(head[head.find(name.text) + len(name.text) :][:40])[:1]
    has_plural_verb = bool(following) and not following[0].lower.endswith("s")
    return is_plural and has_plural_verb and _certainty(name, head) < 1


def subject_of(text: str) -> str:
    """The content words before the first verb of an answer; "" where it begins in another way."""
    first = re.split(r"(?<=[.?!;])\s", text.strip(), maxsplit=1)[0]
    words: list[Token] = []
    for token in tokens(first):
        if is_verb(token) or token.lower in ("is", "are", "was", "were", "has", "have", "can", "will"):
            break
        words.append(token)
    else:
        if len(words) > MOST_WORDS_ALONE or not any(token.text[0].isupper() for token in words):
            return ""  # a fragment; a short one with a name is the answer itself
    while words and words[0].lower in ("the", "a", "an", "yes", "no", "both"):
        words = words[1:]
    if not words or len(words) > MOST_WORDS or any(token.lower in entries("english", "function") for token in words):
        return ""
    return first[words[0].start : words[-1].end]
