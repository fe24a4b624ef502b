"""The question that a program has put into a long prompt, between its own instructions and passages.

Programs that search by themselves send their passages along (chat front ends, frameworks for retrieval): the prompt is
no question, and what it quotes is no source here.
"""

from __future__ import annotations

import re

from ragcore.text.sentences import split_sentences

_TAGGED = re.compile(
    r"<(?P<tag>user_query|user_question|query|question)>[ \t\r\n]*+(?P<question>[^<]*+)</(?P=tag)>", re.IGNORECASE
)
_LABELLED = re.compile(
    r"^[#*> \t]*+(?:user[ ]|my[ ])?(?:query|question|问题|用户问题|提问)[* \t]*+[:：][* \t]*+(?P<question>\S[^\n]*+)",
    re.IGNORECASE | re.MULTILINE,
)
_ANSWER = re.compile(
    r"\s*+(?:[#*> \t]*+(?:helpful[ ]|your[ ])?(?:answer|response|回答|答案)[* \t]*+[:：]?[* \t]*+)?\s*+\Z",
    re.IGNORECASE,
)
_PARAGRAPH = re.compile(r"\n[ \t\r]*+\n\s*+")
_ASKS = ("?", "？")


def prompt_question(text: str, *, most: int) -> str:
    """What is asked in a text; `most`: characters that a question may have.

    The last question between tags, else the last one behind a label that only an answer's label follows. A text that
    has neither is a question itself, unless it is too long: then its last question is, looked for in the last
    paragraph's end, in the first one's beginning, and everywhere; a text without any ends with what is wanted.
    """
    text = text.strip()
    tagged = [match["question"].strip() for match in _TAGGED.finditer(text)]
    if tagged and 0 < len(tagged[-1]) <= most:
        return tagged[-1]
    labelled = list(_LABELLED.finditer(text))
    if labelled and _ANSWER.match(text, labelled[-1].end()) and len(labelled[-1]["question"]) <= most:
        return labelled[-1]["question"].strip()
    if len(text) <= most:
        return text
    paragraphs = _PARAGRAPH.split(text)
    end = _end(paragraphs[-1], most)
    for part in (end, paragraphs[0][:most], text):
        sentences = [sentence.strip() for sentence in split_sentences(part)]
        asking = [at for at, sentence in enumerate(sentences) if sentence.endswith(_ASKS) and len(sentence) <= most]
        if asking:
            return " ".join(sentences[asking[-1] :]) if part is end else sentences[asking[-1]]
    return end


def _end(text: str, most: int) -> str:
    """The last sentences that fit."""
    last: list[str] = []
    room = most
    for sentence in reversed(split_sentences(text)):
        if len(sentence) > room:
            break
        last.append(sentence)
        room -= len(sentence)
    return "".join(reversed(last)).strip() or text[-most:].strip()
