"""What a sentence states that a source must have too: figures, names, quotations, and whether it denies something."""

from __future__ import annotations

import re
from functools import cache

from ragcore.text.normalise import nfkc
from ragcore.text.tokenise import stem, stop_words
from ragcore.text.word_lists import bounded, cue_pattern, read_lines, read_sections, read_spaced_words

PACKAGE = "ragcore.grounding"

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_CAPITALISED = re.compile(r"(?<![\w'’])[A-ZÀ-ÖØ-Þ][\w'’&-]*")
_IDENTIFIER = re.compile(r"(?<![\w-])(?=[A-Za-z0-9])(?=[\w./-]{0,80}\d)(?=[\w./-]{0,80}[A-Za-z])[\w./-]*\w")
_QUOTED = re.compile(r"[“\"「『《〈]([^“”\"「」『』《》〈〉\n]{2,60})[”\"」』》〉]")
MAX_OPENING = 80  # characters between the end of a sentence and the first word of the next one
_SENTENCE_START = re.compile(r"(?:\A|[.!?:\n]\s+)[\s\"'“‘(*_]*\Z")


def figures(text: str) -> list[str]:
    """Figures in digits as written, each once."""
    return list(dict.fromkeys(_NUMBER.findall(nfkc(text))))


def figures_offered(text: str) -> set[str]:
    """All figures that a source has, comparable: digits, and words such as "four" and 四."""
    plain = nfkc(text).lower()
    english, chinese = _number_words()
    numbers = {plain_figure(figure) for figure in _NUMBER.findall(plain)}
    numbers |= {english[word] for word in set(_WORD.findall(plain)) & english.keys()}
    return numbers | {figure for word, figure in chinese.items() if word in plain}


def plain_figure(figure: str) -> str:
    """Comparable form: without thousands separators, final zeros of a decimal and leading zeros."""
    plain = figure.replace(",", "").rstrip(".:")
    if "." in plain and plain.count(".") == 1:
        plain = plain.rstrip("0").rstrip(".")
    return plain.lstrip("0") or "0"


def names(text: str) -> list[str]:
    """Lower-case words that look like parts of a name: capitalised within a sentence, or identifiers with digits."""
    words: dict[str, None] = {}
    for match in _CAPITALISED.finditer(text):
        word = re.sub(r"['’]s?\Z", "", match.group())
        at_start = _SENTENCE_START.search(text, max(0, match.start() - MAX_OPENING), match.start()) is not None
        plain = len(word) > 1 and word.lower() not in stop_words() and not any(c.isdigit() for c in word)
        if plain and (not at_start or word.isupper()):
            words[word.lower()] = None
    for match in _IDENTIFIER.finditer(text):
        words[match.group().lower()] = None
    return list(words)


def quotations(text: str) -> list[str]:
    """What stands in quotation marks or title marks."""
    return [quotation.strip() for quotation in _QUOTED.findall(text)]


def negations(text: str) -> int:
    """How often a text denies something, by the words of negations.txt."""
    english, chinese, exceptions = _negations()
    plain = exceptions.sub("", text.lower())
    return len(english.findall(plain)) + len(chinese.findall(plain))


def clauses(text: str) -> list[str]:
    """The statements that a sentence joins: parts between commas and the words of connectives.txt."""
    return [clause for part in _connectives().split(text) if (clause := part.strip())]


@cache
def _connectives() -> re.Pattern[str]:
    sections = read_sections(PACKAGE, "connectives.txt")
    words = [bounded(word) for word in (*sections[""], *sections["chinese"])]
    return re.compile("|".join([r"[,;:，；：](?!\d)", *words]), re.IGNORECASE)


@cache
def _number_words() -> tuple[dict[str, str], dict[str, str]]:
    """English and Chinese words of number_words.txt with their figures."""
    rows = [line.split() for line in read_lines(PACKAGE, "number_words.txt")]
    pairs = [(word, row[0]) for row in rows for word in row[1:]]
    return {w: f for w, f in pairs if w.isascii()}, {w: f for w, f in pairs if not w.isascii()}


@cache
def _negations() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    sections = read_sections(PACKAGE, "negations.txt")
    english = [re.escape(word) if word == "n't" else bounded(word) for word in sections[""]]
    return (
        re.compile("|".join(english)),
        re.compile("|".join(sections["chinese"])),
        cue_pattern(sections["not negations"]),
    )


@cache
def reporting_words() -> frozenset[str]:
    """Words of reporting_words.txt as the tokenizer gives them."""
    words = read_spaced_words(PACKAGE, "reporting_words.txt")
    return frozenset(words) | {stem(word) for word in words if word.isascii()}
