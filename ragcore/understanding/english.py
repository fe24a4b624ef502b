"""Standalone forms of English questions: pronouns, "what about", bare attributes, "the first one" (D2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ragcore.understanding.english_about import what_about
from ragcore.understanding.english_gaps import bare_question, with_definites, with_ones, with_place
from ragcore.understanding.english_mentions import (
    answer_mentions,
    last_attribute,
    question_mentions,
    tokens,
)
from ragcore.understanding.english_pronouns import with_pronouns
from ragcore.understanding.listed import listed
from ragcore.understanding.mentions import Attention, Kind
from ragcore.understanding.resolved import Resolved
from ragcore.understanding.words import alternatives, entries

_THINGS: Mapping[Kind, float] = {"thing": 1.0, "unknown": 1.0, "plural": 0.8, "person": 0.8, "place": 0.5}
_ATTRIBUTE = re.compile(
    r"^(?P<head>(?:(?:yes|ok|okay|great|good|perfect|thanks|thank you|and|also|no)[,.!]*\s+)*"
    r"(?:(?:can|could|may)\s+(?:i|you)\s+(?:please\s+)?(?:have|get|give(?:\s+me)?|tell(?:\s+me)?|show(?:\s+me)?|list|know)"
    r"|what(?:['’]s|\s+is|\s+are|\s+was|\s+were)|who\s+(?:is|are|was|were)|tell\s+me|give\s+me|show\s+me|list|describe|explain"
    r"|i\s+(?:need|want|would\s+like)(?:\s+to\s+know)?|(?:are|is|were|was)\s+there|do\s+you\s+(?:have|know)|any|how\s+about)\s+)"
    rf"(?P<what>(?:(?:the|a|an|some|any|its|their|all|what)\s+)?(?:[\w-]+\s+)?{alternatives('english', 'attributes')}"
    rf"(?:(?:,\s*|\s+and\s+|,\s*and\s+)(?:the\s+)?{alternatives('english', 'attributes')})*)"
    r"(?P<tail>(?:,?\s*(?:please|thanks|thank you|then|too|also|as well|is|are))*\s*[?.!]*)$",
    re.I,
)
_ONE = re.compile(
    r"\b(?:the\s+)?(?P<which>first|second|third|fourth|fifth|last|former|latter)(?:\s+(?:one|option|item))?\b(?!\s+(?!please)\w)",
    re.I,
)
_INDIFFERENT = re.compile(
    rf"{alternatives('english', 'indifferent')}(?:\s+(?:about\s+)?(?:it|that))?(?=\s*[.!]|$)", re.I
)
_PREFERENCE = re.compile(
    r"(?:what|which)\s+(?P<x>(?:kind|type|part|area|price|food|cuisine)[\w\s]{0,30}?)\s+(?:would|do|are|should)\b"
    r"|(?:a|any|an)\s+(?P<y>(?:[\w]+\s+){1,3})preference|preference\s+(?:for|on|of)\s+(?:the\s+|a\s+)?(?P<z>[\w\s]{3,40}?)\s*\?"
    r"|(?:particular|certain|specific)\s+(?P<w>[\w\s]{3,30}?)\s+(?:you|in mind|that)",
    re.I,
)
MOST_WORDS_OPEN = 12  # of a question that names nothing of its own
_NTH = {"first": 0, "former": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "latter": -1}


def resolved(text: str, turns: Sequence[tuple[str, str]]) -> Resolved:
    """The question with what it takes from earlier turns (question, answer) put into it."""
    attention, earlier = remembered(turns)
    return _resolved(text, attention, earlier, turns[-1] if turns else ("", ""))


def remembered(turns: Sequence[tuple[str, str]]) -> tuple[Attention, str]:
    """What the conversation has been about, and its last question in its standalone form."""
    attention, last, before = Attention(), "", ("", "")
    for question, answer in turns:
        attention.fade()
        last = _resolved(question, attention, last, before).text
        for mention in question_mentions(last):
            attention.add(mention)
        if answer:
            for mention in answer_mentions(answer, question):
                attention.add(mention)
        before = (question, answer)
    return attention, last


def _resolved(text: str, attention: Attention, earlier: str, before: tuple[str, str]) -> Resolved:
    """One question after `before`, whose question is `earlier` in its standalone form."""
    steps: tuple[Callable[[], Resolved | None], ...] = (
        lambda: bare_question(text, earlier, before[1]) if earlier or before[1] else None,
        lambda: what_about(text, earlier, attention),
        lambda: _indifferent(text, before),
        lambda: _nth(text, before),
    )
    for step in steps:
        if (done := step()) is not None:
            return done
    done = with_pronouns(text, attention)
    if not attention.held:
        return done
    signs = list(done.signs)
    full = with_place(done.text, attention, signs)
    full = with_ones(full, attention, (before[1], before[0]), signs)
    full = with_definites(full, attention, signs)
    if signs:
        return Resolved(full, tuple(signs), full != text)
    return _with_attribute(text, attention)


def _with_attribute(text: str, attention: Attention) -> Resolved:
    """ "What is the price?" asks for the price of what the conversation is about."""
    match = _ATTRIBUTE.match(text)
    if match is None:
        return _completed(text, attention)
    found = attention.best(_THINGS, besides=match["what"])
    if found is None:
        return Resolved(text, ("attribute",))
    return Resolved(f"{match['head']}{match['what']} of {found.phrase}{match['tail']}", ("attribute",), True)


def _completed(text: str, attention: Attention) -> Resolved:
    """ "Are there any visible signs?", "Which permits are needed?": nouns that are always those of something."""
    words = tokens(text)
    last = last_attribute(words)
    if last is None or len(words) > MOST_WORDS_OPEN or words[0].lower not in entries("english", "asking"):
        return Resolved(text)
    found = attention.best(_THINGS, besides=text)
    if found is None:
        return Resolved(text, ("attribute",))
    tail = text[last.end :].strip()
    if tail.rstrip("?.! ") == "":
        return Resolved(f"{text[: last.end]} of {found.phrase}{text[last.end :]}", ("attribute",), True)
    open_verb = re.fullmatch(
        rf"(?:(?:is|are|was|were|be)\s+)?{alternatives('english', 'open verbs')}\s*[?.!]*", tail, re.I
    )
    if open_verb is None:
        return Resolved(text)
    at = len(text.rstrip(" ?.!"))
    return Resolved(f"{text[:at]} for {found.phrase}{text[at:]}", ("attribute",), True)


def _nth(text: str, before: tuple[str, str]) -> Resolved | None:
    match = _ONE.search(text)
    if match is None:
        return None
    for said in (before[1], before[0]):
        items = listed(said)
        at = _NTH[match["which"].lower()]
        if len(items) > max(at, 1):
            return Resolved(text[: match.start()] + items[at] + text[match.end() :], ("ordinal",), True)
    return None


def _indifferent(text: str, before: tuple[str, str]) -> Resolved | None:
    """The reply "I don't care" says about what: what was asked back."""
    match = _INDIFFERENT.search(text)
    asked = _PREFERENCE.search(before[1]) if match else None
    if match is None or asked is None:
        return None
    about = next(group for group in asked.groups() if group).strip()
    verb = re.sub(r"\s+(?:about\s+)?(?:it|that)$", "", match.group())
    return Resolved(f"{text[: match.start()]}{verb} about {about}{text[match.end() :]}", ("reply",), True)
