"""Names of one thing in Chinese and English: in brackets, in columns of a glossary, and in headings.

With them a Chinese question finds an English passage, and the other way round, without a multilingual model.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from ragcore.text.mining.pairs import HAS_CJK, NamePair, brackets, is_abbreviation, quote_at, table_rows
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words

Cut = Callable[[str], Sequence[str]]  # a run of Chinese to its words

MOST_CHINESE = 16  # characters of a name
MOST_ENGLISH = 8  # words
LEAST_SHARE = 0.6  # of the rows of a table that must have both languages
PER_WORD = (0.9, 5.0)  # Chinese characters that stand for one English word: 波束管理 for beam management
_MARKS = r"(?:[^\S\n]|[*\-•])*+"  # in front of a line: of a list, of bold text
_ENGLISH = re.compile(r"[A-Za-z][A-Za-z0-9 \-/&'’.+]*[A-Za-z0-9)]")
_CHINESE = re.compile(rf"[{CJK}][{CJK}A-Za-z0-9\-/·]*")
_HEAD = re.compile(rf"^#+\s*(?:[\d.]+\s*)?([{CJK}][{CJK}A-Za-z0-9]*)[\s:：/|\-–—]+([A-Za-z][A-Za-z \-/]+)$", re.M)
_HEAD_BACK = re.compile(rf"^#+\s*(?:[\d.]+\s*)?([A-Za-z][A-Za-z \-/]+?)[\s:：/|\-–—]+([{CJK}][{CJK}A-Za-z0-9]*)$", re.M)
_APART = r"\**(?:\t+|\s{2,}|\s*[:：=–—|]\s*)"
_LINE = re.compile(rf"^{_MARKS}([{CJK}][{CJK}A-Za-z0-9\-]{{0,20}}){_APART}([A-Za-z][A-Za-z0-9 \-/]{{1,60}})$", re.M)
_LINE_BACK = re.compile(
    rf"^{_MARKS}([A-Za-z][A-Za-z0-9 \-/]{{1,60}}?){_APART}([{CJK}][{CJK}A-Za-z0-9\-]{{0,20}})$", re.M
)
_LISTED = re.compile(  # the short form may stand in front
    rf"^{_MARKS}(?:[^,，;；\n]{{1,20}}[,，;；]\s*)?([A-Za-z][A-Za-z0-9 \-/]{{2,60}})[,，;；]\s*"
    rf"([{CJK}][{CJK}A-Za-z0-9\- ]{{1,20}})$",
    re.M,
)
# words before a name that are none of its own
_FUNCTION_WORDS = (
    "的 了 在 与 和 及 或 是 为 将 把 对 从 向 由 以 被 称为 叫做 通过 采用 使用 包括 例如 如 即 "
    "利用 引入 支持 进行 实现 提供 基于 根据 其中 以及 并 可 能 要 有 到 给 让 使 用 完成 获得 执行 负责 回复 发送 "
    "则 再 先 需要 需 属于 称 一个 这个 该 各 每个 其 都 也 还"
)
_FUNCTION = frozenset(_FUNCTION_WORDS.split())
_PREFIX = frozenset("非多双无单全半主副超微上下前后反逆预再准子")


def find_translations(text: str, *, cut: Cut) -> list[NamePair]:
    """Pairs of a Chinese name (`first`) and an English one (`second`); the same pair may come twice."""
    return [*_in_brackets(text, cut), *_in_tables(text), *_in_headings(text), *_in_lines(text)]


def _pair(chinese: str, english: str, how: str, quote: str) -> Iterator[NamePair]:
    """A pair, if its two names may be names of the same thing by their lengths."""
    chinese = chinese.strip(" ·-/")
    english = re.sub(r"^(?:the|an?)\s+", "", " ".join(english.split()).strip(" .,;:"), flags=re.I)
    words = [word for word in re.split(r"[\s\-/]+", english) if len(word) > 2 or word.isupper()]
    characters = len(re.findall(f"[{CJK}]", chinese))
    if not (2 <= characters <= MOST_CHINESE and 1 <= len(words) <= MOST_ENGLISH and len(english) > 2):
        return
    low, high = PER_WORD
    if is_abbreviation(english) or not low * len(words) <= characters <= max(high * len(words), 4):
        return
    yield NamePair(first=chinese, second=english, kind="translation", how=how, quote=quote)


def _in_brackets(text: str, cut: Cut) -> Iterator[NamePair]:
    for before, inside, at in brackets(text):
        quote = quote_at(text, at)
        if HAS_CJK.search(inside) is None:  # 波束管理（beam management）
            parts = [p.strip() for p in re.split(r"[,，;；、:：]", inside) if _ENGLISH.fullmatch(p.strip())]
            english = next((part for part in parts if not is_abbreviation(part)), "")
            run = re.search(rf"[{CJK}A-Za-z0-9]*[{CJK}]\Z", before.rstrip('"”’』」*'))
            if english and run:
                yield from _pair(chinese_name_before(run.group(), english, cut), english, "bracket", quote)
        else:  # beam management（波束管理，BM）
            chinese = next(
                (m.group() for part in re.split("[,，;；、]", inside) if (m := _CHINESE.fullmatch(part.strip()))), ""
            )
            tail = re.search(r"(?:^|[^A-Za-z0-9 \-]) *+([A-Za-z][A-Za-z0-9 \-/]{0,300})\Z", before.rstrip('"”’*'))
            if chinese and tail:
                words = _after_function_words(tail.group(1).split())
                if words and (HAS_CJK.search(before) or len(words) <= 4):
                    yield from _pair(chinese, " ".join(words), "bracket", quote)


def _after_function_words(words: Sequence[str]) -> list[str]:
    """The words behind the last function word; `of` may stand inside a name."""
    last = max((at for at, word in enumerate(words) if word.lower() in stop_words() - {"of"}), default=-1)
    return list(words[last + 1 :])


def chinese_name_before(run: str, english: str, cut: Cut) -> str:
    """The name at the end of a run of Chinese that an English one explains.

    Its words are taken from the end, as many as the English name may stand for: about two characters a word, no
    function word, and not across 的 and the like.
    """
    words = list(cut(run))
    english_words = [w for w in re.split(r"[\s\-/]+", english) if len(w) > 2 or w.isupper()]
    least = max(2.0 * len(english_words), 2)
    best, name, length = "", "", 0
    for word in reversed(words):
        if _is_function(word) and name:
            break
        name = word + name
        length = len(re.findall(f"[{CJK}]", name))
        if length > 2.6 * least:
            break
        best = name
        if length >= least and len(name) > 1:
            break
    front = run[: len(run) - len(best)]
    return front[-1] + best if front[-1:] in _PREFIX else best


def _is_function(word: str) -> bool:
    return word in _FUNCTION


def _in_tables(text: str) -> Iterator[NamePair]:
    """Columns of which one is Chinese and the other English in most rows, with names and not sentences."""
    for rows in table_rows(text):
        width = max(len(row) for row in rows)
        body = rows[1:] if len(rows) > 1 else rows
        for first in range(width):
            for right in range(width):
                pairs = [
                    (row[first], row[right])
                    for row in body
                    if len(row) > max(first, right) and first != right and row[first] and row[right]
                ]
                names = [pair for a, b in pairs for pair in _cells(a, b)]
                if pairs and len(names) >= LEAST_SHARE * len(pairs) and len(names) >= 2:
                    yield from names


def _cells(chinese: str, english: str) -> Iterator[NamePair]:
    if _CHINESE.fullmatch(chinese) and _ENGLISH.fullmatch(english):
        yield from _pair(chinese, english, "table", f"{chinese} | {english}"[:160])


def _in_headings(text: str) -> Iterator[NamePair]:
    for match in _HEAD.finditer(text):
        yield from _pair(match.group(1), match.group(2), "heading", match.group()[:160])
    for match in _HEAD_BACK.finditer(text):
        yield from _pair(match.group(2), match.group(1), "heading", match.group()[:160])


def _in_lines(text: str) -> Iterator[NamePair]:
    """Lines of a glossary; at least two of them."""
    names = [pair for m in _LINE.finditer(text) for pair in _pair(m.group(1), m.group(2), "glossary", m.group()[:160])]
    names += [
        pair for m in _LINE_BACK.finditer(text) for pair in _pair(m.group(2), m.group(1), "glossary", m.group()[:160])
    ]
    names += [
        pair for m in _LISTED.finditer(text) for pair in _pair(m.group(2), m.group(1), "glossary", m.group()[:160])
    ]
    if len(names) >= 2:
        yield from names


def merged_translations(pairs: Iterable[NamePair]) -> list[tuple[NamePair, int]]:
    """Each pair once with how often it was found, most frequent first.

    Of several Chinese names of one English name, a name that only has more words in front counts for the shorter one
    where that one was found as often.
    """
    counts: Counter[tuple[str, str]] = Counter()
    first: dict[tuple[str, str], NamePair] = {}
    for pair in pairs:
        key = (pair.first.lower(), pair.second.lower())
        counts[key] += 1
        first.setdefault(key, pair)
    by_english: dict[str, list[str]] = defaultdict(list)
    for chinese, english in counts:
        by_english[english].append(chinese)
    for english, names in by_english.items():
        for name in names:
            for other in names:
                if name != other and name.endswith(other) and (name, english) in counts and (other, english) in counts:
                    longer, shorter = (name, english), (other, english)
                    loser, winner = (longer, shorter) if counts[shorter] >= counts[longer] else (shorter, longer)
                    counts[winner] += counts.pop(loser)
                    first.pop(loser)
    return [(first[key], count) for key, count in counts.most_common()]
