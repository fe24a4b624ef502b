"""Topics of Chinese questions and answers: groups of content words between function words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from ragcore.ports import Tokenizer
from ragcore.text.scripts import CJK
from ragcore.understanding.mentions import Kind, Mention, find_row, without_leads
from ragcore.understanding.words import entries

FIRST, LATER, IN_ANSWER, REPEATED = 1.0, 0.8, 0.45, 0.7  # attention that a mention gains
ANSWER_CHARACTERS = 120  # that are read of an answer
MOST_CHARACTERS = 16  # of a topic in Han

UNIT = re.compile(rf"(?P<han>[{CJK}]+)|(?P<latin>[A-Za-z0-9][A-Za-z0-9._+/#-]*(?: [A-Za-z0-9][A-Za-z0-9._+/#-]*)*)")
TITLE = re.compile(r"[《「『“\"]([^《》「」『』“”\"]{1,30})[》」』”\"]")


@dataclass(frozen=True, slots=True)
class Unit:
    """A word with its place in the text."""

    text: str
    start: int
    end: int
    is_name: bool = False

    @property
    def may_be_named(self) -> bool:
        """Whether it may follow a surname."""
        if len(self.text) == 1:
            return self.text not in entries("chinese", "unnamed")
        return self.is_content and not self.is_attribute and self.text not in entries("chinese", "people")

    @property
    def is_content(self) -> bool:
        if self.is_name:
            return True
        return self.text not in entries("chinese", "function") and not self.is_verb and not self.is_predicate

    @property
    def is_verb(self) -> bool:
        return self.text in entries("chinese", "verbs")

    @property
    def is_predicate(self) -> bool:
        return self.text in entries("chinese", "predicates")

    @property
    def is_attribute(self) -> bool:
        return self.text in entries("chinese", "attributes")


def units(text: str, tokenizer: Tokenizer) -> list[Unit]:
    """Words of Han runs as the tokenizer cuts them, and Latin names whole; punctuation is left out."""
    words: list[Unit] = []
    for match in UNIT.finditer(text):
        if match.lastgroup == "latin":
            words.append(Unit(match.group(), match.start(), match.end()))
            continue
        at = match.start()
        for word in tokenizer.words(match.group()):
            if text.startswith(word, at):  # a lexicon phrase would come twice
                words.append(Unit(word, at, at + len(word)))
                at += len(word)
    return _with_names(words, text)


def _with_names(parts: Sequence[Unit], text: str) -> list[Unit]:
    """Words with a surname and the one or two single characters after it joined: the dictionary knows few names."""
    joined: list[Unit] = []
    for unit in parts:
        last = joined[-1] if joined else None
        begins = last is not None and last.text in entries("chinese", "surnames") and not _is_counted(joined)
        goes_on = last is not None and len(last.text) == 2 and last.is_name and len(unit.text) == 1
        fits = last is not None and last.end == unit.start and len(unit.text) <= 2 and unit.may_be_named
        if last is not None and fits and (begins or goes_on):
            joined[-1] = Unit(text[last.start : unit.end], last.start, unit.end, is_name=True)
        else:
            joined.append(unit)
    return joined


def _is_counted(parts: Sequence[Unit]) -> bool:
    """一张, 这张: a counting word and no surname."""
    return len(parts) > 1 and parts[-2].text[-1] in "一两二三四五六七八九十几这那哪每半0123456789"


def groups(text: str, tokenizer: Tokenizer) -> list[list[Unit]]:
    """Maximal runs of neighbouring content words; 的 joins two of them."""
    runs: list[list[Unit]] = []
    run: list[Unit] = []
    all_units = units(text, tokenizer)
    for at, unit in enumerate(all_units):
        if run and unit.start != run[-1].end and not _is_spaced(text, run[-1], unit):
            runs.append(run)
            run = []
        following = all_units[at + 1] if at + 1 < len(all_units) else None
        joins = run and unit.text in ("的", "之") and following and following.start == unit.end and following.is_content
        if unit.is_content or joins:
            run.append(unit)
        elif run:
            runs.append(run)
            run = []
    return [*runs, run] if run else runs


def _is_spaced(text: str, before: Unit, after: Unit) -> bool:
    """Whether only the space that many write between Latin and Han stands between two words."""
    one_is_latin = before.text[-1].isascii() != after.text[0].isascii()
    return one_is_latin and text[before.end : after.start] == " "


def question_mentions(text: str, tokenizer: Tokenizer) -> list[Mention]:
    """Titles and topics of a question, the most important one first."""
    mentions = [Mention(text=m[1], kind="thing", weight=FIRST, is_name=True) for m in TITLE.finditer(text)]
    for number, group in enumerate(_topics(text, tokenizer)):
        mentions.append(_mention(group, FIRST if number == 0 else LATER))
    return mentions


def answer_mentions(text: str, tokenizer: Tokenizer, earlier: Sequence[Mention]) -> list[Mention]:
    """What an answer repeats of what is known, and the first topics that it brings itself."""
    head = without_leads(text)[:ANSWER_CHARACTERS]
    if (row := find_row(head)) is not None:
        head = " · ".join(row)
    repeated = [m for m in earlier if m.text in head]
    mentions = [_weighted(m, REPEATED) for m in repeated]
    if not repeated and (shared := next((text for m in earlier if (text := _shared_start(m.text, head))), "")):
        mentions.append(_mention(shared, REPEATED))
        repeated = mentions[-1:]
    mentions += [Mention(text=m[1], kind="thing", weight=IN_ANSWER, is_name=True) for m in TITLE.finditer(head)]
    for group in list(_topics(head, tokenizer))[:3]:
        mention = _mention(group, IN_ANSWER)
        if not any(mention.text in other.text or other.text in mention.text for other in repeated):
            mentions.append(mention)
    return mentions


def _shared_start(text: str, other: str) -> str:
    """The beginning of a topic that an answer repeats, without function words at its end; "" below two characters."""
    length = next((n for n in range(len(text) - 1, 1, -1) if text[:n] in other), 0)
    shared = text[:length].rstrip("的之是了和与 ")
    return shared if len(shared) > 1 and 2 * len(shared) >= min(len(text), 6) else ""


def kind_of(text: str) -> Kind:
    if text in entries("chinese", "places") or re.search(r"[省市县区州岛山寺塔湖城镇村]$", text):
        return "place"
    if text in entries("chinese", "people") or any(text.endswith(word) for word in entries("chinese", "people")):
        return "person"
    if 2 <= len(text) <= 4 and text[0] in entries("chinese", "surnames") and not text.isascii():
        return "person"
    return "thing" if re.search(r"[A-Za-z0-9]", text) else "unknown"


def _topics(text: str, tokenizer: Tokenizer) -> Iterator[str]:
    """Content groups without the attributes that are asked for: 载波聚合 of 载波聚合的工作原理."""
    for group in groups(text, tokenizer):
        if len(group) > 1 and group[0].text in entries("chinese", "people"):
            yield group[0].text
        end = group[-1].end
        if text[end : end + 1] == "号" and text[group[-1].start : end + 1] in entries("chinese", "attributes"):
            end += 1  # 零件号, which is cut in two
        topic = without_attribute(text[group[0].start : end])
        if len(topic) > 1 and _length(topic) <= MOST_CHARACTERS and topic not in entries("chinese", "attributes"):
            yield topic


def _length(topic: str) -> int:
    """In Han; a Latin name counts as one."""
    return len(re.sub(r"[!-~]+(?: [!-~]+)*", "-", topic))


@cache
def _attribute_lengths() -> tuple[int, ...]:
    """The longest first."""
    return tuple(sorted({len(word) for word in entries("chinese", "attributes")}, reverse=True))


def without_attribute(topic: str) -> str:
    """载波聚合 of 载波聚合的工作原理; a topic that is nothing but an attribute stays."""
    while True:
        end = next((n for n in _attribute_lengths() if topic[-n:] in entries("chinese", "attributes")), 0)
        shorter = topic[: -end or len(topic)].rstrip("的之")
        if len(shorter) < 2 or shorter == topic.rstrip("的之"):
            return topic.rstrip("的之")
        topic = shorter


def _mention(text: str, weight: float) -> Mention:
    return Mention(text=text, kind=kind_of(text), weight=weight)


def _weighted(mention: Mention, weight: float) -> Mention:
    return Mention(text=mention.text, kind=mention.kind, weight=weight, is_name=mention.is_name)
