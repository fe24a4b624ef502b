"""Other forms of a question by rules: variants, assertions, parts, terms."""

from __future__ import annotations

import re

from ragcore.ports import Tokenizer
from ragcore.stage_ports import Lexicon
from ragcore.text.lexicon import is_meant
from ragcore.text.matching import keywords
from ragcore.text.question_type import question_type
from ragcore.text.scripts import language_of
from ragcore.understanding import chinese, english
from ragcore.understanding.chinese_mentions import groups, without_attribute
from ragcore.understanding.english_mentions import content_groups
from ragcore.understanding.lexicon import term_spans
from ragcore.understanding.words import alternatives, entries, section

MOST = 3  # related queries of one question
NEIGHBOURS = 2  # of one keyword
_ENDING = re.compile(r"[\s?？。.!！]+$")
_SPECIFIC = re.compile(r"\b[\w.-]*\d[\w.-]*\b|\b(?:in|on|at|of|for)\s+\d{4}\b")
_ASIDE = re.compile(r"\([^()]{0,200}\)|（[^（）]{0,200}）")
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
        (r"(?:what|which)\s+(?P<x>.+)", r"The \g<x>"),
        (r"(?:do|does|did|can|could|will|would|should|must|may)\s+(?P<x>.+)", r"Yes, \g<x>"),
        (r"(?:is|are|was|were)\s+(?P<x>.+)", r"Yes, \g<x>"),
        (r"(?:explain|describe|define|tell me about)\s+(?P<x>.+)", r"\g<x> is"),
    )
]


