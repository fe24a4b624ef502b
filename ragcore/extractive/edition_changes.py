"""What differs between two editions of a document, side by side.

Sections with the same heading are paired. What both say in the same words is left out; what they say with other numbers
comes first, and when an edition comes into force last. A question with a topic gets what differs on it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ragcore.extractive.document_wish import DOCUMENT_WORDS
from ragcore.extractive.editions import Edition, edition_families, without_edition
from ragcore.extractive.formatting import Wording, cite, table
from ragcore.extractive.sentences import Statement
from ragcore.ports import FloatArray, Tokenizer
from ragcore.text.markdown import labelled
from ragcore.text.matching import jaccard
from ragcore.text.normalise import nfkc
from ragcore.text.question_type import wanted
from ragcore.text.scripts import CJK, language_of
from ragcore.text.tokenise import stop_words
from ragcore.types import Passage

MOST_CHARACTERS = 800  # of the table
MOST_BY_MEANING = 3  # differences on a topic whose words none of them has
NEAR_BEST = 1.5  # log-odds below the best of them from which one is left out
LEAST_ALIKE = 0.3  # Jaccard of the terms from which a sentence is the other one, changed
ON_TOPIC = 0.7  # of the best weight of a topic's words
LEAST_WEIGHT = 0.1  # of a topic's word, where every difference has it
HEADING_WEIGHT = 2  # of a topic's word in a heading, against one in a sentence
MISSING = "—"
_CHANGED = (
    r"变化|變化|变动|變動|改动|改動|变了|變了|改了|改成|改为|改為|有变|有變|调整|調整|修改|更新|新增|涨|漲|降了|提高|降低|差多少"
    r"|\bchang(?:ed?|es)\b|\bwhat(?:'s| is) new\b|\bnew in\b|\bupdate[ds]?\b"
)
_COMPARED = (
    r"不同|不一样|不一樣|区别|區別|差别|差別|差异|差異|对比|對比|比较|比較|相比|比"
    r"|\bdiffer\w*|\bcompared?\b|\bcomparison\b|\bversus\b|\bvs\b"
)
_OLD = (
    r"以前|之前|原来|原來|原先|过去|過去|旧版|舊版|老版|去年|旧|舊"
    r"|\b(?:before|previous(?:ly)?|formerly|former|last year|old(?:er)?|earlier|used to(?: be)?)\b"
)
_NOW = r"现在|現在|如今|目前|新版|今年|新|\b(?:now|new(?:er)?|today|current(?:ly)?)\b"
_EDITIONS = (
    r"(?:19|20)\d\d\s?年?|版本?|修订|修訂|(?<![a-z\d])v\d+(?:\.\d+)*|\b(?:editions?|versions?|revisions?|rev\.?)\b"
)
_ASKS_CHANGES = re.compile(_CHANGED, re.IGNORECASE)
_ASKS_DIFFERENCE = re.compile(rf"(?:{_COMPARED}).*(?:{_EDITIONS})|(?:{_EDITIONS}).*(?:{_COMPARED})", re.IGNORECASE)
_ASKS_BOTH = re.compile(
    rf"(?:{_OLD}).*(?:{_NOW})|(?:{_NOW}).*(?:{_OLD})|(?:{_EDITIONS}).*(?:和|与|與|跟|and|vs).*(?:{_EDITIONS})",
    re.IGNORECASE,
)
_NO_TOPIC = re.compile(
    rf"{_CHANGED}|{_COMPARED}|{_OLD}|{_NOW}|{_EDITIONS}|{DOCUMENT_WORDS}|[几幾][个個]?[{CJK}]|多少|多[长長久大高]|有?哪些|内容|內容|地方|主要"
    r"|\b(?:between|list|main|important|things?|anything|how (?:many|much|long))\b|\b[vV]\d+(?:\.\d+)*",
    re.IGNORECASE,
)
_IN_FORCE = re.compile(
    r"(?:生效|发布|發布|施行)日期|文件编号|文件編號|起(?:施行|执行|執行|实施|實施|生效)|同时(?:作废|废止)|同時(?:作廢|廢止)|代替|取代|替代"
    r"|\b(?:comes? into force|takes? effect|effective (?:from|date)|valid from|replaces|supersedes|superseded)\b",
    re.IGNORECASE,
)
_NUMBERING = re.compile(r"\A(?:第[\d一二三四五六七八九十]+[章节節条條]|[一二三四五六七八九十]+、|\d+(?:\.\d+)*\.?)\s*")
_DIGITS = re.compile(r"\d+(?:[.,:]\d+)*")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Change:
    """What two editions say differently in one place; None where one says nothing there."""

    heading: str
    current: Statement | None
    older: Statement | None

    @property
    def said(self) -> list[Statement]:
        return [statement for statement in (self.current, self.older) if statement is not None]

    @property
    def rank(self) -> int:
        """0 for other numbers, 1 for other words, 2 for when an edition holds."""
        if any(_IN_FORCE.search(statement.text) for statement in self.said):
            return 2
        numbers = [set(_DIGITS.findall(statement.text)) for statement in self.said]
        return int(len(numbers) < 2 or numbers[0] == numbers[1])


def asks_changes(question: str) -> bool:
    """Whether a question may want to know what differs between editions of a document."""
    plain = nfkc(question)
    return any(pattern.search(plain) for pattern in (_ASKS_CHANGES, _ASKS_DIFFERENCE, _ASKS_BOTH))


def changes_block(
    question: str,
    statements: Sequence[Statement],
    whole: Collection[int],
    score: Callable[[Sequence[Statement]], FloatArray],
    tokenizer: Tokenizer,
    words: Wording,
) -> str | None:
    """The table of what two editions say differently; None where the question compares none.

    `whole`: versions of documents that are all there; `score`: the log-odds that each sentence answers, float32[n].
    """
    sources = sorted({s.source.number: s.source for s in statements}.values(), key=lambda source: source.number)
    editions = compared_editions(question, [source.passage for source in sources])
    if editions is None:
        return None
    current, older = ([s for s in statements if s.source.passage.document == edition.document] for edition in editions)
    is_whole = all(s.source.passage.version in whole for s in (*current, *older))
    changes = changes_between(current, older, is_whole=is_whole)
    if not changes:
        return None
    sentences = [s for change in changes for s in change.said]
    worth = dict(zip(map(id, sentences), map(float, score(sentences)), strict=True))
    titles = " ".join(edition.title for edition in editions)
    on_topic = changes_asked(question, changes, titles, lambda s: worth[id(s)], tokenizer)
    return changes_table(on_topic, editions, words)


def compared_editions(question: str, passages: Sequence[Passage]) -> tuple[Edition, Edition] | None:
    """The current and the older edition that a question compares; None where it compares none.

    `passages`: what a search found, best first. The editions that the question names, else the newest two of the
    document that was found first.
    """
    if not passages or not asks_changes(question):
        return None
    plain_question = nfkc(question).casefold()
    for editions in edition_families(passages):
        newest, *predecessors = editions
        by_question = [edition for edition in editions if edition.is_named(plain_question)]
        older = [edition for edition in predecessors if edition.order < newest.order]
        if not older or (
            len(by_question) < 2 and passages[0].document not in {edition.document for edition in editions}
        ):
            continue
        if len(by_question) > 1:
            return by_question[0], by_question[1]
        return newest, (by_question[0] if by_question and by_question[0] in older else older[0])
    return None


def changes_between(current: Sequence[Statement], older: Sequence[Statement], *, is_whole: bool) -> list[Change]:
    """What two editions say differently, in the order of the current one, then what only the older one has.

    `is_whole`: all of both is there, so that what one lacks is not merely unread.
    """
    sides = [_sections(side) for side in (current, older)]
    changes: list[Change] = []
    for key in dict.fromkeys([*sides[0], *sides[1]]):
        changes += _paired(sides[0].get(key, []), sides[1].get(key, []))
    certain = [change for change in changes if is_whole or len(change.said) > 1]
    return [change for change in certain if change.rank < 2] or certain  # noqa: PLR2004


def changes_asked(
    question: str, changes: Sequence[Change], titles: str, worth: Callable[[Statement], float], tokenizer: Tokenizer
) -> list[Change]:
    """Those on the topic of the question; all of them where it has none, or is in the other language.

    `titles`: of the editions, whose words are no topic. `worth`: how likely a sentence answers, where no word says it.
    """
    topic = _topic(question, titles, tokenizer)
    if not topic:
        return list(changes)
    topic_in_text = [
        _held(topic, " ".join(statement.text for statement in change.said), tokenizer) for change in changes
    ]
    topic_in_heading = [_held(topic, change.heading, tokenizer) for change in changes]
    places = {
        w: sum(
            w in text_words | heading_words
            for text_words, heading_words in zip(topic_in_text, topic_in_heading, strict=True)
        )
        for w in topic
    }
    worths = {w: LEAST_WEIGHT + math.log(len(changes) / number) for w, number in places.items() if number}
    weights = [
        sum(worths[w] * (HEADING_WEIGHT if w in heading_words else 1) for w in text_words | heading_words)
        for text_words, heading_words in zip(topic_in_text, topic_in_heading, strict=True)
    ]
    best = max(weights, default=0.0)
    if best > 0:
        on_topic = [statement for statement, weight in zip(changes, weights, strict=True) if weight >= ON_TOPIC * best]
        with_numbers = [statement for statement in on_topic if statement.rank == 0]
        return with_numbers if wanted(question) in ("number", "time") and with_numbers else on_topic
    if language_of(question) != language_of(
        " ".join(statement.text for change in changes for statement in change.said)
    ):
        return list(changes)
    order = sorted(changes, key=lambda change: -max(map(worth, change.said)))[:MOST_BY_MEANING]
    least = max(map(worth, order[0].said)) - NEAR_BEST if order else 0.0
    return [change for change in changes if change in order and max(map(worth, change.said)) >= least]


def _topic(question: str, titles: str, tokenizer: Tokenizer) -> frozenset[str]:
    """Words of a question that say more than that editions are compared, and which ones."""
    passed = stop_words() | set(tokenizer.words(titles))
    words = tokenizer.words(_NO_TOPIC.sub(" ", nfkc(question)))
    return frozenset(w for w in words if len(w) > 1 and w not in passed and w not in titles)


def _held(topic: frozenset[str], text: str, tokenizer: Tokenizer) -> frozenset[str]:
    words = set(tokenizer.words(text))
    return frozenset(w for w in topic if w in words or (not w.isascii() and w in text))


def changes_table(changes: Sequence[Change], editions: tuple[Edition, Edition], words: Wording) -> str:
    """A table with a column for each edition, and how many differences did not fit."""
    rows: list[tuple[int, list[str]]] = []
    room = MOST_CHARACTERS
    for at, change in sorted(enumerate(changes), key=lambda item: item[1].rank):
        row = _row(change, words)
        room -= sum(map(len, row[1:]))
        if room >= 0 or not rows:
            rows.append((at, row))
    lines = []
    for heading, group in groupby((row for _at, row in sorted(rows)), key=lambda row: row[0]):
        members = list(group)
        cells = [words.gap.join(cell for row in members if (cell := row[side])) or MISSING for side in (1, 2)]
        lines.append([heading, *cells])
    labels = [item.label for item in editions]
    head = labels if labels[0] != labels[1] else [item.title for item in editions]
    hidden = len(changes) - len(rows)
    more = f"\n\n**{words.more_changes.format(number=hidden)}**" if hidden else ""
    return table([words.aspect, *head], lines) + more


def _row(change: Change, words: Wording) -> list[str]:
    """The heading, and what each edition says; of rows of a table the first cell and those that differ."""
    sides = [change.current, change.older]
    if change.current is not None and change.older is not None and change.current.head == change.older.head:
        sides = [_cut(change.current, change.older), _cut(change.older, change.current)]
    return [
        change.heading,
        *(cite(statement.text, statement.source.number, words) if statement is not None else "" for statement in sides),
    ]


def _cut(row: Statement, other: Statement) -> Statement:
    if not row.head:
        return row
    columns = [0, *(at for at in range(1, len(row.head)) if row.cells[at] != other.cells[at])]
    return replace(row, text=labelled([row.head[at] for at in columns], [row.cells[at] for at in columns]))


def _sections(statements: Iterable[Statement]) -> dict[str, list[Statement]]:
    """Sentences by the heading that they stand under, without its number, in reading order.

    What overlapping passages repeat counts once. The table that a document begins with, which tells its number and
    date, is left out.
    """
    sections: dict[str, list[Statement]] = {}
    bare_texts: set[str] = set()
    for statement in sorted(statements, key=lambda s: (s.source.passage.ordinal, s.position)):
        title = without_edition(statement.source.passage.title)
        path = [name for name in statement.source.passage.heading_path if without_edition(name) != title]
        heading = _NUMBERING.sub("", (statement.heading or (path[-1] if path else "")).lstrip(), count=1)
        is_front = without_edition(heading) in ("", title)
        is_new = (bare := _bare(statement.text)) not in bare_texts
        bare_texts.add(bare)
        if is_new and not (is_front and statement.is_row):
            sections.setdefault("" if is_front else heading.casefold(), []).append(replace(statement, heading=heading))
    return sections


def _paired(current: Sequence[Statement], older: Sequence[Statement]) -> list[Change]:
    """What differs between two sections; each sentence beside the one of the other side that is most like it."""
    texts = [{_bare(statement.text) for statement in side} for side in (current, older)]
    current_only = [statement for statement in current if _bare(statement.text) not in texts[1]]
    older_only = [statement for statement in older if _bare(statement.text) not in texts[0]]
    alike = [
        (_alike(statement, other), -at, -place)
        for at, statement in enumerate(current_only)
        for place, other in enumerate(older_only)
    ]
    pairs: dict[int, int] = {}
    for likeness, at, place in sorted(alike, reverse=True):
        if likeness >= LEAST_ALIKE and -at not in pairs and -place not in pairs.values():
            pairs[-at] = -place
    changes = [
        Change(statement.heading, statement, older_only[pairs[at]] if at in pairs else None)
        for at, statement in enumerate(current_only)
    ]
    unpaired = [other for place, other in enumerate(older_only) if place not in pairs.values()]
    return [*changes, *(Change(statement.heading, None, statement) for statement in unpaired)]


def _alike(statement: Statement, other: Statement) -> float:
    if statement.head or other.head:
        return float(statement.head == other.head and statement.cells[0] == other.cells[0])
    return jaccard(set(statement.terms), set(other.terms))


def _bare(text: str) -> str:
    return _SPACE.sub("", nfkc(text)).casefold()
