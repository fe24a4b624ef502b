"""Names and topics of English questions and answers, by words alone: there is no tagger in the product."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from ragcore.understanding.mentions import Kind, Mention
from ragcore.understanding.words import alternatives, entries

NAME, MODIFIER, TOPIC = 1.0, 0.5, 0.8  # attention that a mention gains
DESCRIBED = 0.5  # of "a cheap restaurant", which an answer may name
MOST_WORDS = 7  # of a topic
NEAR_CHARACTERS = 80  # before a word: how far back is looked for what introduces it

WORD = re.compile(r"[^\W_]+(?:['’.&/+-][^\W_]+)*['’]?", re.UNICODE)
QUOTED = re.compile(r"[\"“]([^\"“”]{2,60}?)[,.]?[\"”]")
_JOINING = frozenset(("of", "the", "de", "van", "von", "der", "la", "le", "del", "da", "and", "&", "for"))
_ATTRIBUTE_OF = re.compile(
    rf"\b(?:(?:the|some|any|all)\s+)?(?:[\w-]+\s+)?{alternatives('english', 'attributes')}\s+(?:of|for|about|in)\s+",
    re.I,
)
_ATTRIBUTE_FIRST = re.compile(rf"{alternatives('english', 'attributes')}\s+(?P<rest>[\w-]+\s+\S.*)$", re.I)
_ATTRIBUTE_LAST = re.compile(rf"(?P<rest>[\w-]+\s+\S.*?)\s+{alternatives('english', 'attributes')}$", re.I)
_ARTICLE = re.compile(r"\b(the|a|an|my|our|your)\s+$", re.I)
_POSSESSIVE = re.compile(r"['’]s?$")
_LOCATIVE = re.compile(r"\b(?:in|near|around|outside|across)\s+(?:the\s+)?$", re.I)
_OF_CODE = re.compile(r"\s+(?:for|of|in|on|(?:that\s+)?fits|fitting)\s+(?:the\s+|an?\s+)?(?=[\w-]*\d)")
_BE = re.compile(r"\b(?:is|are|was|were)\b", re.I)
_BEGINNING = re.compile(r"(?:^|[.?!:\n][ \"“'(]*|\n[ *•-]*)[ \"“'(]*$")
_PASSIVE = frozenset(("be", "been", "being", "get", "gets", "got"))
_GLUED = re.compile(r"\d[A-Z][a-z]")  # two cells or lines that lost the space between them
_DEFINED = re.compile(r"(?:what|who)\s+(?:is|are|was|were)\b", re.I)
_SUPPORTED = re.compile(r"\b(?:do|does|did|can|could|will|would|should|to)\b", re.I)


@dataclass(frozen=True, slots=True)
class Token:
    """A word with its place in the text."""

    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        return self.text.lower().replace("’", "'")


Wanted = Callable[[Token, bool], bool]  # a word, and whether it begins a sentence


def tokens(text: str) -> list[Token]:
    return [Token(match.group(), match.start(), match.end()) for match in WORD.finditer(text)]


def question_mentions(text: str) -> list[Mention]:
    """Names of a question, then its topic, strongest last so that it wins ties."""
    mentions = [Mention(text=m[1], kind="thing", weight=NAME, is_name=True) for m in QUOTED.finditer(text)]
    mentions += names(text)
    topic = topic_of(text)
    full = _with_its_code(text, topic, mentions)
    if topic and not any(topic.lower() == name.key for name in mentions):
        article = article_before(text, text.rindex(topic))
        weight = DESCRIBED if article in ("a", "an") and not _DEFINED.match(text) else TOPIC
        if full != topic or _ends_in_code(topic, mentions):
            weight, article = NAME, article or "the"
            mentions = [
                replace(mention, weight=MODIFIER) if mention.key in full.lower() else mention for mention in mentions
            ]
        mentions.append(Mention(text=full, kind=kind_of(topic), weight=weight, article=article))
    return mentions


def _with_its_code(text: str, topic: str, name_mentions: Sequence[Mention]) -> str:
    """The drive motor for QX12: a thing that a code says more of is spoken about with it, and the code without it
    is not."""
    if not topic or topic.split()[-1].lower() in entries("english", "attributes"):
        return topic
    at = text.rfind(topic) + len(topic)
    if (link := _OF_CODE.match(text, at)) is None:
        return topic
    code = next((name.text for name in name_mentions if text.startswith(name.text, link.end())), "")
    return text[at - len(topic) : link.end() + len(code)] if any(map(str.isdigit, code)) else topic


def _ends_in_code(topic: str, name_mentions: Sequence[Mention]) -> bool:
    """The drive motor QX12: common nouns before a code say what is spoken about, the code says only which one."""
    codes = [name for name in name_mentions if any(c.isdigit() for c in name.text) and f" {name.key}" in topic.lower()]
    before = min((topic.lower().index(name.key) for name in codes), default=0)
    nouns = tokens(topic[:before])
    return bool(nouns) and not any(_is_generic(noun) or noun.lower in entries("english", "classes") for noun in nouns)


def begins_sentence(text: str, at: int) -> bool:
    """Whether a sentence, a line or an item of a list begins there."""
    return _BEGINNING.search(text, max(at - NEAR_CHARACTERS, 0), at) is not None


def _text_before(text: str, at: int) -> str:
    return text[max(at - NEAR_CHARACTERS, 0) : at]


def article_before(text: str, at: int) -> str:
    """the, a, an or a possessive directly before a place in the text, lower case."""
    match = _ARTICLE.search(text, max(at - NEAR_CHARACTERS, 0), at)
    return match[1].lower() if match else ""


def names(text: str) -> list[Mention]:
    """Runs of capitalised words and words with digits or capitals inside, each once."""
    by_key: dict[str, Mention] = {}
    for run in _runs(text, _is_name_part):
        if all(token.lower in entries("english", "calendar") or token.text.isdigit() for token in run):
            continue  # a date is nothing that is spoken about
        name = _name([token.text for token in run], text[run[0].start : run[-1].end])
        name = replace(
            name,
            kind=_kind_here(text, run, name),
            weight=MODIFIER if _modifies(text, run[-1]) else NAME,
            article=article_before(text, run[0].start),
        )
        by_key.setdefault(name.key, name)
    return list(by_key.values())


def _kind_here(text: str, run: list[Token], name: Mention) -> Kind:
    """The kind of a name by what stands before it, where the name itself does not say it."""
    if name.kind != "unknown":
        return name.kind
    if _is_place(text, run, name.key):
        return "place"
    before = _text_before(text, run[0].start).rstrip(" \"“'").lower().rsplit(maxsplit=1)[-1:]
    if before and before[0] in entries("english", "classes"):
        return "thing"  # the band Rapid Eye Movement
    if len(run) > 1 and article_before(text, run[0].start):
        return "plural" if run[-1].lower.endswith("s") and not run[-1].lower.endswith("ss") else "thing"
    return "unknown"


def _is_place(text: str, run: list[Token], key: str) -> bool:
    """Known by name, after "in" or "near", or after a comma behind such a name: Hanford, California."""
    before = _text_before(text, run[0].start)
    if key in entries("english", "places") or _LOCATIVE.search(before):
        return True
    return bool(re.search(r"\b(?:in|near|around)\s+[A-Z][\w.'-]*(?: [A-Z][\w.'-]*)*,\s+$", before))


def topic_of(text: str) -> str:
    """What a question is about: what stands after an attribute's "of", otherwise its last group of content words."""
    sentences = [part for part in re.split(r"(?<=[.?!])\s+", text.strip()) if part]
    for sentence in reversed(sentences):
        if topic := _topic_of_sentence(sentence):
            return topic
    return ""


