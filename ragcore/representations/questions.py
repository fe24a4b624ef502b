"""Questions that a chunk answers: which questions of a model are kept, and rules that write them without one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from ragcore.extractive.sentences import plain_sentences
from ragcore.ports import Tokenizer
from ragcore.text.matching import jaccard, keywords
from ragcore.text.scripts import CJK, language_of
from ragcore.text.tokenise import stop_words
from ragcore.types import Language

COUNT = 3
MIN_OVERLAP = 0.5  # share of a question's keywords that the chunk must have
SAME = 0.8  # Jaccard of keywords from which two questions are one
MAX_CHARACTERS = 300

_DEFINED_EN = re.compile(
    r"(?:The |An? )?(?P<term>[A-Za-z][\w/-]*(?: [\w/()-]+){0,5}?),? "
    r"(?P<verb>is an?|is the|are|is defined as|refers to|means|stands for|denotes) "
)
_DEFINED_ZH = re.compile(
    rf"(?P<term>[\w{CJK}/() （）-]{{2,24}}?)(?:是指|指的是|即为|定义为|称为|是一种|是一个|是一类|是由|是为|是)"
)
_BRACKETED = re.compile(r" ?[(（][^()（）]{0,80}[)）]")
_COUNTING = re.compile(
    r"(?:almost|nearly|all|most|many|some|several|few|each|every|any|no|both|other|another|more|such|only|none)\b",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"(?:The|An?) ")
_BORN = re.compile(r" ?[(（] ?born\b")
_POINTING = re.compile(
    r"(?:this|that|these|those|it|they|there|he|she|we|you|which|what|one|each|all|if|when|as|in|on|for|note)\b"
    r"|[这那它其该此他她我你如若当在但并而也还就]",
    re.IGNORECASE,
)
_NUMBERING = re.compile(
    r"\A(?:\d+(?:\.\d+)*(?:[.、)]\s*|\s+)|第[一二三四五六七八九十百\d]+[章节節条條部]分?\s*|[一二三四五六七八九十]+、)"
)
_DATE = re.compile(
    r"\d{4}\s?年(?:\s?\d{1,2}\s?月(?:\s?\d{1,2}\s?日)?)?"
    r"|(?:January|February|March|April|May|June|July|August|September|October|November|December)(?: \d{1,2},)? \d{4}"
)
_ASKING_ZH = re.compile(r"如何|怎么|怎样|为什么|什么|哪些")
_PROCEDURE_EN = re.compile(
    r"\b(?:procedure|process|mechanism|algorithm|method|configur|install|protocol)", re.IGNORECASE
)
MAX_WORDS = 4
MAX_PHRASES = 8
_RUN = re.compile(rf"[A-Za-z0-9][\w/-]*(?: [A-Za-z0-9][\w/-]*)*|[{CJK}]+")
_IDENTIFIER = re.compile(r"[A-Z](?=[\w/-]*[A-Z0-9])[\w/-]+")  # SCS, LTE-A, N2
Word = tuple[str, str]  # key and surface


@dataclass(frozen=True, slots=True)
class Forms:
    """How questions are worded in one language."""

    definition: str
    event: str
    event_of: str
    heading: str
    procedure: str
    comparison: str


_FORMS = {
    "zh": Forms(
        definition="{0}是什么？",
        event="{0}发生了什么？",
        event_of="{1}在{0}发生了什么？",
        heading="如何理解{0}？",
        procedure="{0}是怎样的？",
        comparison="{0}和{1}有什么区别？",
    ),
    "en": Forms(
        definition="What is {0}?",
        event="What happened in {0}?",
        event_of="What happened in {0} at {1}?",
        heading="What does {0} cover?",
        procedure="How does {0} work?",
        comparison="What is the difference between {0} and {1}?",
    ),
}


def select_questions(questions: Sequence[str], text: str, tokenizer: Tokenizer) -> tuple[str, ...]:
    """Those whose keywords occur in the text to a half at least, each once, three at most."""
    have = set(tokenizer.words(text))
    selected: dict[str, set[str]] = {}
    for question in (" ".join(question.split()) for question in questions):
        words = set(keywords(question, tokenizer))
        if not words or len(question) > MAX_CHARACTERS or len(words & have) < MIN_OVERLAP * len(words):
            continue
        if all(jaccard(words, other) < SAME for other in selected.values()):
            selected[question] = words
        if len(selected) == COUNT:
            break
    return tuple(selected)


def rule_questions(text: str, heading_path: Sequence[str], tokenizer: Tokenizer) -> tuple[str, ...]:
    """Questions made of what the text defines and dates, its heading and its key phrases, in its language.

    Chinese and English only: without a form for a language there is no question. Fewer than three rather than empty
    ones: nothing is asked about a word only because it is frequent.
    """
    language = language_of(text)
    forms = _FORMS.get(language)
    if forms is None:
        return ()
    heading = _NUMBERING.sub("", heading_path[-1]).strip() if heading_path else ""
    defined = list(dict.fromkeys(_defined(text, language)))
    terms = list(dict.fromkeys([*defined, *key_phrases(text, tokenizer)]))
    questions = [forms.definition.format(term) for term in defined[:1]] or _dated(text, heading, forms)
    questions += [_about(heading, forms)] if heading else []
    questions += [forms.comparison.format(*pair) for pair in _comparable(defined, terms, tokenizer)][:1]
    questions += [forms.definition.format(term) for term in terms]
    return select_questions(questions, "\n".join([*heading_path, text]), tokenizer)


def definitions(text: str) -> Iterator[tuple[str, str]]:
    """(question, sentence) of the sentences that define something: "What is a slice?" of "A slice is a …".

    Subjects that only count something ("Almost all pumps are …") are left out, and what stands in brackets behind one.
    """
    language = language_of(text)
    if language not in _FORMS:
        return
    for term, sentence in _defining(text, language):
        subject = _BRACKETED.sub("", term).strip()
        if not subject or _COUNTING.match(subject) or any(mark in subject for mark in "()（）"):
            continue
        yield (
            _FORMS["zh"].definition.format(subject) if language == "zh" else _asked_in_english(subject, sentence),
            sentence,
        )


def _asked_in_english(subject: str, sentence: str) -> str:
    """With the article of the sentence, and its number; somebody who was born is a person."""
    if _BORN.match(sentence[len(subject) :]):
        return f"Who is {subject}?"
    article = _ARTICLE.match(sentence)
    noun = f"{article.group().lower()}{subject}" if article else subject
    is_plural = re.match(rf"(?:The )?{re.escape(subject)}[^.]{{0,60}}? are\b", sentence) is not None
    return f"What are {noun}?" if is_plural else f"What is {noun}?"


def heading_question(heading: str) -> str:
    """The question of a heading that asks something or names a procedure; "" for any other heading."""
    plain = _NUMBERING.sub("", heading).strip()
    forms = _FORMS.get(language_of(plain))
    if forms is None:
        return ""
    question = _about(plain, forms)
    return "" if question == forms.heading.format(plain) else question


def _dated(text: str, heading: str, forms: Forms) -> list[str]:
    """A question about the first date in the text."""
    match = _DATE.search(text)
    if match is None:
        return []
    return [forms.event_of.format(match.group(), heading) if heading else forms.event.format(match.group())]


def _about(heading: str, forms: Forms) -> str:
    """A heading as a question, unless it is one."""
    if heading.endswith(("?", "？")):
        return heading
    if _ASKING_ZH.search(heading):
        return f"{heading}？"
    is_procedure = _PROCEDURE_EN.search(heading) or heading.endswith(("流程", "过程", "步骤", "方法", "机制"))
    return (forms.procedure if is_procedure else forms.heading).format(heading)


def _defined(text: str, language: Language) -> Iterator[str]:
    """Subjects of sentences such as "A slice is a …" and "切片是指…"."""
    return (term for term, _sentence in _defining(text, language))


def _defining(text: str, language: Language) -> Iterator[tuple[str, str]]:
    """The subjects with their sentences."""
    pattern = _DEFINED_ZH if language == "zh" else _DEFINED_EN
    for sentence in plain_sentences(text):
        match = pattern.match(sentence)
        if match and not _POINTING.match(match["term"]):
            yield match["term"].strip(" ，,"), sentence


def _comparable(defined: Sequence[str], terms: Sequence[str], tokenizer: Tokenizer) -> Iterator[tuple[str, str]]:
    """Pairs that a question about a difference makes sense for: both defined, or two kinds of one thing.

    Two kinds of one thing end with the same word and share no other: "uplink channel" and "downlink channel".
    """
    words = {term: tokenizer.words(term) for term in terms}
    for first, second in combinations(terms, 2):
        shared = set(words[first]) & set(words[second])
        are_defined = first in defined and second in defined and not shared
        if are_defined or (shared == {words[first][-1]} == {words[second][-1]} and first != second):
            yield first, second


def key_phrases(text: str, tokenizer: Tokenizer) -> list[str]:
    """Two to four words in a row, or an identifier, that occur more than once; the weightiest first.

    A phrase that only occurs inside a longer one is left out.
    """
    counted: Counter[tuple[str, ...]] = Counter()
    surfaces: dict[tuple[str, ...], str] = {}
    for run in _RUN.findall(text):
        for words in _content_runs(run, tokenizer):
            for gram in _grams(words):
                key = tuple(word for word, _ in gram)
                counted[key] += 1
                surfaces.setdefault(key, (" " if run.isascii() else "").join(surface for _, surface in gram))
    repeated = {key: times for key, times in counted.items() if times > 1}
    inner = {part for key, times in repeated.items() for part in _parts(key) if repeated.get(part) == times}
    ranked = sorted((key for key in repeated if key not in inner), key=lambda key: -repeated[key] * len(key))
    return [surfaces[key] for key in ranked[:MAX_PHRASES]]


def _content_runs(run: str, tokenizer: Tokenizer) -> Iterator[list[Word]]:
    """Stretches of words that are neither stop words nor single characters."""
    stop = stop_words()
    words: list[Word] = []
    for surface in run.split(" ") if run.isascii() else tokenizer.words(run):
        key = next(iter(tokenizer.words(surface)), "") if run.isascii() else surface
        if len(surface) > 1 and key not in stop and not surface.isdigit():
            words.append((key, surface))
            continue
        yield words
        words = []
    yield words


def _grams(words: Sequence[Word]) -> Iterator[Sequence[Word]]:
    for start, (_, surface) in enumerate(words):
        if _IDENTIFIER.fullmatch(surface):
            yield words[start : start + 1]
        for end in range(start + 2, min(start + MAX_WORDS, len(words)) + 1):
            yield words[start:end]


def _parts(phrase: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """All shorter phrases inside one."""
    for size in range(1, len(phrase)):
        yield from (phrase[at : at + size] for at in range(len(phrase) - size + 1))
