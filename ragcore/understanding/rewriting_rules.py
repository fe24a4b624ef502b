"""Other forms of a question by rules: variants, assertions, parts, terms."""

from __future__ import annotations

import re

from ragcore.ports import Tokenizer
from ragcore.stage_ports import Lexicon
from ragcore.text.matching import written_keywords
from ragcore.text.question_type import question_type
from ragcore.text.scripts import CJK, language_of
from ragcore.understanding import chinese, english
from ragcore.understanding.chinese_mentions import groups, without_attribute
from ragcore.understanding.english_mentions import content_groups
from ragcore.understanding.term_names import (
    full_name,
    generations,
    is_abbreviation,
    known_terms,
    names_of_terms,
    ordered_names,
    put_names,
    tongue_of,
)
from ragcore.understanding.words import alternatives, entries, section

MOST = 3  # related queries of one question
NEIGHBOURS = 2  # of one keyword
_ENDING = re.compile(r"[\s?？。.!！]+$")
_SPECIFIC = re.compile(r"\b[\w.-]*\d[\w.-]*\b|\b(?:in|on|at|of|for)\s+\d{4}\b")
_ASIDE = re.compile(r"\([^()]{0,200}\)|（[^（）]{0,200}）")
_BESIDE_CJK = re.compile(f"(?<=[{CJK}]) | (?=[{CJK}])")
_ASKS = re.compile(
    r"[?？]|什么|如何|怎|哪|谁|多少|吗|\b(?:what|how|why|who|when|where|which|is|are|do|does|can)\b", re.I
)
_LAST_PARTICLE = re.compile(r"[呢啊呀吧]+\Z")
_PLURAL = re.compile(r"(?:the\s+)?(?:[a-z-]+\s+){0,2}[a-z]*[a-rt-z]s(?:\s+(?:of|for|in|on|at|to|from|with)\b|\Z)", re.I)
_SENTENCES = re.compile(r"(?<=[?？；;])\s*")
_COMPARED_ZH = re.compile(
    r"^(?P<lead>.*?(?:比较|对比|请问)?(?:一下)?)(?P<a>[^，。；、？]{1,30}?)(?:和|与|跟|同|及)(?P<b>[^，。；、？]{1,30}?)"
    r"(?:之间)?(?:的|有什么|有哪些|有何|在)(?P<rest>.{0,20}?(?:区别|差别|差异|不同|异同|对比|比较|关系|优缺点|联系).*)$"
)
_COMPARED_EN = re.compile(
    r"(?:differences?\s+between|compare|comparison\s+(?:of|between)|relationship\s+between|similarities\s+between)\s+"
    r"(?P<a>.{1,60}?)\s+(?:and|with|to|versus|vs\.?)\s+(?P<b>[^?.,]{1,60})",
    re.I,
)
_VERSUS = re.compile(r"^(?P<a>.{1,50}?)\s+(?:vs\.?|versus)\s+(?P<b>[^?.,]{1,50})", re.I)
_JOINED_EN = re.compile(
    r"(?:,\s*(?:and\s+)?|\s+and\s+(?:also\s+)?)(?=(?:what|how|why|who|when|where|which|is|are|does|do|can)\b)", re.I
)
_JOINED_ZH = re.compile(r"[，,]\s*(?:并且|并|以及|同时|还有|另外)?|(?:并且|以及|同时)")
_ASKS_ZH = re.compile(r"什么|如何|怎么|怎样|为什么|哪|谁|多少|吗|几|是否")
_LISTED_ZH = re.compile(
    r"^(?P<items>[^、，。；？的]{1,12}(?:、[^、，。；？的]{1,12})+(?:和|与|及|以及)[^、，。；？的]{1,12})的(?P<rest>.+)$"
)
_ASSERTIONS = [
    (re.compile(pattern, re.I), form)
    for pattern, form in (
        (r"(?:what|who)\s+(?P<be>is|are|was|were)\s+(?:meant by\s+)?(?P<x>.+)", r"\g<x> \g<be>"),
        (r"what\s+does\s+(?P<x>.+?)\s+(?:mean|stand for)", r"\g<x> stands for"),
        (r"how\s+(?:do|can|should)\s+(?:i|we|you|one)\s+(?P<x>.+)", r"To \g<x>,"),
        (r"how\s+to\s+(?P<x>.+)", r"To \g<x>,"),
        (r"how\s+does\s+(?P<x>.+?)\s+work", r"\g<x> works by"),
        (r"why\s+(?:do|does|did|is|are|was|were|can|will|would|should|has|have)\s+(?P<x>.+)", r"\g<x> because"),
        (r"when\s+(?:do|does|did|is|are|was|were|will)\s+(?P<x>.+)", r"\g<x> on"),
        (r"where\s+(?:do|does|did|is|are|was|were|can)\s+(?P<x>.+)", r"\g<x> in"),
        (r"how\s+(?:many|much)\s+(?P<x>.+)", r"The number of \g<x> is"),
        (r"(?:what|which)\s+(?!(?:do|does|did|can|could|will|would|should|must|may)\b)(?P<x>.+)", r"The \g<x>"),
        (r"(?:do|does|did|can|could|will|would|should|must|may)\s+(?P<x>.+)", r"Yes, \g<x>"),
        (r"(?:is|are|was|were)\s+(?P<x>.+)", r"Yes, \g<x>"),
        (r"(?:explain|describe|define|tell me about)\s+(?P<x>.+)", r"\g<x> is"),
    )
]