def kind_of(text: str) -> Kind:
    """What a phrase is, by its last word."""
    words = text.split()
    last = words[-1].lower() if words else ""
    if last in entries("english", "people"):
        return "person"
    if last in entries("english", "place nouns") or text.lower() in entries("english", "places"):
        return "place"
    plural = last.endswith("s") and not last.endswith(("ss", "us", "is", "'s")) and len(last) > 3
    return "plural" if plural or " and " in text else "thing"


def last_attribute(words: list[Token]) -> Token | None:
    """The last noun that is always that of something (a price, a sign), if a question has no other content; or None.

    Common adjectives before such a noun belong to it. "my" and "your" say whose it is.
    """
    attributes, adjectives = entries("english", "attributes"), entries("english", "adjectives")
    attribute: Token | None = None
    for at, token in enumerate(words):
        if token.lower in ("my", "your", "our", "i", "you", "we", "that", "one", "ones", "others"):
            return None
        if token.lower in attributes:
            attribute = token
        elif token.lower in adjectives or token.lower in entries("english", "open verbs"):
            continue
        elif _is_content(token, at == 0) and not _is_generic(token):
            return None
    return attribute


def _topic_of_sentence(sentence: str) -> str:
    of = list(_ATTRIBUTE_OF.finditer(sentence))
    if of and (group := content_groups(sentence[of[-1].end() :])):
        return group[0]
    groups = content_groups(sentence)
    if len(groups) > 1 and _says_which(sentence, *groups[-2:]):
        groups = groups[:-1]
    topic = groups[-1] if groups else ""
    return _without_attribute(topic) if sentence.startswith(topic) else topic