def multi(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[str]:
    """Two other forms: its topic with words of the answer that is asked for, and in other terms or keywords alone."""
    kind = question_type(query)
    topic = topic_words(query, tokenizer)
    with_kind = _joined([topic, *section("phrasing", f"{kind} {_tongue(query)}")])
    in_other_terms = expand(query, tokenizer, lexicon)[:1] or [" ".join(keywords(query, tokenizer))]
    return _new([with_kind, *in_other_terms], query)[:2]


def expand(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[str]:
    """The question with its terms under their other names, at most two for each; names in its language first."""
    if lexicon is None:
        return []
    variants = [_renamed(query, tokenizer, lexicon, choice) for choice in range(NEIGHBOURS)]
    return _new(variants, query)[:MOST]


def full_forms(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[str]:
    """The question with its abbreviations written out in its language: CA 是什么 becomes 载波聚合是什么."""
    text = query
    for start, end in reversed(_known(query, tokenizer, lexicon)):
        term = query[start:end]
        if lexicon is not None and _is_abbreviation(term) and (other := _best(term, query, lexicon)):
            text = _spliced(text, start, other, end, query)
    return _new([text], query)


def other_names(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[str]:
    """All alternatives of the terms that the lexicon knows, in any language."""
    if lexicon is None:
        return []
    places = _known(query, tokenizer, lexicon)
    return [name for start, end in places for name in lexicon.alternatives(query[start:end])]


def variants(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[str]:
    """Terms of the lexicon; for a definition its concept and basics, and how it works with details."""
    forms = expand(query, tokenizer, lexicon)[:1]
    if question_type(query) == "definition":
        topic, tongue = topic_words(query, tokenizer), _tongue(query)
        forms += [_joined([topic, *section("phrasing", f"{name} {tongue}")]) for name in ("definition", "principle")]
    return _new(forms, query)[:MOST]


def decompose(query: str, tokenizer: Tokenizer) -> list[str]:
    """Sub-questions that the conjunctions of a question hold, at most three; [] for a question of one part.

    A part without a subject takes that of the parts before it.
    """
    parts = split_sub_questions(query)
    turns: list[tuple[str, str]] = []
    for part in parts:
        zh = _tongue(query) == "zh"
        full = chinese.resolve_references(part, turns, tokenizer) if zh else english.resolve_references(part, turns)
        turns.append((full.text, ""))
    return _new([text for text, _ in turns], query)[:MOST]


def step_back(query: str, tokenizer: Tokenizer) -> list[str]:
    """The more general question behind it: its topic without numbers, its principles and background."""
    general = _SPECIFIC.sub(" ", query)
    topic = topic_words(general, tokenizer) or topic_words(query, tokenizer)
    return _new([_joined([topic, *section("phrasing", f"overview {_tongue(query)}")])], query)


def simplify(query: str) -> list[str]:
    """Without courtesies, fillers and asides."""
    fillers = alternatives("phrasing", f"fillers {_tongue(query)}")
    pattern = rf"\b{fillers}\b,?" if _tongue(query) == "en" else rf"{fillers}[，,]?"
    plain = re.sub(pattern, " " if _tongue(query) == "en" else "", _ASIDE.sub("", query), flags=re.I)
    plain = re.sub(r"\s+", " ", plain).strip(" ,，")
    return _new([plain], query)


def clarify(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[str]:
    """Abbreviations with their full form beside them; a bare topic as a question."""
    text = query
    for start, end in reversed(_known(query, tokenizer, lexicon)):
        term = query[start:end]
        if lexicon is not None and _is_abbreviation(term) and (other := _best(term, query, lexicon)):
            text = (
                f"{text[:end]}（{other}）{text[end:]}"
                if _tongue(query) == "zh"
                else f"{text[:end]} ({other}){text[end:]}"
            )
    if not re.search(
        r"[?？]|什么|如何|怎|哪|谁|多少|吗|\b(?:what|how|why|who|when|where|which|is|are|do|does|can)\b", text, re.I
    ):
        text = f"{text}是什么" if _tongue(query) == "zh" else f"What is {text}?"
    return _new([text], query)


def domain(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[str]:
    """Terms under the name that documents of the field use, the first of the lexicon."""
    if lexicon is None:
        return []
    text = query
    for start, end in reversed(_known(query, tokenizer, lexicon)):
        text = _spliced(text, start, _usual(query[start:end], query, lexicon), end, query)
    return _new([text], query)


def hypothetical(query: str) -> str:
    """The beginning of an answer: the question as an assertion with its question words left out."""
    text = _ENDING.sub("", (simplify(query) or [query])[0])
    if _tongue(text) == "zh":
        return _assertion_zh(text)
    for pattern, form in _ASSERTIONS:
        if match := pattern.match(text):
            return re.sub(r"\s+", " ", match.expand(form)).strip()
    return ""


def topic_words(query: str, tokenizer: Tokenizer) -> str:
    """What a question is about, as written there; its keywords where no topic is found."""
    if _tongue(query) == "zh":
        phrases = [query[group[0].start : group[-1].end] for group in groups(query, tokenizer)]
        topics = [without_attribute(text) for text in phrases]
        topics = [text for text in topics if text not in entries("chinese", "attributes")]
    else:
        topics = content_groups(query)
    return " ".join(dict.fromkeys(topics)) or " ".join(keywords(query, tokenizer))


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


def _renamed(query: str, tokenizer: Tokenizer, lexicon: Lexicon, choice: int) -> str:
    """The question with each known term under its alternative number `choice`, its last one where it has fewer."""
    text = query
    for start, end in reversed(_known(query, tokenizer, lexicon)):
        if names_ := _ordered(query[start:end], query, lexicon):
            text = _spliced(text, start, names_[min(choice, len(names_) - 1)], end, query)
    return text


def _known(query: str, tokenizer: Tokenizer, lexicon: Lexicon | None) -> list[tuple[int, int]]:
    """Places of terms that the lexicon knows, longest first, none over another, in order. Usual words count only in
    capitals, see `is_meant`."""
    if lexicon is None:
        return []
    places: list[tuple[int, int]] = []
    for start, end in sorted(term_spans(query, tokenizer), key=lambda span: span[0] - span[1]):
        free = all(end <= other or start >= last for other, last in places)
        if free and is_meant(query[start:end], query) and lexicon.alternatives(query[start:end]):
            places.append((start, end))
    return sorted(places)


def _ordered(term: str, query: str, lexicon: Lexicon) -> list[str]:
    """Alternatives of a term, those in the language of the question first, full forms before abbreviations."""
    tongue = _tongue(query)
    return sorted(lexicon.alternatives(term), key=lambda name: (_tongue(name) != tongue, _is_abbreviation(name)))


def _usual(term: str, query: str, lexicon: Lexicon) -> str:
    """The usual name of a thing in the language of the question; the term itself where that is unknown."""
    if _is_abbreviation(term):
        return _best(term, query, lexicon) or term
    names = lexicon.alternatives(term)
    usual = next(iter(lexicon.alternatives(names[-1])), term) if len(names) > 1 else term
    return usual if _tongue(usual) == _tongue(query) else term


def _best(term: str, query: str, lexicon: Lexicon) -> str:
    candidates = [name for name in _ordered(term, query, lexicon) if not name.isupper()]
    return candidates[0] if candidates else ""


def _is_abbreviation(term: str) -> bool:
    return 1 < len(term) <= 8 and term.upper() == term and term.isascii() and any(c.isalpha() for c in term)


def _spliced(text: str, start: int, name: str, end: int, query: str) -> str:
    """A name in the place of another; a Chinese name in a Chinese question stands without spaces."""
    before, after = text[:start], text[end:]
    if not name.isascii() and _tongue(query) == "zh":
        before, after = before.rstrip(" "), after.lstrip(" ")
    return before + name + after


def _joined(words: list[str]) -> str:
    return " ".join(word for word in words if word)


def _tongue(text: str) -> str:
    return "zh" if language_of(text) == "zh" else "en"


def _new(texts: list[str], query: str) -> list[str]:
    """Each once, without empty ones and the question itself."""
    keys = {query.strip().lower()}
    forms: list[str] = []
    for text in texts:
        if (key := text.strip().lower()) and key not in keys:
            keys.add(key)
            forms.append(text.strip())
    return forms


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
