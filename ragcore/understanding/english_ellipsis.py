"""Words of English questions that stand for something else than a person or thing, and what is left out.

Bare question words, "what else", "I meant the other one", "the red one", "there", "the song": each is one step that
returns None where the question has nothing of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ragcore.understanding.english_mentions import content_groups, kind_of
from ragcore.understanding.mentions import Attention, Kind, Resolution, find_enumeration
from ragcore.understanding.words import alternatives, entries

_LEAD = r"^(?:(?:but|and|so|ok|okay|then|oh|well|yes|no|sorry|thanks|great|interesting)[,.!]*\s+)*"
_YES_NO = re.compile(
    r"(?:do|does|did|is|are|was|were|can|could|will|would|should|has|have|had|may|must)\b(?!n't)", re.I
)
_WHY = re.compile(
    rf"{_LEAD}(?:why(?:\s+not)?(?:\s+(?:is|was)\s+(?:that|this|it))?|how\s+so|how\s+come)\s*[?.!]*$", re.I
)
_BARE = re.compile(
    rf"{_LEAD}(?P<word>(?:since|until|till|by|from|for|with|to|in|on|at)\s+(?:when|where|whom|who|what|which|how\s+long)"
    r"|when(?:\s+exactly)?|where(?:\s+exactly)?|how(?:\s+(?:exactly|often|long|much|many|far|fast|soon|old))?|who(?:\s+by)?)\s*[?.!]*$",
    re.I,
)
_ELSE = re.compile(
    rf"{_LEAD}(?:(?:(?P<wh>what|who|where|how|when)|anything|anyone|anybody|something|somebody)\s+else"
    r"|(?:are\s+there\s+|is\s+there\s+)?any\s+(?:others?|more)(?:\s+ones?)?|others?|which\s+others?)\s*[?.!]*$",
    re.I,
)
_MEANT = re.compile(
    rf"{_LEAD}i\s+(?:actually\s+|really\s+)?(?:mean|meant)\s+(?:(?:for|about|in|on|with|of)\s+)?(?P<what>[^?.!,]{{2,60}})[?.!]*$",
    re.I,
)
_ASKS = re.compile(r"\b(?:to|what|how|why|who|when|where|which|that|is|are|was|were|do|does|did|can)\b", re.I)
_ONE = re.compile(
    r"(?P<before>\b[\w-]+\s+)(?P<one>ones?)\b(?!\s+(?:of|who|can|could|should|must|may|day|thing)\b)", re.I
)
_AN_ONE = re.compile(
    rf"\b(?P<verb>{alternatives('english', 'makes one')})\s+(?P<one>one)"
    r"(?=\s*(?:[?.!,]|$|(?:please|now|then|for|in|with|on)\b))",
    re.I,
)
_WHICH_ONE = re.compile(r"\bwhich\s+one(?:['’]s|(?=\s+(?:is|are|was|has|does|would|should|do|can|will)\b))", re.I)
_THERE = re.compile(
    r"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bbe )(?<!\bbeen )(?<!\bif )\bthere\b"
    r"(?!\s*(?:['’]s|is\b|are\b|was\b|were\b|will\b|has\b|have\b|any\b|a\b|an\b|other\b|some\b|exists?\b|be\b|may\b|can\b))",
    re.I,
)
_CLASS = re.compile(
    rf"\bthe\s+(?P<noun>{alternatives('english', 'classes')})\b(?=\s*(?:[?.!,]|$)|['’]s\b"
    rf"|\s+{alternatives('english', 'after a subject')}\b)",
    re.I,
)
_HEAD = re.compile(
    rf"\b(?P<det>the)\s+(?P<noun>[a-z][a-z-]{{2,}})\b"
    rf"(?=\s*(?:[?.!,]|$)|\s+{alternatives('english', 'after a subject')}\b)"
)
_PLACE: Mapping[Kind, float] = {"place": 1.0}
_INSTITUTION: Mapping[Kind, float] = {"thing": 1.0}
_THING: Mapping[Kind, float] = {"thing": 1.0, "unknown": 0.8}
ASKED_ABOUT = 0.7  # attention of what a question has named
MOST_WORDS_FULL = 4  # of a thing that "the timer" stands for
MOST_WORDS_MEANT = 5
SHORT_WORDS = 15  # of an answer that "why" may be asked about


def resolve_bare_question(text: str, earlier: str, answer: str) -> Resolution | None:
    """ "Why?", "Since when?", "What else?": the earlier question, asked in another way."""
    if _WHY.match(text):
        return _why(text, earlier, answer)
    if match := _BARE.match(text):
        if not earlier:
            return Resolution(text, ("bare",))
        word = match["word"][0].upper() + match["word"][1:]
        if _YES_NO.match(earlier):
            return Resolution(f"{word} {earlier[0].lower()}{earlier[1:]}", ("bare",), True)
        return Resolution(f"{word}? {earlier}", ("bare",), True)
    if match := _ELSE.match(text):
        resolved = _with_else(earlier)
        return Resolution(resolved or text, ("else",), bool(resolved))
    return None


def _why(text: str, earlier: str, answer: str) -> Resolution:
    sentence = re.split(r"(?<=[.?!])\s", answer.strip(), maxsplit=1)[0]
    if _YES_NO.match(earlier) and not re.search(r"\bnot\b", text, re.I):
        return Resolution(f"Why {earlier[0].lower()}{earlier[1:]}", ("why",), True)
    if re.search(r"\bnot\b", text, re.I) and earlier:
        return Resolution(f"Why not? {earlier}", ("why",), True)
    if 2 < len(sentence.split()) <= SHORT_WORDS:
        return Resolution(f"Why: {sentence.rstrip('.')}?", ("why",), True)
    return Resolution(f"Why? {earlier}" if earlier else text, ("why",), bool(earlier))


def _with_else(earlier: str) -> str:
    """What else does X do? from What does X do?; which other plans are there? from which plans are there?"""
    match = re.match(r"(?P<wh>what|who|where|which|how)\s+(?P<rest>.+)$", earlier, re.I | re.S)
    if match is None:
        return f"What else? {earlier}" if earlier else ""
    follows = match["rest"].split(maxsplit=1)[0].lower()
    if match["wh"].lower() == "how":
        return f"How else {match['rest']}" if _YES_NO.match(match["rest"]) else f"What else? {earlier}"
    if follows in entries("english", "function") or follows in entries("english", "verbs"):
        return earlier if follows in ("else", "other") else f"{match['wh']} else {match['rest']}"
    return f"{match['wh']} other {match['rest']}"


def corrected_topic(text: str) -> str | None:
    """What a correction names: "I meant the full plan"; None where it is a question or statement of its own."""
    match = _MEANT.match(text)
    if match is None or _ASKS.search(match["what"]) or len(match["what"].split()) > MOST_WORDS_MEANT:
        return None
    return match["what"]


def resolve_ones(text: str, attention: Attention, turn: tuple[str, str], signs: list[str]) -> str:
    """ "the red one", "create one", "which one is better": the noun that "one" repeats."""
    if (match := _WHICH_ONE.search(text)) is not None:
        signs.append("one")
        items = next(
            (
                items
                for turn_text in turn
                if 1 < len(items := find_enumeration(turn_text)) <= 3 and all(map(_is_item, items))
            ),
            [],
        )
        if items:
            rest = " is" if match.group().lower().endswith("s") else ""
            return f"{text[: match.start()]}{match.group()[:9]} of {' and '.join(items)}{rest}{text[match.end() :]}"
        return text
    noun = _noun(attention)
    if (match := _AN_ONE.search(text)) is not None:
        signs.append("one")
        if noun and not noun.endswith("s"):
            return f"{text[: match.start('one')]}{_an(noun)}{text[match.end('one') :]}"
        return text
    match = _ONE.search(text)
    before = match["before"].strip().lower() if match else ""
    if match is None or before in entries("english", "not before one") | entries("english", "verbs"):
        return text
    signs.append("one")
    if not noun or (match["one"].lower() == "ones" and kind_of(noun) != "plural"):
        return text
    head = noun.split()[-1]
    return f"{text[: match.start('one')]}{head}{text[match.end('one') :]}"


def _is_item(text: str) -> bool:
    """Whether it names something: no function word that is not inside a name."""
    return not any(word in entries("english", "function") for word in text.split())


def _noun(attention: Attention) -> str:
    """The common noun that has most attention."""
    return next((m.text for m in attention.ranked() if not m.is_name and m.kind != "place" and _is_item(m.text)), "")


def _an(noun: str) -> str:
    return f"{'an' if noun[0].lower() in 'aeio' else 'a'} {noun}"


def resolve_there(text: str, attention: Attention, signs: list[str]) -> str:
    """ "What did she study there?": the place or institution that has most attention."""
    match = _THERE.search(text)
    if match is None or re.match(r"\s*there\b", text, re.I):
        return text
    place = attention.best(_PLACE)
    preposition = "in"
    institutions = [m for m in attention.ranked() if m.is_name and _is_institution(m.text)]
    things = institutions or [m for m in attention.ranked() if m.is_name and m.kind == "thing"]
    stronger = institutions and place and attention.value(institutions[0]) >= attention.value(place)
    if things and (place is None or not place.is_name or stronger):
        place, preposition = things[0], "at"
    signs.append("there")
    if place is None or place.key in text.lower():
        return text
    if re.search(r"\b(?:from|to|in|at|near|around|over)\s+$", text[: match.start()], re.I):
        preposition = ""
    return f"{text[: match.start()]}{preposition} {place.phrase}{text[match.end() :]}".replace("  ", " ")


def _is_institution(text: str) -> bool:
    return any(word in entries("english", "institutions") for word in text.lower().split())


def resolve_definites(text: str, attention: Attention, signs: list[str]) -> str:
    """ "the timer" for the backoff timer, "the song" with its title: nouns that the conversation has said more of."""

    def full(match: re.Match[str]) -> str:
        noun = match["noun"].lower()
        for mention in attention.ranked():
            words = mention.key.split()
            if (
                1 < len(words) <= MOST_WORDS_FULL
                and "of" not in words
                and words[-1] == noun
                and mention.key not in text.lower()
            ):
                signs.append(match.group().lower())
                return mention.phrase if mention.is_name else f"{match['det']} {mention.text}"
        return match.group()

    def named(match: re.Match[str]) -> str:
        mention = next((m for m in attention.ranked() if m.is_name and m.kind in _THING), None)
        if (
            mention is None
            or attention.value(mention) < ASKED_ABOUT
            or signs
            or mention.key in text.lower()
            or match["noun"].lower() in mention.key.split()
        ):
            return match.group()
        signs.append(match.group().lower())
        return f"{match.group()} {mention.text}"

    resolved = _HEAD.sub(full, text)
    if signs or names_something(text):
        return resolved
    return _CLASS.sub(named, resolved, count=1)


def names_something(text: str) -> bool:
    """Whether a question names something of its own besides nouns for classes of things."""
    classes = entries("english", "classes") | entries("english", "attributes")
    return any(kind_of(group) == "person" or group.split()[-1].lower() not in classes for group in content_groups(text))