def _says_which(sentence: str, thing: str, code: str) -> bool:
    """The water filter for the D30: whether the last group of words only tells which of the things before it."""
    between = _OF_CODE.match(sentence, sentence.rfind(thing, 0, sentence.rfind(code)) + len(thing))
    return between is not None and between.end() == sentence.rfind(code)


def _without_attribute(keywords: str) -> str:
    """ "water filter vento" of "price water filter vento" and "water filter vento price", typed without a sentence."""
    match = _ATTRIBUTE_FIRST.match(keywords) or _ATTRIBUTE_LAST.match(keywords)
    return match["rest"] if match else keywords


def content_groups(text: str) -> list[str]:
    """Groups of content words in order; the verb after do, can or to is none of them."""
    texts: list[str] = []
    supported, be = _SUPPORTED.search(text), _BE.search(text)
    end = len(text.rstrip(" ?.!,"))
    for run in _runs(text, _is_content):
        group_tokens = list(run)
        start, is_last = group_tokens[0].start, group_tokens[-1].end >= end
        if (
            is_last
            and len(group_tokens) > 1
            and supported
            and supported.end() <= start
            and group_tokens[-1].text.islower()
            and not group_tokens[-1].lower.endswith(("s", "tion", "ment", "ing"))
        ):
            group_tokens = group_tokens[:-1]
        last = next((token.lower for token in reversed(tokens(_text_before(text, start)))), "")
        if last in entries("english", "subjects") or (last in _PASSIVE and group_tokens[0].lower.endswith("ed")):
            group_tokens = group_tokens[
                1:
            ]  # "if I miss the deadline", "can it be bridged": what somebody does is no thing
        elif be and be.end() <= start and is_last:
            while len(group_tokens) > 1 and group_tokens[-1].lower in entries("english", "states"):
                group_tokens = group_tokens[:-1]  # "is my password valid"
        if not group_tokens:
            continue
        group = _POSSESSIVE.sub("", text[group_tokens[0].start : group_tokens[-1].end])
        if len(group_tokens) <= MOST_WORDS and not all(_is_generic(t) or t.text.isdigit() for t in group_tokens):
            texts.append(group)
    return texts


