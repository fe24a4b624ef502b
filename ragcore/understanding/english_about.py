"""English questions that change one part of the question before them: what about, I meant, in Europe (D2)."""

from __future__ import annotations

import re

from ragcore.understanding.english_gaps import meant, with_ones, with_place
from ragcore.understanding.english_mentions import (
    article_before,
    content_groups,
    kind_of,
    names,
    question_mentions,
    tokens,
    topic_of,
)
from ragcore.understanding.english_pronouns import with_pronouns
from ragcore.understanding.mentions import Attention, Mention
from ragcore.understanding.resolved import Resolved
from ragcore.understanding.words import alternatives, entries

_ABOUT = re.compile(
    r"^(?:(?:and|but|so|ok|okay|then|now|well|great|interesting)[,.]?\s+)*"
    r"(?:(?:what|how)\s+about|and)\s+(?:for\s+|with\s+|(?P<where>in|on|at|from|during|since|before|after)\s+)?(?P<what>[^?.!]{1,60}?)"
    r"(?:\s+(?:then|instead|in particular))?\s*[?.!]*$",
    re.I,
)
_DEFINITION = re.compile(r"what\s+(?:is|are|was|were)\b", re.I)
_ASKS = re.compile(r"\b(?:what|how|why|who|when|where|which|do|does|did|is|are|was|were|if)\b", re.I)
_REFERS = re.compile(r"\b(?:there|(?:in|on|at|of|for|with)\s+(?:that|this|those|these))\b", re.I)
_WHERE = re.compile(
    rf"\b(?:in|on|at|near)\s+the\s+(?:\w+\s+){{0,2}}{alternatives('english', 'place nouns')}\b"
    r"(?:\s+of\s+(?:the\s+)?\w+)?",
    re.I,
)
MOST_WORDS_ABOUT = 7  # of what "what about" names; more is a question of its own


def what_about(text: str, earlier: str, attention: Attention) -> Resolved | None:
    """The earlier question with one part of it changed; None for a question of another form."""
    match = _ABOUT.match(text)
    asked = match["what"] if match else meant(text)
    if asked is None or not earlier:
        return None
    if _ASKS.search(asked) or len(asked.split()) > MOST_WORDS_ABOUT:
        return None
    asked = re.sub(r"^also\s+|\s+please$", "", asked, flags=re.I)
    what = with_ones(with_pronouns(asked, attention).text, attention, ("", ""), [])
    if _REFERS.search(asked) or not _is_question(earlier):
        return _about_itself(text, what, earlier, attention)
    bare = re.sub(r"^(?:the|a|an|some|any)\s+", "", what, flags=re.I).lower()
    if bare in entries("english", "attributes") or bare.split()[-1] in entries("english", "attributes"):
        topic = topic_of(earlier)
        return Resolved(f"What about {what} of {topic}?" if topic else text, ("what about",), bool(topic))
    if match and (where := match["where"]):
        return _elsewhere(where, what, earlier)
    old = _counterpart(what, earlier)
    if old is None:
        return Resolved(text, ("what about",), False)
    if _DEFINITION.match(earlier) and content_groups(earlier) == [old] and not _is_name(what):
        whole = earlier[earlier.index(old) + len(old) :].strip(" ?.!") == "" and not _shared_words(old, what)
        if whole:  # one part of it is meant and not another thing of its kind
            article = article_before(earlier, earlier.index(old))
            return Resolved(f"What about {what} in {article} {old}?".replace("  ", " "), ("what about",), True)
    articled = (
        re.search(rf"\b(?:the|a|an)\s+{re.escape(old)}", earlier, re.I)
        if what.lower().startswith(("the ", "a ", "an "))
        else None
    )
    return Resolved(_replaced(earlier, articled.group() if articled else old, what), ("what about",), True)


def _elsewhere(preposition: str, what: str, earlier: str) -> Resolved:
    """ "How about in Europe?": instead of what stands there after "in", or besides."""
    end = len(earlier.rstrip(" ?.!"))
    places = re.finditer(rf"\b{preposition}\s+(?:(?:the|a|an|my|our)\s+)?(?=\w)", earlier, re.I)
    for place in reversed(list(places)):
        rest = earlier[place.end() :]
        named = [mention.text for mention in names(f"in {rest}")]
        group = next((text for text in [*named, *content_groups(rest)] if rest.startswith(text)), "")
        if group:
            done = f"{earlier[: place.start()]}{preposition} {what}{rest[len(group) :]}"
            return Resolved(done, ("what about",), True)
    return Resolved(f"{earlier[:end]} {preposition} {what}{earlier[end:]}", ("what about",), True)


def _replaced(earlier: str, old: str, new: str) -> str:
    """`new` in the place of `old`, whose last noun is not said twice: Thai food for malaysian in malaysian food."""
    at = earlier.index(old)
    rest = earlier[at + len(old) :]
    repeated = re.match(rf"\s+{re.escape(new.split()[-1])}\b", rest, re.I)
    return earlier[:at] + new + (rest[repeated.end() :] if repeated else rest)


def _is_question(text: str) -> bool:
    """Whether its last sentence asks; a request says what somebody looks for."""
    last = re.split(r"(?<=[.?!])\s+", text.strip())[-1]
    first = tokens(last)[:1]
    return last.endswith("?") or bool(first and first[0].lower in entries("english", "asking"))


def _about_itself(text: str, what: str, earlier: str, attention: Attention) -> Resolved:
    """A question that says itself what it is about, or that follows a request: places of that hold for it, too."""
    signs = ["what about"]
    full = with_place(with_pronouns(text, attention).text, attention, signs)
    place = _WHERE.search(earlier)
    if full == text and place and not _WHERE.search(what) and not re.search(r"\b(?:in|on|at|near)\b", what):
        end = len(text.rstrip(" ?.!"))
        full = f"{text[:end]} {place.group()}{text[end:]}"
    return Resolved(full, tuple(signs), full != text)


def _counterpart(new: str, earlier: str) -> str | None:
    """What a new subject takes the place of in the earlier question: a phrase of its form, or the topic."""
    objects = _objects(earlier)
    nouns = {noun.text for noun in objects}
    spoken = [m for m in question_mentions(earlier) if m.is_name or m.text in nouns]
    found = [m for m in [*spoken, *objects] if m.key != new.lower() and m.text in earlier]
    if not found:
        return None
    shape = [m for m in found if m.is_name == _is_name(new)] or found
    return max(shape, key=lambda m: (_shared_words(m.text, new), m.weight)).text


def _objects(earlier: str) -> list[Mention]:
    """Groups of content words that stand where a noun stands; a participle at their end is none of the noun."""
    passive = re.match(r"(?:is|are|was|were|been)\b", earlier, re.I)
    found = []
    for group in content_groups(earlier):
        noun = re.sub(r"(?:\s+\w+ed)+$", "", group) if passive else group
        if not _follows_subject(earlier, group):
            found.append(Mention(text=noun, kind=kind_of(noun), weight=0.4))
    return found


def _follows_subject(earlier: str, group: str) -> bool:
    """Whether it is a verb with its object: after a pronoun or an auxiliary."""
    before = tokens(earlier[: earlier.index(group)])[-1:]
    return bool(before and before[0].lower in entries("english", "before a verb"))


def _is_name(text: str) -> bool:
    return any(mention.text == text for mention in names(f"about {text}"))


def _shared_words(one: str, other: str) -> int:
    return len(set(one.lower().split()) & set(other.lower().split()))
