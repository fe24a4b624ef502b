"""Names and compound nouns in Chinese text, by the parts of speech of jieba's dictionary.

The dictionary says what a word usually is; the text around it is not looked at. So only what is a name nearly always
(persons, places, organisations, works) counts alone, other nouns in compounds of two and more, or when they are long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ragcore.text.chinese_dictionary import tagged_words
from ragcore.text.scripts import HAN
from ragcore.text.tokenise import JiebaTokenizer, stop_words

MOST_CHARACTERS = 16
LONG_NOUN = 4  # characters of a noun that counts alone
_RUN = re.compile(f"[{HAN}·A-Za-z0-9]+")
_PAIR = re.compile(f"[{HAN}]{{2}}")
_PIECE = re.compile(f"[{HAN}]+|[A-Za-z0-9·]+")
_NAMES = frozenset(("nr", "ns", "nt", "nz", "nrt", "nrfg"))
_NOUNS = frozenset(("n", "vn", "an", "ng", "eng", *_NAMES))
_SURNAMES = frozenset(
    "王李张張刘劉陈陳杨楊赵趙黄黃周吴吳徐孙孫胡朱高林何郭马馬罗羅梁宋郑鄭谢謝韩韓唐冯馮于董萧蕭程曹袁邓鄧许許傅沈曾彭吕呂苏蘇"
    "卢盧蒋蔣蔡贾賈丁魏薛叶葉阎閻余潘杜戴夏钟鍾汪田任姜范方石姚谭譚廖邹鄒熊金陆陸郝孔白崔康毛邱秦江史顾顧侯邵孟龙龍万萬段"
)

_FUNCTION = frozenset("的了在是和与或及为对从向由以被也都就而且但并把将使让给有没不很最更又再还只仅等之其此该这那哪何")


def chinese_names(sentence: str) -> Iterator[tuple[int, int]]:
    """Start and end of names and compounds in order, none within another."""
    for run in _RUN.finditer(sentence):
        if _PAIR.search(run.group()):
            yield from _in_run(run.group(), run.start())


def _in_run(run: str, offset: int) -> Iterator[tuple[int, int]]:
    group: list[tuple[int, int, str]] = []
    for start, end, tag in [*_tagged(run), (len(run), len(run), "")]:
        if tag in _NOUNS and (not group or group[-1][1] == start):
            group.append((start, end, tag))
            continue
        yield from ((offset + begin, offset + stop) for begin, stop in _named(group))
        group = [(start, end, tag)] if tag in _NOUNS else []


def _named(group: list[tuple[int, int, str]]) -> Iterator[tuple[int, int]]:
    """What of a group of nouns counts: all of it together, or the names in it where it is too long."""
    if not group:
        return
    start, end = group[0][0], group[-1][1]
    if len(group) > 1 and 3 <= end - start <= MOST_CHARACTERS:
        yield start, end
        return
    for begin, stop, tag in group:
        if (tag in _NAMES and stop - begin > 1) or stop - begin >= LONG_NOUN:
            yield begin, stop


def _tagged(run: str) -> Iterator[tuple[int, int, str]]:
    """Words with their part of speech, "" where it is unknown; a surname with single characters is a person."""
    words = [
        (piece.start() + start, piece.start() + end, word)
        for piece in _PIECE.finditer(run)
        for start, end, word in _words(piece.group())
    ]
    at = 0
    while at < len(words):
        start, end, word = words[at]
        behind = 0
        if len(word) == 1 and word in _SURNAMES:
            while behind < 2 and at + behind + 1 < len(words) and _is_part(words[at + behind + 1][2]):
                behind += 1
        if behind:
            yield start, words[at + behind][1], "nr"
        else:
            yield start, end, _tags().get(word, "eng" if word.isascii() else "")
        at += behind + 1


def _is_part(word: str) -> bool:
    return len(word) == 1 and not word.isascii() and word not in stop_words() and word not in _FUNCTION


def _words(piece: str) -> Iterator[tuple[int, int, str]]:
    if piece.isascii() or "·" in piece:
        yield 0, len(piece), piece
        return
    start = 0
    for word in _cutter().words(piece):
        yield start, start + len(word), word
        start += len(word)


@cache
def _cutter() -> JiebaTokenizer:
    return JiebaTokenizer()


@cache
def _tags() -> dict[str, str]:
    """Part of speech of the nouns of jieba's dictionary."""
    return {word: tag for word, tag in tagged_words() if tag in _NOUNS and (len(word) > 1 or tag == "ng")}