def _runs(text: str, is_part: Wanted) -> Iterator[list[Token]]:
    """Maximal runs of neighbouring words that are wanted; "of" and the like may join two of them."""
    all_tokens = tokens(text)
    run: list[Token] = []
    for at, token in enumerate(all_tokens):
        gap = text[run[-1].end : token.start] if run else " "
        abbreviated = bool(run) and is_part is _is_name_part and gap.strip(" ") == "." and _is_abbreviation(run[-1])
        if run and gap.strip(" ") and not abbreviated:
            yield run
            run = []
        begins = not abbreviated and (at == 0 or begins_sentence(text, token.start))
        if is_part(token, begins) or (run and token.lower in _JOINING and _joins(text, all_tokens, at, is_part)):
            run.append(token)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _is_abbreviation(token: Token) -> bool:
    """Whether a point after it does not end a sentence: an initial or a title."""
    return (len(token.text) == 1 and token.text.isupper()) or token.lower in entries("english", "abbreviations")


def _modifies(text: str, last: Token) -> bool:
    """A name before a noun, as in "the Persian restaurant": the noun is the thing."""
    following = tokens(text[last.end : last.end + 40])[:1]
    return bool(
        following
        and not text[last.end : last.end + following[0].start].strip(" ")
        and not last.text.endswith(("'s", "’s"))
        and following[0].text.islower()
        and _is_content(following[0], False)
    )


def _joins(text: str, all_tokens: list[Token], at: int, is_part: Wanted) -> bool:
    """ "of" and "the" between two wanted words; "and" only inside names."""
    following = all_tokens[at + 1 : at + 3]
    if all_tokens[at].lower != "of" and is_part is not _is_name_part:
        return False
    if all_tokens[at].lower == "and":
        return False
    for token in following:
        if text[all_tokens[at].end : token.start].strip(" ") and token is following[0]:
            return False
        if is_part(token, False):
            return True
        if token.lower not in _JOINING:
            return False
    return False


def _is_name_part(token: Token, begins: bool) -> bool:
    text = token.text
    if _GLUED.search(text):
        return False
    if text == "US":
        return True
    if begins and token.lower in entries("english", "interjections"):
        return False
    if token.lower in entries("english", "function") or text == "I":
        return not begins and text[:1].isupper() and token.lower in entries("english", "adjectives in names")
    if any(c.isdigit() for c in text):
        return any(c.isalpha() for c in text)
    if begins and token.lower.endswith("ing"):
        return False
    inner = any(c.isupper() for c in text[1:])
    return inner or (text[:1].isupper() and not (begins and (is_verb(token) or _is_generic(token))))


def _is_content(token: Token, begins: bool) -> bool:
    return token.lower not in entries("english", "function") and not is_verb(token) and token.text != "I"


def is_verb(token: Token) -> bool:
    return token.lower in entries("english", "verbs")


def _is_generic(token: Token) -> bool:
    return token.lower in entries("english", "generic") or token.lower in entries("english", "attributes")


def _name(words: list[str], text_as_is: str) -> Mention:
    if len(words) % 2 == 0 and words[: len(words) // 2] == words[len(words) // 2 :]:
        words = words[: len(words) // 2]  # a heading, then the same words
    lower = [word.lower() for word in words]
    text = _POSSESSIVE.sub("", text_as_is if len(text_as_is.split()) == len(words) else " ".join(words))
    while len(words) > 2 and lower[0].rstrip(".") in entries("english", "professions"):
        words, lower = words[1:], lower[1:]
        text = text.split(" ", 1)[-1].lstrip(". ")
    is_man, is_woman = lower[0] in entries("english", "male names"), lower[0] in entries("english", "female names")
    if (is_man or is_woman or lower[0] in entries("english", "titles")) and len(words) < 5:
        return Mention(text=text, kind="person", is_name=True, is_woman=None if is_man == is_woman else is_woman)
    return Mention(text=text, kind="thing" if _is_no_person(words, lower) else "unknown", is_name=True)


def _is_no_person(words: list[str], lower: list[str]) -> bool:
    return (
        len(words) > 4
        or any(word in entries("english", "organisations") or word in ("of", "the", "for", "&") for word in lower)
        or any(c.isdigit() for word in words for c in word)
        or any(word.isupper() and len(word) > 1 for word in words)
    )
