"""Standalone forms of English questions: pronouns, "what about", bare attributes, "the first one"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ragcore.understanding.amount_swaps import swap_value, with_same_amount
from ragcore.understanding.answer_language import resolve_answer_wish
from ragcore.understanding.english_answers import answer_mentions
from ragcore.understanding.english_ellipsis import (
    corrected_topic,
    resolve_bare_question,
    resolve_definites,
    resolve_ones,
    resolve_there,
)
from ragcore.understanding.english_mentions import (
    article_before,
    content_groups,
    kind_of,
    last_attribute,
    names,
    question_mentions,
    tokens,
    topic_of,
)
from ragcore.understanding.english_pronouns import resolve_pronouns
from ragcore.understanding.english_roles import name_role
from ragcore.understanding.mentions import Attention, Kind, Mention, Resolution, find_enumeration
from ragcore.understanding.same_but import same_but
from ragcore.understanding.totals import total_of_earlier
from ragcore.understanding.value_times import resolve_value_time
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
_ABOUT = re.compile(
    r"^(?:(?:and|but|so|ok|okay|then|now|well|great|interesting)[,.]?\s+)*"
    r"(?:(?:what|how)\s+about|and)\s+(?:for\s+|with\s+|(?P<where>in|on|at|from|during|since|before|after)\s+)?(?P<what>[^?.!]{1,60}?)"
    r"(?:\s+(?:then|instead|in particular))?\s*[?.!]*$",
    re.I,
)
_TURNED = re.compile(
    r"^(?:(?:and|but|what about|how about)\s+)+(?P<when>before|after)(?:\s+(?:that|it))?\s*[?.!]*$", re.I
)
_DEFINITION = re.compile(r"what\s+(?:is|are|was|were)\b", re.I)
_ASKS = re.compile(r"\b(?:what|how|why|who|when|where|which|do|does|did|is|are|was|were|if)\b", re.I)
_ASKED = re.compile(r"\b(?:how\s+(?:many|much)|which|what)\s+(?=\w+\s+\w)", re.I)
_REFERS = re.compile(r"\b(?:there|(?:in|on|at|of|for|with)\s+(?:that|this|those|these))\b", re.I)
_WHERE = re.compile(
    rf"\b(?:in|on|at|near)\s+the\s+(?:\w+\s+){{0,2}}{alternatives('english', 'place nouns')}\b"
    r"(?:\s+of\s+(?:the\s+)?\w+)?",
    re.I,
)
MOST_WORDS_ABOUT = 7  # of what "what about" names; more is a question of its own


def resolve_references(text: str, turns: Sequence[tuple[str, str]]) -> Resolution:
    """The question with what it takes from earlier turns (question, answer) put into it."""
    attention, earlier = track_attention(turns)
    return _resolve(text, attention, earlier, turns[-1] if turns else ("", ""))


def track_attention(turns: Sequence[tuple[str, str]]) -> tuple[Attention, str]:
    """What the conversation has been about, and its last question in its standalone form."""
    attention, last, before = Attention(), "", ("", "")
    for question, answer in turns:
        attention.fade()
        last = _resolve(question, attention, last, before).text
        for mention in question_mentions(last):
            attention.add(mention)
        if answer:
            for mention in answer_mentions(answer, last):
                attention.add(mention)
        before = (question, answer)
    return attention, last


def _resolve(text: str, attention: Attention, earlier: str, before: tuple[str, str]) -> Resolution:
    """One question after `before`, whose question is `earlier` in its standalone form."""
    steps: tuple[Callable[[], Resolution | None], ...] = (
        lambda: resolve_answer_wish(text, earlier),
        lambda: _before_or_after(text, earlier) or resolve_value_time(text, earlier),
        lambda: resolve_bare_question(text, earlier, before[1]) if earlier or before[1] else None,
        lambda: resolve_what_about(text, earlier, attention),
        lambda: _indifferent(text, before),
        lambda: _nth(text, before),
    )
    for step in steps:
        if (resolution := step()) is not None:
            return resolution
    resolution = resolve_pronouns(text, attention)
    if not attention.mentions:
        return resolution
    signs = list(resolution.signs)
    full = resolve_there(resolution.text, attention, signs)
    full = resolve_ones(full, attention, (before[1], before[0]), signs)
    full = resolve_definites(full, attention, signs)
    if signs:
        full = name_role(full, earlier)
        return Resolution(full, tuple(signs), full != text)
    return _with_attribute(text, attention)


def _with_attribute(text: str, attention: Attention) -> Resolution:
    """ "What is the price?" asks for the price of what the conversation is about."""
    match = _ATTRIBUTE.match(text)
    if match is None:
        return _completed(text, attention)
    mention = attention.best(_THINGS, besides=match["what"])
    if mention is None:
        return Resolution(text, ("attribute",))
    return Resolution(f"{match['head']}{match['what']} of {mention.phrase}{match['tail']}", ("attribute",), True)


def _completed(text: str, attention: Attention) -> Resolution:
    """ "Are there any visible signs?", "Which permits are needed?": nouns that are always those of something."""
    words = tokens(text)
    last = last_attribute(words)
    if last is None or len(words) > MOST_WORDS_OPEN or words[0].lower not in entries("english", "asking"):
        return Resolution(text)
    mention = attention.best(_THINGS, besides=text)
    if mention is None:
        return Resolution(text, ("attribute",))
    tail = text[last.end :].strip()
    if tail.rstrip("?.! ") == "":
        return Resolution(f"{text[: last.end]} of {mention.phrase}{text[last.end :]}", ("attribute",), True)
    open_verb = re.fullmatch(
        rf"(?:(?:is|are|was|were|be)\s+)?{alternatives('english', 'open verbs')}\s*[?.!]*", tail, re.I
    )
    if open_verb is None:
        return Resolution(text)
    at = len(text.rstrip(" ?.!"))
    return Resolution(f"{text[:at]} for {mention.phrase}{text[at:]}", ("attribute",), True)


def _nth(text: str, before: tuple[str, str]) -> Resolution | None:
    match = _ONE.search(text)
    if match is None:
        return None
    for turn_text in (before[1], before[0]):
        items = find_enumeration(turn_text)
        at = _NTH[match["which"].lower()]
        if len(items) > max(at, 1):
            return Resolution(text[: match.start()] + items[at] + text[match.end() :], ("ordinal",), True)
    return None


def _indifferent(text: str, before: tuple[str, str]) -> Resolution | None:
    """The reply "I don't care" says about what: what was asked back."""
    match = _INDIFFERENT.search(text)
    preference = _PREFERENCE.search(before[1]) if match else None
    if match is None or preference is None:
        return None
    about = next(group for group in preference.groups() if group).strip()
    verb = re.sub(r"\s+(?:about\s+)?(?:it|that)$", "", match.group())
    return Resolution(f"{text[: match.start()]}{verb} about {about}{text[match.end() :]}", ("reply",), True)


# ── what about ──────────────────────────────────────────────────────────────────────────────────────


def resolve_what_about(text: str, earlier: str, attention: Attention) -> Resolution | None:
    """The earlier question with one part of it changed; None for a question of another form."""
    if same := same_but(text, earlier) or with_same_amount(text, earlier):
        return Resolution(same, ("same",), True)
    match = _ABOUT.match(text)
    if match and earlier and (swapped := swap_value(match["what"], earlier)):
        return Resolution(swapped, ("what about",), True)
    if match and (total := total_of_earlier(match["what"], earlier)):
        return Resolution(total, ("what about",), True)
    new_topic = match["what"] if match else corrected_topic(text)
    if new_topic is None or not earlier:
        return None
    if _ASKS.search(new_topic) or len(new_topic.split()) > MOST_WORDS_ABOUT:
        return None
    new_topic = re.sub(r"^also\s+|\s+please$", "", new_topic, flags=re.I)
    what = resolve_ones(resolve_pronouns(new_topic, attention).text, attention, ("", ""), [])
    if _REFERS.search(new_topic) or not _is_question(earlier):
        return _about_itself(text, what, earlier, attention)
    if _is_person(what) and (role := _role_in(earlier)):
        return Resolution(_with_its_article(earlier, role, what), ("what about",), True)
    bare = re.sub(r"^(?:the|a|an|some|any)\s+", "", what, flags=re.I).lower()
    if bare in entries("english", "attributes") or bare.split()[-1] in entries("english", "attributes"):
        topic = topic_of(earlier)
        return Resolution(f"What about {what} of {topic}?" if topic else text, ("what about",), bool(topic))
    if match and (where := match["where"]):
        return _elsewhere(where, what, earlier)
    old = _counterpart(what, earlier)
    if old is None:
        return Resolution(text, ("what about",), False)
    if _DEFINITION.match(earlier) and content_groups(earlier) == [old] and not _is_name(what):
        whole = earlier[earlier.index(old) + len(old) :].strip(" ?.!") == "" and not _shared_words(old, what)
        if whole:  # one part of it is meant and not another thing of its kind
            article = article_before(earlier, earlier.index(old))
            return Resolution(f"What about {what} in {article} {old}?".replace("  ", " "), ("what about",), True)
    return Resolution(_with_its_article(earlier, old, what), ("what about",), True)


def _with_its_article(earlier: str, old: str, new: str) -> str:
    """`new` in the place of `old`, and of its article where `new` has one."""
    has_article = new.lower().startswith(("the ", "a ", "an "))
    articled = re.search(rf"\b(?:the|a|an)\s+{re.escape(old)}", earlier, re.I) if has_article else None
    return _replaced(earlier, articled.group() if articled else old, new)


def _before_or_after(text: str, earlier: str) -> Resolution | None:
    """ "And before?" after a question about what was after something."""
    match = _TURNED.match(text)
    if match is None:
        return None
    order = match["when"].lower()
    other = {"before": "after", "after": "before"}[order]
    if re.search(rf"\b{other}\b", earlier, re.I) is None:
        return None
    return Resolution(re.sub(rf"\b{other}\b", order, earlier, count=1, flags=re.I), ("what about",), True)


def _elsewhere(preposition: str, what: str, earlier: str) -> Resolution:
    """ "How about in Europe?": instead of what stands there after "in", or besides."""
    end = len(earlier.rstrip(" ?.!"))
    places = re.finditer(rf"\b{preposition}\s+(?:(?:the|a|an|my|our)\s+)?(?=\w)", earlier, re.I)
    for place in reversed(list(places)):
        rest = earlier[place.end() :]
        name_texts = [mention.text for mention in names(f"in {rest}")]
        group = next((text for text in [*name_texts, *content_groups(rest)] if rest.startswith(text)), "")
        if group:
            resolved = f"{earlier[: place.start()]}{preposition} {what}{rest[len(group) :]}"
            return Resolution(resolved, ("what about",), True)
    return Resolution(f"{earlier[:end]} {preposition} {what}{earlier[end:]}", ("what about",), True)


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


def _about_itself(text: str, what: str, earlier: str, attention: Attention) -> Resolution:
    """A question that says itself what it is about, or that follows a request: places of that hold for it, too."""
    signs = ["what about"]
    full = resolve_there(resolve_pronouns(text, attention).text, attention, signs)
    place = _WHERE.search(earlier)
    if full == text and place and not _WHERE.search(what) and not re.search(r"\b(?:in|on|at|near)\b", what):
        end = len(text.rstrip(" ?.!"))
        full = f"{text[:end]} {place.group()}{text[end:]}"
    return Resolution(full, tuple(signs), full != text)


def _counterpart(new: str, earlier: str) -> str | None:
    """What a new subject takes the place of in the earlier question: a phrase of its form, or the topic."""
    objects = _objects(earlier)
    nouns = {noun.text for noun in objects}
    spoken = [m for m in question_mentions(earlier) if m.is_name or m.text in nouns]
    candidates = [m for m in [*spoken, *objects] if m.key != new.lower() and m.text in earlier]
    if not candidates:
        return None
    shape = [m for m in candidates if m.is_name == _is_name(new)] or candidates
    is_time, quantity = _is_time(new), _ASKED.search(earlier)
    return max(
        shape,
        key=lambda m: (
            _shared_words(m.text, new),
            _is_time(m.text) == is_time,
            quantity is None
            or earlier.find(m.text) != quantity.end(),  # "how many days": of the days something is asked
            m.weight,
        ),
    ).text


def _objects(earlier: str) -> list[Mention]:
    """Groups of content words that stand where a noun stands; a participle at their end is none of the noun."""
    passive = re.match(r"(?:is|are|was|were|been)\b", earlier, re.I)
    mentions = []
    for group in content_groups(earlier):
        noun = re.sub(r"(?:\s+\w+ed)+$", "", group) if passive else group
        if not _follows_subject(earlier, group):
            mentions.append(Mention(text=noun, kind=kind_of(noun), weight=0.4))
    return mentions


def _follows_subject(earlier: str, group: str) -> bool:
    """Whether it is a verb with its object: after a pronoun or an auxiliary."""
    before = tokens(earlier[: earlier.index(group)])[-1:]
    return bool(before and before[0].lower in entries("english", "before a verb"))


def _is_name(text: str) -> bool:
    return any(mention.text == text for mention in names(f"about {text}"))


def _is_person(text: str) -> bool:
    """A role or a title, also several: managers."""
    return kind_of(text) == "person" or text.split()[-1].lower().removesuffix("s") in entries("english", "people")


def _role_in(text: str) -> str | None:
    """The last role of a text with what tells its rank: "senior manager"."""
    words = tokens(text)
    at = next((at for at in reversed(range(len(words))) if _is_person(words[at].text)), None)
    if at is None:
        return None
    has_rank = at > 0 and words[at - 1].lower in entries("english", "ranks")
    return text[words[at - has_rank].start : words[at].end]


def _is_time(text: str) -> bool:
    return all(word in entries("english", "calendar") or word.isdigit() for word in text.lower().split())


def _shared_words(first: str, other: str) -> int:
    return len(set(first.lower().split()) & set(other.lower().split()))
