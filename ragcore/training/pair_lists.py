"""Questions with a sentence that answers and near ones that do not, for the model that reads both together.

Questions of public sets are clean and about a sentence that exists. So that the model learns what people ask, too, some
become what people type (lower case, no question mark, keywords, a typing error, a polite beginning), some lose their
answer, and some ask for a neighbour of what is told: another number, code or name. Rows of tables are asked for by
their first cell and a column.
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ragcore.extractive.sentence_cosines import headed_sentence
from ragcore.extractive.sentence_model import SentenceScorer, compute_sentence_features
from ragcore.extractive.sentences import read_statements
from ragcore.text.markdown import labelled
from ragcore.text.request_cache import request_cache
from ragcore.text.tokenise import stop_words
from ragcore.training.answer_sets import AnswerSet, SetQuestion, half_of
from ragcore.training.sentence_training import right_sentences

LIKELY, IN_FIRST, OTHERS = 10, 4, 3  # wrong sentences of a list: by words, of the first two sources, and any
HARD, EASY = 5, 4  # wrong ones of a draw
MOST_SENTENCES = 9  # of a draw
NO_ANSWER, NEAR_MISS = 0.15, 0.1  # shares of the draws
NO_MARK, LOWER, KEYWORDS, TYPING_ERROR, POLITE, NO_HEAD = 0.25, 0.3, 0.1, 0.1, 0.15, 0.1
LEAST_ROWS, LEAST_COLUMNS, MOST_COLUMNS, MOST_KEY = 5, 3, 8, 40  # of a table that is asked about
_CODE_OR_NAME = re.compile(r"[A-Za-z]*\d[\w.-]*|(?<!^)\b[A-Z][a-z]{3,}\b")
_NAME = re.compile(r"(?<!^)\b[A-Z][a-z]{3,}\b")
_CJK = re.compile(r"[\u4e00-\u9fff]")
_GREETINGS = {
    True: ("你好，请问", "想问一下，", "麻烦问下", "请问"),
    False: ("hi, ", "hello, could you tell me ", "quick question: ", "please tell me "),
}
_TABLE_QUESTIONS = (
    "{key} {column}", "what is the {column} of {key}", "{column} {key}", "{column} for {key}?", "{key}的{column}是什么",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PairSentence:
    """A sentence under its head, and whether it answers."""

    head: str
    text: str
    is_right: bool
    score: float = 0.0  # log-odds by words


@dataclass(frozen=True, slots=True)
class PairList:
    """A question and sentences of its sources."""

    group: str
    question: str
    sentences: tuple[PairSentence, ...]

    @property
    def has_answer(self) -> bool:
        return any(sentence.is_right for sentence in self.sentences)


def pair_lists(data: AnswerSet, *, half: int | None, limit: int, seed: int = 5) -> Iterator[PairList]:
    """One list for each question of a half of the titles (None: of all) of which a source holds the answer."""
    draw = random.Random(seed)
    questions = [q for q in data.sample(len(data.answerable)) if half is None or half_of(q.about) == half]
    for question in questions[:limit]:
        with request_cache():
            pair_list = _pair_list(data, question, draw)
        if pair_list is not None and pair_list.has_answer:
            yield pair_list


def _pair_list(data: AnswerSet, question: SetQuestion, draw: random.Random) -> PairList | None:
    sources, tokenizer = data.ranking.sources(question.text), data.ranking.tokenizer
    statements = read_statements(sources, tokenizer)
    if not statements:
        return None
    right = right_sentences(question, statements)
    scores = SentenceScorer.shipped().scores(compute_sentence_features(question.text, statements, tokenizer))
    order = np.argsort(-scores).tolist()
    wrong = [at for at in order if not right[at]]
    first = [at for at in wrong if statements[at].source.number <= 2]  # noqa: PLR2004
    draw.shuffle(first)
    drawn_wrong = draw.sample(wrong, min(OTHERS, len(wrong)))
    places = dict.fromkeys([*[at for at in order if right[at]][:2], *wrong[:LIKELY], *first[:IN_FIRST], *drawn_wrong])
    heads = {at: headed_sentence(statements[at]) for at in places}
    sentences = (PairSentence(heads[at].head, heads[at].text, bool(right[at]), float(scores[at])) for at in places)
    return PairList(data.name, question.text, tuple(sentences))


def table_lists(folder: Path, *, limit: int, seed: int = 5) -> Iterator[PairList]:
    """Questions for a cell of the CSV tables below a folder, each with the row that has it and other rows."""
    draw = random.Random(seed)
    for path in sorted(folder.rglob("*.csv"))[:limit]:
        with path.open(encoding="utf-8", newline="") as stream:
            rows = [row for row in csv.reader(stream) if row]
        if rows and (table_list := _table_list(rows[0], [row for row in rows[1:] if len(row) == len(rows[0])], draw)):
            yield table_list


def _table_list(head: Sequence[str], rows: Sequence[Sequence[str]], draw: random.Random) -> PairList | None:
    if len(rows) < LEAST_ROWS or not LEAST_COLUMNS <= len(head) <= MOST_COLUMNS:
        return None
    key = draw.choice([0, 0, 0, 1])
    column = draw.choice([at for at in range(len(head)) if at != key])
    right_row = draw.randrange(len(rows))
    name = rows[right_row][key].strip()
    if not 1 < len(name) <= MOST_KEY or sum(row[key] == rows[right_row][key] for row in rows) > 1:
        return None
    question = draw.choice(_TABLE_QUESTIONS).format(key=name, column=head[column].lower())
    order = [key, *(at for at in range(len(head)) if at != key)]
    other_rows = [row for at, row in enumerate(rows) if at != right_row]
    listed = [rows[right_row], *draw.sample(other_rows, min(MOST_SENTENCES, len(other_rows)))]
    texts = (labelled([head[at] for at in order], [row[at] for at in order]) for row in listed)
    return PairList("tables", question, tuple(PairSentence("", text, at == 0) for at, text in enumerate(texts)))


def names_in(lists: Iterable[PairList]) -> list[str]:
    """Names in questions, for near misses."""
    return [name for pair_list in lists for name in _NAME.findall(pair_list.question)]


def drawn(pair_list: PairList, names: Sequence[str], draw: random.Random) -> PairList:
    """The list as one step of the training reads it: perhaps without its answer, as people type it, and shorter."""
    right = [s for s in pair_list.sentences if s.is_right]
    wrong = [s for s in pair_list.sentences if not s.is_right]
    draw.shuffle(wrong)
    hard = sorted(wrong, key=lambda s: -s.score)[:HARD]
    rest = list(dict.fromkeys([*hard, *wrong[:EASY]]))
    question, share = pair_list.question, draw.random()
    if share < NO_ANSWER:
        right = []
    elif share < NO_ANSWER + NEAR_MISS and (missed := _near_miss(question, right, names, draw)):
        question, rest, right = missed, [replace(right[0], is_right=False), *rest], []
    sentences = [*right[:1], *rest][:MOST_SENTENCES]
    as_read = [replace(s, head="" if draw.random() < NO_HEAD else s.head) for s in sentences]
    return PairList(pair_list.group, as_typed(question, draw), tuple(as_read))


def _near_miss(question: str, right: Sequence[PairSentence], names: Sequence[str], draw: random.Random) -> str:
    """The question for a neighbour of what the right sentences tell; "" where they share no number, code or name."""
    right_text = " ".join(f"{sentence.head} {sentence.text}" for sentence in right)
    shared = [part for part in _CODE_OR_NAME.findall(question) if part in right_text]
    if not shared:
        return ""
    part = draw.choice(shared)
    places = [at for at, letter in enumerate(part) if letter.isdigit()]
    if not places:
        return question.replace(part, draw.choice(names)) if names else ""
    at = draw.choice(places)
    digit = draw.choice([d for d in "123456789" if d != part[at]])
    return question.replace(part, f"{part[:at]}{digit}{part[at + 1 :]}")


def as_typed(question: str, draw: random.Random) -> str:
    """A question as people type it, often as it is."""
    if draw.random() < NO_MARK:
        question = question.rstrip("?？ ")
    if draw.random() < LOWER:
        question = question.lower()
    if question.isascii() and draw.random() < KEYWORDS:
        words = re.findall(r"[\w.-]+", question)
        question = " ".join(word for word in words if word.lower() not in stop_words()) or question
    if question.isascii() and draw.random() < TYPING_ERROR:
        question = _with_error(question.split(), draw)
    if draw.random() < POLITE:
        question = draw.choice(_GREETINGS[_CJK.search(question) is not None]) + question
    return question


def _with_error(words: list[str], draw: random.Random) -> str:
    """With a letter of a longer word missing, doubled, or in the place of its neighbour."""
    at = draw.randrange(len(words)) if words else 0
    if words and len(word := words[at]) > 4 and word.isalpha():  # noqa: PLR2004
        place = draw.randrange(1, len(word) - 1)
        before, letter, behind = word[:place], word[place], word[place + 1 :]
        words[at] = draw.choice(
            [before + behind, before + behind[0] + letter + behind[1:], before + 2 * letter + behind]
        )
    return " ".join(words)