def multi(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[str]:
    """Two other forms: its topic with words of the answer that is asked for, and in other terms or keywords alone."""
    kind = question_type(query)
    topic = topic_words(query, tokenizer)
    with_kind = _joined([topic, *section("phrasing", f"{kind} {tongue_of(query)}")])
    in_other_terms = expand(query, tokenizer, lexicon)[:1] or [_keywords(query, tokenizer)]
    return _new([with_kind, *in_other_terms], query)[:2]


def expand(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[str]:
    """The question with its terms under their other names, at most two for each; names in its language first."""
    if lexicon is None:
        return []
    variants = [_renamed(query, tokenizer, lexicon, choice) for choice in range(NEIGHBOURS)]
    return _new(variants, query)[:MOST]


def full_forms(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[str]:
    """The question with its abbreviations written out in its language: CA 是什么 becomes 载波聚合是什么."""
    return _new([put_names(query, _full_names(query, tokenizer, lexicon))], query)


def other_names(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[str]:
    """All alternatives of the terms that the lexicon knows, in any language."""
    if lexicon is None:
        return []
    places = known_terms(query, tokenizer, lexicon)
    return [name for start, end in places for name in lexicon.alternatives(query[start:end])]


def variants(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[str]:
    """Terms of the lexicon; for a definition its concept and basics, and how it works with details."""
    forms = expand(query, tokenizer, lexicon)[:1]
    if question_type(query) == "definition":
        topic, tongue = topic_words(query, tokenizer), tongue_of(query)
        forms += [_joined([topic, *section("phrasing", f"{name} {tongue}")]) for name in ("definition", "principle")]
    return _new(forms, query)[:MOST]


def decompose(query: str, tokenizer: Tokenizer) -> list[str]:
    """Sub-questions that the conjunctions of a question hold, at most three; [] for a question of one part.

    A part without a subject takes that of the parts before it.
    """
    parts = split_sub_questions(query)
    turns: list[tuple[str, str]] = []
    for part in parts:
        zh = tongue_of(query) == "zh"
        full = chinese.resolve_references(part, turns, tokenizer) if zh else english.resolve_references(part, turns)
        turns.append((full.text, ""))
    return _new([text for text, _ in turns], query)[:MOST]


def step_back(query: str, tokenizer: Tokenizer) -> list[str]:
    """The more general question behind it: its topic without numbers, its principles and background."""
    general = _SPECIFIC.sub(" ", query)
    topic = topic_words(general, tokenizer) or topic_words(query, tokenizer)
    return _new([_joined([topic, *section("phrasing", f"overview {tongue_of(query)}")])], query)


def simplify(query: str) -> list[str]:
    """Without courtesies, fillers and asides."""
    fillers = alternatives("phrasing", f"fillers {tongue_of(query)}")
    pattern = rf"\b{fillers}\b,?" if tongue_of(query) == "en" else rf"{fillers}[，,]?"
    plain = re.sub(pattern, " " if tongue_of(query) == "en" else "", _ASIDE.sub("", query), flags=re.I)
    plain = re.sub(r"\s+", " ", plain).strip(" ,，")
    return _new([plain], query)


def clarify(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[str]:
    """Abbreviations with their full form beside them; a bare topic as a question."""
    zh, text = tongue_of(query) == "zh", query
    for (_start, end), name in sorted(_full_names(query, tokenizer, lexicon).items(), reverse=True):
        text = f"{text[:end]}（{name}）{text[end:].lstrip(' ')}" if zh else f"{text[:end]} ({name}){text[end:]}"
    if not _ASKS.search(text):
        topic = _LAST_PARTICLE.sub("", text)
        text = f"{topic}是什么" if zh else f"What {'are' if _PLURAL.match(topic) else 'is'} {topic}?"
    return _new([text], query)


def domain(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[str]:
    """Terms under the name that documents of the field use, the first of the lexicon."""
    if lexicon is None:
        return []
    names = names_of_terms(query, tokenizer, lexicon)
    usual = {(start, end): _usual(query[start:end], each, query, lexicon) for (start, end), each in names.items()}
    changed = {(start, end): name for (start, end), name in usual.items() if name != query[start:end]}
    return _new([put_names(query, changed)], query)


def hypothetical(query: str) -> str:
    """The beginning of an answer: the question as an assertion with its question words left out."""
    text = _ENDING.sub("", (simplify(query) or [query])[0]).strip()
    if tongue_of(text) == "zh":
        return _assertion_zh(text)
    for pattern, form in _ASSERTIONS:
        if match := pattern.match(text):
            return re.sub(r"\s+", " ", match.expand(form)).strip()
    return ""


def topic_words(query: str, tokenizer: Tokenizer) -> str:
    """What a question is about, as written there; its keywords where no topic is found."""
    if tongue_of(query) == "zh":
        phrases = [query[group[0].start : group[-1].end] for group in groups(query, tokenizer)]
        topics = [without_attribute(text) for text in phrases]
        topics = [text for text in topics if text not in entries("chinese", "attributes")]
    else:
        topics = content_groups(query)
    return " ".join(dict.fromkeys(topics)) or _keywords(query, tokenizer)


def _keywords(query: str, tokenizer: Tokenizer) -> str:
    """The keywords of a question as they are written there."""
    return " ".join(dict.fromkeys(written_keywords(query, tokenizer).values()))


def _assertion_zh(text: str) -> str:
    words = alternatives("phrasing", "question words zh")
    if match := re.fullmatch(r"(?:什么是|什么叫|何谓)(?P<x>.+)", text) or re.fullmatch(
        r"(?P<x>.+?)(?:是什么|是指什么|是什么意思)", text
    ):
        return f"{match['x']}是指"
    if match := re.fullmatch(r"(?P<x>.*?)(?:如何|怎么|怎样)(?P<y>.+)", text):
        return f"{match['x']}{match['y']}的方法是"
    if match := re.fullmatch(r"(?P<x>.*?)(?:为什么|为何)(?P<y>.+)", text):
        return f"{match['x']}{match['y']}的原因是"
    plain = re.sub(words, "", text)
    return f"{plain}包括" if plain and plain != text else ""


def _renamed(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None, choice: int) -> str:
    """The question with each known term under its other name number `choice`, its last one where it has fewer."""
    names = {at: ordered_names(names, query) for at, names in names_of_terms(query, tokenizer, lexicon).items()}
    return put_names(query, {at: each[min(choice, len(each) - 1)] for at, each in names.items() if each})


def _full_names(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> dict[tuple[int, int], str]:
    """Places of abbreviations with their full names in the language of the question."""
    names = names_of_terms(query, tokenizer, lexicon)
    full = {at: full_name(each, query) for at, each in names.items() if is_abbreviation(query[at[0] : at[1]])}
    return {at: name for at, name in full.items() if name}


def _usual(term: str, names: list[str], query: str, lexicon: Lexicon) -> str:
    """The usual name of a thing in the language of the question; the term itself where that is unknown."""
    if is_abbreviation(term):
        return full_name(names, query) or term
    usual = next(iter(lexicon.alternatives(names[-1])), term) if len(names) > 1 else term
    is_alike = usual in names and generations(usual) == generations(term)  # neither wider nor narrower than the term
    return usual if is_alike and tongue_of(usual) == tongue_of(query) else term


def _joined(words: list[str]) -> str:
    return " ".join(word for word in words if word)


def _new(texts: list[str], query: str) -> list[str]:
    """Each once, with single spaces, without empty ones and the question itself."""
    keys = {_comparable(query)}
    forms: list[str] = []
    for text in texts:
        if (key := _comparable(text)) and key not in keys:
            keys.add(key)
            forms.append(" ".join(text.split()))
    return forms


def _comparable(text: str) -> str:
    """What two forms are compared by: neither case nor spaces beside Chinese make a form of its own."""
    return _BESIDE_CJK.sub("", " ".join(text.split())).casefold()


# ── sub-questions ───────────────────────────────────────────────────────────────────────────────────


def split_sub_questions(query: str) -> list[str]:
    """Questions that can be asked alone, in order; [] where the question has one part."""
    sentences = [text.strip() for text in _SENTENCES.split(query) if len(text.strip()) > 2]
    if len(sentences) > 1:
        return sentences
    parts = _parts_zh(query) if language_of(query) == "zh" else _parts_en(query)
    return parts if len(parts) > 1 else []


def _parts_zh(query: str) -> list[str]:
    if match := _LISTED_ZH.match(query):
        items = re.split(r"、|以及|和|与|及", match["items"])
        return [f"{item}的{match['rest']}" for item in items if item]
    if match := _COMPARED_ZH.match(query):
        return [f"{match['a']}是什么", f"{match['b']}是什么"]
    pieces = [piece.strip() for piece in _JOINED_ZH.split(query) if piece.strip()]
    asking = [piece for piece in pieces if _ASKS_ZH.search(piece)]
    return asking if len(asking) > 1 and len(asking) == len(pieces) else []


def _parts_en(query: str) -> list[str]:
    if match := _COMPARED_EN.search(query) or _VERSUS.match(query):
        return [f"What is {_thing(match['a'])}?", f"What is {_thing(match['b'])}?"]
    pieces = [piece.strip(" ?.,") for piece in _JOINED_EN.split(query) if piece.strip(" ?.,")]
    return [f"{piece[0].upper()}{piece[1:]}?" for piece in pieces] if len(pieces) > 1 else []


def _thing(text: str) -> str:
    return text.strip(" ?.")
