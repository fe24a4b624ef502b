"""A question as the rows and columns of tables are compared with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ragcore.ports import Tokenizer
from ragcore.text.amount_ranges import Amount, amounts_in, levels_in, plain_numbers_in, without_amounts
from ragcore.text.normalise import nfkc, normalise_query
from ragcore.text.question_sides import question_sides
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words

FIRST_YEAR, LAST_YEAR = 1900, 2100  # between which a plain number is a year
LEAST_LETTERS = 3  # of a word that is compared by its beginning: "max", "maximum"
_SEVERAL = re.compile(
    r"哪些|哪几|哪幾|都有(?:哪|谁|什么)|有哪|列出|列一下|都列|全部|所有"
    r"|(?:多少|几)[个個条條种種项項款家位名台臺间間辆輛套]"
    r"|[一总總]共|共有|[共总總][计計数]"
    r"|\bwhich \w+s\b|\blist\b|\bhow many\b|\bnumber of\b|\bcount\b|\ball\b|\bwhat are\b",
    re.IGNORECASE,
)
_JOINS = re.compile(r"[、和与及跟]|以及|还有|多少.*多少|多久.*多久|\band\b|,|，")
_ASKS = re.compile(
    r"什么|什麼|怎么|怎麼|咋|多少|多久|多长|几[个天小条级]|哪|[谁誰]|[吗嗎]|是否"
    r"|\b(?:what|which|who|when|where|why|how)\b",
    re.IGNORECASE,
)
_WHETHER = re.compile(
    r"[吗嗎][？?。\s]*\Z|是否|能不能|行不行|可不可以|可否|能否|是不是|要不要|算不算|合不合|对不对"
    r"|(?:\A|[,.;:!]\s|\b(?:so|and|but)\s)(?:can|could|may|is|are|do|does|am|will|would|must|should|has|have)\b",
    re.IGNORECASE,
)
_VALUE = re.compile(
    r"多少|多久|多长|几[个天小条级家次年]|什么|什麼|怎么|哪|[谁誰]|\b(?:what|which|who|when|where|how)\b", re.IGNORECASE
)
_MEASURES = "个個条條种種项項款家位名台臺张張次类類间間座辆輛本套把份"
_COUNTS = re.compile(
    rf"(?:多少|(?<!哪)[几幾])([{_MEASURES}])"
    r"|\b(?:how many|number of|count(?: of)?) ((?:[\w-]+ ){0,3}?[\w-]+?)(?= (?:is|are|was|were|do|does|did|have|has|can"
    r"|in|on|of|at|for|to|we|there|with)\b|\s*[?]|\Z)",
    re.IGNORECASE,
)
_COUNTED_ZH = (
    re.compile(rf"(?:多少|[几幾])[{_MEASURES}]([{CJK}A-Za-z]{{2,8}}?)(?=[?？，,。\s在]|是|有|\Z)"),
    re.compile(rf"([{CJK}A-Za-z]{{2,8}}?)(?:[一总總]共|现在|目前|都)?有(?:多少|[几幾])"),
)
_PART = re.compile(r"其中|\b(?:of (?:them|these|those|which)|thereof)\b", re.IGNORECASE)
_TOTAL = re.compile(r"[一总總]共|[总總][计計数]|全部|\b(?:in total|altogether|overall|all in all)\b", re.IGNORECASE)
NEGATED = re.compile(r"(?:不|无|無|没有|沒有|非|未)(?=.)|(?:no|not|none|without)\b[\s-]*", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z0-9]+(?:[-./][A-Za-z0-9]+)*")
_ARTICLE = re.compile(r"\ba (?=[A-Za-z])")
_AGAINST = re.compile(  # what only serves as the measure: "what changed in 1.4 compared to 1.3"
    r"(?:\b(?:compared (?:to|with)|against|since)|相比|相较于?|比)\s*(?:the\s|version\s|v\.?\s?)*\d+(?:\.\d+)+",
    re.IGNORECASE,
)
_VERSION = re.compile(r"v\.?(\d+(?:\.\d+)+)")
_CHANGE = re.compile(
    r"节省|節省|节约|節約|省[了多]|降低|减少|減少|提高|提升|增加|改善|效果"
    r"|\b(?:sav(?:e|es|ed|ing)|reduc\w+|gain\w*|improv\w+|effect|impact)\b",
    re.IGNORECASE,
)
_DATE = re.compile(r"\d{1,4}\s?[年月日号號]")
_COUNTING = re.compile(rf"[一总總]共|共有?|.?[里中内]|[几幾].?|多少.?|total|list|table?|[{_MEASURES}]")
_HAN = re.compile(rf"[{CJK}]")


@dataclass(frozen=True, slots=True)
class RowQuestion:
    """A question as tables are compared with it."""

    text: str  # normalised, lower case
    words: frozenset[str]  # content words
    codes: frozenset[str]  # with a digit or a hyphen, or one letter
    amounts: tuple[Amount, ...]  # that a range of a cell may hold, levels too
    numbers: tuple[Amount, ...] = ()  # without a unit, which may be such amounts or names
    measured: frozenset[str] = frozenset()  # codes that are only the figures of amounts
    parts: int = 1  # how many things are asked
    is_joined: bool = False  # several things one beside the other
    is_negated: bool = False
    counted: str = ""  # see counted_thing

    @classmethod
    def of(cls, question: str, tokenizer: Tokenizer) -> RowQuestion:
        passed = stop_words() | question_sides()
        subject = _AGAINST.sub(" ", question)
        words = frozenset(w for w in tokenizer.words(subject) if w not in passed and not w.isspace())
        is_joined = _JOINS.search(question) is not None
        codes = frozenset(codes_of(_DATE.sub(" ", subject)))
        return cls(
            text=plain(subject),
            words=words,
            codes=codes,
            amounts=(*amounts_in(question), *levels_in(question)),
            numbers=tuple(number for number in plain_numbers_in(question) if not _is_year(number.value)),
            measured=codes - frozenset(codes_of(without_amounts(subject))),
            parts=max(len(_ASKS.findall(question)), 1 + is_joined),
            is_joined=is_joined,
            is_negated=NEGATED.search(question) is not None,
            counted=counted_thing(plain(subject)),
        )

    @property
    def listed(self) -> list[str]:
        """Words of it that a legend may list."""
        return [w for w in self.words if len(w) >= (2 if _HAN.search(w) else LEAST_LETTERS)]

    def holds(self, value: str, head: str = "") -> bool:
        """Whether the question names a value: a Latin one as whole words, a Chinese one anywhere.

        A single Chinese character counts beside the name of its column: 高优先级.
        """
        if not value:
            return False
        if _HAN.search(value):
            return value in self.text if len(value) > 1 else bool(head) and f"{value}{head}" in self.text
        return re.search(rf"(?<![a-z0-9-]){re.escape(value)}(?![a-z0-9-])", self.text) is not None

    def has(self, word: str, exact: frozenset[str] = frozenset()) -> bool:
        """Whether a word of a cell is asked for, itself or by its beginning; "lab" is not the beginning of LAB-001.

        `exact`: words of the question that other cells have as they are: where one says "bandwidth", "band" is another.
        """
        if word in self.words:
            return True
        if _HAN.search(word):
            return len(word) > 1 and word in self.text
        is_code = any(map(str.isdigit, word))
        whole = (w for w in self.words - exact if len(w) >= LEAST_LETTERS and w.isascii())
        starts = (w for w in whole if not (is_code and w.isalpha()))
        return len(word) >= LEAST_LETTERS and any(word.startswith(w) or w.startswith(word) for w in starts)


def _is_year(number: float) -> bool:
    return FIRST_YEAR <= number < LAST_YEAR


def asks_rows(question: str) -> bool:
    """Whether a question wants all things of a kind listed or counted."""
    return _SEVERAL.search(question) is not None


def asks_count(question: str) -> bool:
    """Whether a question wants to know how many there are."""
    return _COUNTS.search(question) is not None


def counted_thing(question: str) -> str:
    """What a question wants the number of, in lower case: "instruments", 仪表; "" where it does not say it."""
    for pattern in _COUNTED_ZH:
        if match := pattern.search(question):
            return match[1].rpartition("的")[2].lower()
    match = _COUNTS.search(question)
    return (match[2] or "").lower() if match else ""


def asks_whether(question: str) -> bool:
    """Whether a question wants a yes or a no and no value."""
    return _WHETHER.search(question) is not None and _VALUE.search(question) is None


def asks_total(question: str) -> bool:
    """Whether a question wants to know how many there are of all."""
    return _TOTAL.search(question) is not None


def asks_part(question: str) -> bool:
    """Whether a question wants to know how many there are, and how many of these are of a kind."""
    return asks_count(question) and _PART.search(question) is not None


def asks_change(question: str) -> bool:
    """Whether a question asks what something changed: the figure before and the one after belong together."""
    return _CHANGE.search(question) is not None


def counts(word: str) -> bool:
    """Whether a word of a question only says that things are counted: 一共, 几台, 表里."""
    return _COUNTING.fullmatch(word) is not None


def total_of(question: str, rows: int) -> str:
    """How many rows there are, counted as the question counts them; "" where it does not."""
    match = _COUNTS.search(question)
    if match is None:
        return ""
    return f"{rows} {match[1] or match[2]}"


def is_number_of(thing: str, name: str) -> bool:
    """Whether a row gives the number of things: 最大小区数, "number of cells"."""
    if _HAN.search(thing):
        return f"{thing}数" in name or f"{thing}個數" in name or f"{thing}个数" in name
    stem = thing.split()[-1].removesuffix("s")
    return stem in name and re.search(r"\b(?:number|count|max\w*|no\.)\b", name) is not None


def codes_of(text: str) -> Iterator[str]:
    """What names one thing: a token with a digit or a hyphen, or one letter that is no article."""
    for match in _TOKEN.finditer(_ARTICLE.sub(" ", nfkc(text))):
        token = match.group().lower()
        if len(token) == 1 or not token.isalpha():
            yield token
        if version := _VERSION.fullmatch(token):
            yield version[1]  # V1.4 is 1.4 in a column of versions


def plain(text: str) -> str:
    return normalise_query(text).lower()
