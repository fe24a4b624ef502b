"""English pronouns, "this" and "this protocol", replaced by what the conversation is about."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ragcore.understanding.english_mentions import (
    content_groups,
    kind_of,
    names,
    tokens,
)
from ragcore.understanding.mentions import Attention, Kind, Resolution
from ragcore.understanding.words import alternatives, entries

PRONOUN = re.compile(
    r"\b(?:(?P<person>he|him|his|she|her|hers)|(?P<thing>it|its)|(?P<plural>they|them|their|theirs))\b(?P<is>['’]s)?",
    re.I,
)
_WANTED: Mapping[str, Mapping[Kind, float]] = {
    "person": {"person": 1.8, "unknown": 1.0},
    "thing": {"thing": 1.0, "unknown": 1.0, "place": 0.5, "plural": 0.3},
    "plural": {"plural": 1.2, "unknown": 1.0, "thing": 0.8, "person": 0.4, "place": 0.3},
}
_ANYTHING: Mapping[Kind, float] = {"person": 1.0, "thing": 1.0, "unknown": 1.0, "plural": 0.8, "place": 0.6}
_EXPLETIVE = re.compile(
    rf"\b(?:{alternatives('english', 'expletive')}\b"
    r"|(?:it(?:['’]s|\s+is|\s+was)|(?:is|was|isn['’]t)\s+it)\s+(?:\w+\s+)?\w+\s+that\b"
    r"|(?:is|was)\s+it\s+(?:more|less|so|too|very|that)\s+\w+\s+(?:for\s+(?:\w+\s+){1,3})?to\b)",
    re.I,
)
_CLAUSES = re.compile(
    r"(?<=[.?!])\s+|\s+-\s+|(?:,|,?\s+(?:and|but|or))\s+(?=(?:how|what|why|when|where|who|which|is|are|does|do|can|will)\b)"
)
_OWNED = frozenset(("his", "its", "their"))
_VERBAL = r"(?:is|was|are|were|does|did|do|has|have|had|can|could|will|would|should|happen|happened|mean|work|works)"
_THIS = re.compile(
    rf"(?:(?P<before>\b(?:about|of|for|with|from|on|than|like|is|are|using|use)"
    rf"\s+)(?P<a>this|that|these|those)(?=\s*(?:[?.,!;]|$|(?:{_VERBAL})\b))"
    r"|(?P<verb>\b[a-z]+\s+)(?P<c>this|that)(?=\s+(?:(?:them|our|my|your|him|her)sel(?:f|ves)|by\s+\w+sel(?:f|ves)|on\s+(?:their|our|my|your)\s+own)\b)"
    r"|(?:^|(?<=[,.?!] ))(?P<b>these|those)(?=\s+(?:is|are|do|have)\b))",
    re.I,
)
_THIS_NOUN = re.compile(r"\b(?P<det>this|that|these|those|such)\s+(?P<noun>[a-z][\w-]*)\b", re.I)


def resolve_pronouns(text: str, attention: Attention) -> Resolution:
    """Pronouns replaced by what has most attention among things of their kind; unknown ones stay."""
    signs: list[str] = []
    blocked = [match.span() for match in _EXPLETIVE.finditer(text)]
    done_kinds: set[str] = set()
    names_of_text = {mention.key for mention in names(text)}

    def pronoun(match: re.Match[str]) -> str:
        if any(start <= match.start() < end for start, end in blocked) or _has_own_antecedent(
            text, match, names_of_text
        ):
            return match.group()
        kind = str(match.lastgroup if match.lastgroup != "is" else next(k for k in _WANTED if match[k]))
        signs.append(match[kind].lower())
        if kind in done_kinds:  # the first one says who is meant
            return match.group()
        done_kinds.add(kind)
        she = match[kind].lower() in ("she", "her", "hers") if kind == "person" else None
        mention = attention.best(_WANTED["person" if _is_spoken_to(match) else kind], she=she)
        return _in_place(match, mention.phrase) if mention else match.group()

    resolved = PRONOUN.sub(pronoun, text)
    if not names_of_text and not (signs or _has_earlier_sentence(text)):
        resolved = _THIS.sub(lambda match: _this(match, attention, signs), resolved)
    resolved = _THIS_NOUN.sub(lambda match: _this_noun(match, attention, signs, bool(names_of_text)), resolved)
    return Resolution(resolved, tuple(signs), resolved != text)


def _is_spoken_to(match: re.Match[str]) -> bool:
    """ "call them": people, and no things."""
    before = tokens(match.string[: match.start()])[-1:]
    return bool(before and before[0].lower in entries("english", "contact verbs"))


def _has_own_antecedent(text: str, match: re.Match[str], names_of_text: set[str]) -> bool:
    """A name earlier in the same text is what the pronoun means, and for things a noun of an earlier clause."""
    before = text[: match.start()]
    if any(name in before.lower() for name in names_of_text):
        return True
    clauses = _CLAUSES.split(before)[:-1]
    if match["person"] or not clauses:
        return False
    kind = "plural" if match["plural"] else "thing"
    return any(kind_of(group) == kind for sentence in clauses for group in content_groups(sentence))


def _has_earlier_sentence(text: str) -> bool:
    """Whether "that" at its end may mean what the text itself has just said."""
    earlier = re.split(r"(?<=[.?!])\s", text.strip())[:-1]
    return any(content_groups(sentence) for sentence in earlier)


def _in_place(match: re.Match[str], antecedent: str) -> str:
    word = match.group().lower()
    following = match.string[match.end() :]
    owner = word in _OWNED or (word == "her" and re.match(r"\s+[a-z]", following) and not _next_is_function(following))
    if owner:
        ending = "'" if antecedent.endswith("s") and kind_of(antecedent) == "plural" else "'s"
        return _capital(match, antecedent + ending)
    return _capital(match, antecedent + (match["is"] or ""))


def _capital(match: re.Match[str], text: str) -> str:
    """A capital where the pronoun had one: it began the sentence."""
    return text[0].upper() + text[1:] if match.group()[0].isupper() else text


def _next_is_function(following: str) -> bool:
    words = tokens(following[:40])
    return not words or words[0].lower in entries("english", "function")


def _this(match: re.Match[str], attention: Attention, signs: list[str]) -> str:
    word = (match["a"] or match["b"] or match["c"]).lower()
    signs.append(word)
    mention = attention.best(_WANTED["plural" if word in ("these", "those") else "thing"])
    return (match["before"] or match["verb"] or "") + mention.phrase if mention else match.group()


def _this_noun(match: re.Match[str], attention: Attention, signs: list[str], names_own: bool) -> str:
    """ "this protocol": the thing itself where its name is known, otherwise it stays."""
    noun = match["noun"].lower()
    if noun in entries("english", "function") or noun in entries("english", "verbs"):
        return match.group()
    if noun in entries("english", "documents"):
        return match.group() if names_own else _document(match, attention, signs)
    if match["det"].lower() == "that" and not match.string[: match.start()].rstrip().lower().endswith(
        ("of", "in", "for", "about", "is", "was", "at", "on", "does", "with", "to")
    ):
        return match.group()
    signs.append(match["det"].lower())
    for mention in attention.ranked():
        if noun.rstrip("s") in mention.key.split()[-1] and noun != mention.key:
            return mention.phrase if mention.is_name or mention.article else f"the {mention.text}"
    referent = attention.best(_WANTED["thing"]) if noun in entries("english", "classes") else None
    return referent.phrase if referent else match.group()


def _document(match: re.Match[str], attention: Attention, signs: list[str]) -> str:
    """ "this article": the one on what the conversation is about."""
    if match["det"].lower() == "that" or re.match(r"\s+(?:on|about|of|by|from)\b", match.string[match.end() :], re.I):
        return match.group()
    signs.append(match.group().lower())
    mention = attention.best(_ANYTHING)
    return f"{match.group()} on {mention.phrase}" if mention else match.group()
