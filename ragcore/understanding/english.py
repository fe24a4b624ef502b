"""Standalone forms of English questions: pronouns, "what about", "why", bare attributes, "the first one" (D2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ragcore.understanding.english_mentions import (
    answer_mentions,
    article_before,
    content_groups,
    kind_of,
    names,
    question_mentions,
    tokens,
    topic_of,
)
from ragcore.understanding.listed import listed
from ragcore.understanding.mentions import Attention, Kind
from ragcore.understanding.resolved import Resolved
from ragcore.understanding.words import alternatives, entries

PRONOUN = re.compile(
    r"\b(?:(?P<person>he|him|his|she|her|hers)|(?P<thing>it|its)|(?P<plural>they|them|their|theirs))\b(?P<is>['’]s)?",
    re.I,
)
_WANTED: Mapping[str, Mapping[Kind, float]] = {
    "person": {"person": 1.6, "unknown": 1.0},
    "thing": {"thing": 1.0, "unknown": 1.0, "plural": 0.3},
    "plural": {"plural": 1.2, "unknown": 1.0, "thing": 0.8, "person": 0.4},
}
_ANYTHING: Mapping[Kind, float] = {"person": 1.0, "thing": 1.0, "unknown": 1.0, "plural": 0.8}
_THINGS: Mapping[Kind, float] = {"thing": 1.0, "unknown": 1.0, "plural": 0.8, "person": 0.8}
_EXPLETIVE = re.compile(rf"\b{alternatives('english', 'expletive')}\b", re.I)
_OWNED = frozenset(("his", "its", "their"))
_VERBAL = r"(?:is|was|are|were|does|did|do|has|have|had|can|could|will|would|should|happen|happened|mean|work|works)"
_THIS = re.compile(
    rf"(?:(?P<before>\b(?:about|of|for|with|from|on|than|like|is|are|using|use)"
    rf"\s+)(?P<a>this|that|these|those)(?=\s*(?:[?.,!;]|$|(?:{_VERBAL})\b))"
    r"|(?:^|(?<=[,.?!] ))(?P<b>these|those)(?=\s+(?:is|are|do|have)\b))",
    re.I,
)
_THIS_NOUN = re.compile(r"\b(?P<det>this|that|these|those|such)\s+(?P<noun>[a-z][\w-]*)\b", re.I)
_ABOUT = re.compile(
    r"^(?:(?:and|but|so|ok|okay|then|now|well|great|interesting)[,.]?\s+)*"
    r"(?:(?:what|how)\s+about|and)\s+(?:for\s+|in\s+|with\s+)?(?P<what>[^?.!]{1,60}?)"
    r"(?:\s+(?:then|instead|in particular))?\s*[?.!]*$",
    re.I,
)
_DEFINITION = re.compile(r"what\s+(?:is|are|was|were)\b", re.I)
_WHY = re.compile(
    r"^(?:(?:but|and|so|ok|okay)[,.]?\s+)?(?:why(?:\s+(?:is|was)\s+(?:that|this|it))?|how\s+so|how\s+come)\s*[?.!]*$",
    re.I,
)
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
_NTH = {"first": 0, "former": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "latter": -1}


def resolved(text: str, turns: Sequence[tuple[str, str]]) -> Resolved:
    """The question with what it takes from earlier turns (question, answer) put into it."""
    attention, earlier = remembered(turns)
    steps: tuple[Callable[[], Resolved | None], ...] = (
        lambda: _why(text, earlier, turns),
        lambda: _what_about(text, earlier, attention),
        lambda: _indifferent(text, turns),
        lambda: _nth(text, turns),
    )
    for step in steps:
        if (done := step()) is not None:
            return done
    done = with_pronouns(text, attention)
    return done if done.signs else _with_attribute(text, attention)


def remembered(turns: Sequence[tuple[str, str]]) -> tuple[Attention, str]:
    """What the conversation has been about, and its last question in its standalone form."""
    attention, last = Attention(), ""
    for question, answer in turns:
        attention.fade()
        about = _what_about(question, last, attention) if last else None
        full = about or with_pronouns(question, attention)
        if not full.changed:
            full = _with_attribute(question, attention)
        last = full.text
        for mention in question_mentions(last):
            attention.add(mention)
        if answer:
            for mention in answer_mentions(answer):
                attention.add(mention)
    return attention, last


def with_pronouns(text: str, attention: Attention) -> Resolved:
    """Pronouns replaced by what has most attention among things of their kind; unknown ones stay."""
    signs: list[str] = []
    blocked = [match.span() for match in _EXPLETIVE.finditer(text)]
    done_kinds: set[str] = set()
    own = {mention.key for mention in names(text)}

    def pronoun(match: re.Match[str]) -> str:
        if any(start <= match.start() < end for start, end in blocked) or _has_own_antecedent(text, match, own):
            return match.group()
        kind = str(match.lastgroup if match.lastgroup != "is" else next(k for k in _WANTED if match[k]))
        signs.append(match[kind].lower())
        if kind in done_kinds:  # the first one says who is meant
            return match.group()
        done_kinds.add(kind)
        she = match[kind].lower() in ("she", "her", "hers") if kind == "person" else None
        found = attention.best(_WANTED[kind], she=she)
        return _in_place(match, found.phrase) if found else match.group()

    done = PRONOUN.sub(pronoun, text)
    done = _THIS.sub(lambda match: _this(match, attention, signs), done)
    done = _THIS_NOUN.sub(lambda match: _this_noun(match, attention, signs), done)
    return Resolved(done, tuple(signs), done != text)


def _has_own_antecedent(text: str, match: re.Match[str], own: set[str]) -> bool:
    """A person's or thing's name earlier in the same text is what the pronoun means."""
    return any(name in text[: match.start()].lower() for name in own)


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
    word = (match["a"] or match["b"]).lower()
    signs.append(word)
    found = attention.best(_WANTED["plural" if word in ("these", "those") else "thing"])
    return (match["before"] or "") + found.phrase if found else match.group()


def _this_noun(match: re.Match[str], attention: Attention, signs: list[str]) -> str:
    """ "this protocol": the thing itself where its name is known, otherwise it stays."""
    noun = match["noun"].lower()
    if noun in entries("english", "function") or noun in entries("english", "verbs"):
        return match.group()
    if noun in entries("english", "documents"):
        return _document(match, attention, signs)
    if match["det"].lower() == "that" and not match.string[: match.start()].rstrip().lower().endswith(
        ("of", "in", "for", "about", "is", "was", "at", "on", "does", "with", "to")
    ):
        return match.group()
    signs.append(match["det"].lower())
    for mention in attention.ranked():
        if noun.rstrip("s") in mention.key.split()[-1] and noun != mention.key:
            return mention.phrase if mention.is_name or mention.article else f"the {mention.text}"
    found = attention.best(_WANTED["thing"]) if noun in entries("english", "classes") else None
    return found.phrase if found else match.group()


def _document(match: re.Match[str], attention: Attention, signs: list[str]) -> str:
    """ "this article": the one on what the conversation is about."""
    if match["det"].lower() == "that" or re.match(r"\s+(?:on|about|of|by|from)\b", match.string[match.end() :], re.I):
        return match.group()
    signs.append(match.group().lower())
    found = attention.best(_ANYTHING)
    return f"{match.group()} on {found.phrase}" if found else match.group()


def _what_about(text: str, earlier: str, attention: Attention) -> Resolved | None:
    match = _ABOUT.match(text)
    if match is None or not earlier:
        return None
    what = with_pronouns(match["what"], attention).text
    bare = re.sub(r"^(?:the|a|an|some|any)\s+", "", what, flags=re.I).lower()
    if bare in entries("english", "attributes") or bare.split()[-1] in entries("english", "attributes"):
        topic = topic_of(earlier)
        return Resolved(f"What about {what} of {topic}?" if topic else text, ("what about",), bool(topic))
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
    return Resolved(earlier.replace(articled.group() if articled else old, what, 1), ("what about",), True)


def _counterpart(new: str, earlier: str) -> str | None:
    """What a new subject takes the place of in the earlier question: a phrase of its form, or the topic."""
    found = [mention for mention in question_mentions(earlier) if mention.key != new.lower()]
    if not found:
        return None
    shape = [m for m in found if m.is_name == _is_name(new)] or found
    return max(shape, key=lambda m: (_shared_words(m.text, new), m.weight)).text


def _is_name(text: str) -> bool:
    return any(mention.text == text for mention in names(f"about {text}"))


def _shared_words(one: str, other: str) -> int:
    return len(set(one.lower().split()) & set(other.lower().split()))


def _why(text: str, earlier: str, turns: Sequence[tuple[str, str]]) -> Resolved | None:
    if not _WHY.match(text):
        return None
    answer = re.split(r"(?<=[.?!])\s", turns[-1][1].strip(), maxsplit=1)[0] if turns else ""
    if re.match(r"(?:do|does|did|is|are|was|were|can|could|will|would|should|has|have)\b", earlier, re.I):
        return Resolved(f"Why {earlier[0].lower()}{earlier[1:]}", ("why",), True)
    if answer and len(answer.split()) <= 15 and len(answer.split()) > 2:
        return Resolved(f"Why: {answer.rstrip('.')}?", ("why",), True)
    return Resolved(f"Why? {earlier}" if earlier else text, ("why",), bool(earlier))


def _with_attribute(text: str, attention: Attention) -> Resolved:
    """ "What is the price?" asks for the price of what the conversation is about."""
    match = _ATTRIBUTE.match(text)
    if match is None:
        return Resolved(text)
    found = attention.best(_THINGS, besides=match["what"])
    if found is None:
        return Resolved(text, ("attribute",))
    return Resolved(f"{match['head']}{match['what']} of {found.phrase}{match['tail']}", ("attribute",), True)


def _nth(text: str, turns: Sequence[tuple[str, str]]) -> Resolved | None:
    match = _ONE.search(text)
    if match is None or not turns:
        return None
    for said in (turns[-1][1], turns[-1][0]):
        items = listed(said)
        at = _NTH[match["which"].lower()]
        if len(items) > max(at, 1):
            return Resolved(text[: match.start()] + items[at] + text[match.end() :], ("ordinal",), True)
    return None


def _indifferent(text: str, turns: Sequence[tuple[str, str]]) -> Resolved | None:
    """The reply "I don't care" says about what: what was asked back."""
    match = _INDIFFERENT.search(text)
    asked = _PREFERENCE.search(turns[-1][1]) if match and turns else None
    if match is None or asked is None:
        return None
    about = next(group for group in asked.groups() if group).strip()
    verb = re.sub(r"\s+(?:about\s+)?(?:it|that)$", "", match.group())
    return Resolved(f"{text[: match.start()]}{verb} about {about}{text[match.end() :]}", ("reply",), True)
