"""Which entities a passage mentions and where, without a language model (LinearRAG, arXiv 2510.10114).

Names with capitals, names in quotation marks, abbreviations, identifiers, quantities with their unit, Chinese names
and compound nouns, terms of the lexicon, the title and headings that the passage stands under, and names among the
attributes of its document, such as who published it. Few of these are checked any further: an entity that is none
is mentioned in many places and weighs little, or in one and leads nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ragcore.graph.chinese_names import chinese_names
from ragcore.graph.term_spans import TermSpans
from ragcore.graph.triples import name_key, short_name
from ragcore.text.scripts import CJK
from ragcore.text.sentences import split_sentences
from ragcore.text.tokenise import stop_words

RULES_VERSION = "mentions-2"  # stored with what was read; other rules read again
MOST_MENTIONS = 120  # of a passage
MOST_ATTRIBUTE = 60
MOST_CHARACTERS = 100  # of a name
MOST_WORDS = 10
OUTSIDE = -1  # start and end of a mention in the title or the headings
ATTRIBUTE = -2  # of one among the attributes: a question leads by it to the passage, no other passage does
MOST_ATTRIBUTES = 8  # names among the attributes of a document

MentionKind = Literal["name", "term", "abbreviation", "identifier", "quantity", "title"]

_CAPITAL = r"[A-ZÀ-ÖØ-ÞĀŁŚŠŽČĐ]"
_WORD = rf"{_CAPITAL}[^\W_{CJK}]*(?:['’.&-][^\W_{CJK}]+)*\.?(?<!\.\.)"
_JOIN = r"(?:of the|of|the|de la|de|del|della|der|den|von|van|du|da|di|la|le|el|al|bin|ibn|and the|&|y|zu|af|’n)"
_NAME = re.compile(rf"(?<![\w@/])(?:{_WORD})(?:[ \u00a0](?:(?:{_JOIN} )?{_WORD}|\d{{1,4}}(?![\d.,:%/\w])|[IVX]+\b))*")
_QUOTED = re.compile(
    r"[“\"]([^“”\"\n]{2,80})[”\"]|《([^《》\n]{1,40})》|「([^「」\n]{2,30})」|(?<![*\w])\*([^*\n]{2,80})\*(?![*\w])"
)
_WORK = 2  # the group of _QUOTED that only names of works have
_IDENTIFIER = re.compile(
    rf"(?<![\w.{CJK}])(?:[A-Z]{{1,5}} )?(?=[A-Za-z0-9])(?=[\w./-]{{0,80}}\d)(?=[\w./-]{{0,80}}[A-Za-z])"
    r"[A-Za-z0-9]+(?:[./_-][A-Za-z0-9]+)*(?!\w)"
    r"|(?<![\w.])[a-z]{1,4}[A-Z][A-Za-z0-9]+(?!\w)|(?<![\w.])(?:TS|TR|RFC|ISO|IEC|IEEE|EN|GB/T|YD/T) ?\d[\d.-]*\d"
)
_QUANTITY = re.compile(
    r"(?<![A-Za-z0-9.])\d++(?:[.,]\d++){0,6}+ ?(?:[kMGT]?Hz|[kMGT]?bps|[KMGT]B|[kmµun]?[sVAWF]|dB[mi]?|[kcmµn]?m|k?g|"
    r"°C|℃|%|毫秒|秒|分钟|小时|兆赫|千米|公里|米|伏|安|瓦)(?![A-Za-z])"
)
_ABBREVIATION = re.compile(r"[A-Z][A-Z0-9&/-]{1,11}s?")
_EDGE = " \t\n.,;:!?*_\"'“”‘’()[]|-"
_ATTRIBUTE_NAME = re.compile(rf"{_CAPITAL}[^\W\d_]|[{CJK}]{{2}}")
_NO_NAME = re.compile(r"://|[\\@]|\.\w{2,5}$|\d{4}-\d\d|^[\d\W]*$|\n")
_BRACKET = re.compile(r"[(（][^()（）]*[)）]")
_WORDS = re.compile(rf"[{CJK}]|[^\W_]+")
_SENTENCE_WORD = re.compile(r"[^\W\d_]+")

_USUAL_ENDINGS = ("ing", "ly", "ed", "tion", "ment", "ness", "ally", "ies", "ever", "ough", "fter", "efore")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMention:
    """A name in a passage with its offsets and those of its sentence; in title or headings both offsets are OUTSIDE or
    ATTRIBUTE."""

    name: str
    kind: MentionKind
    start: int
    end: int
    sentence_start: int
    sentence_end: int

    @property
    def key(self) -> str:
        """What makes two names one entity."""
        return name_key(self.name)


@dataclass(frozen=True, slots=True)
class MentionFinder:
    """Finds mentions; `terms`: names that are known already, those of the lexicon and of the document."""

    terms: tuple[TermSpans, ...] = ()

    def find(
        self, text: str, *, title: str = "", heading_path: Sequence[str] = (), attributes: Sequence[str] = ()
    ) -> list[EntityMention]:
        """Mentions of a passage: of its title, headings and attributes first, then in order, at most MOST_MENTIONS."""
        sentences = list(sentence_spans(text))
        first = sentences[0] if sentences else (0, 0)
        mentions = [
            EntityMention(
                name=name, kind="title", start=OUTSIDE, end=OUTSIDE, sentence_start=first[0], sentence_end=first[1]
            )
            for name in _heads(title, heading_path)
        ]
        keys = {mention.key for mention in mentions}
        mentions += [
            EntityMention(
                name=name, kind="name", start=ATTRIBUTE, end=ATTRIBUTE, sentence_start=first[0], sentence_end=first[1]
            )
            for name in attributes
            if name_key(name) not in keys
        ]
        long_names = {word: mention.name for mention in mentions if (word := _last_word(mention.name))}
        for start, end in sentences:
            for mention in self._in_sentence(text, start, end):
                full = long_names.get(mention.key, mention.name) if mention.kind == "name" else mention.name
                if mention.kind == "name" and (word := _last_word(mention.name)):
                    long_names.setdefault(word, mention.name)
                mentions.append(_called(mention, full))
        return mentions[:MOST_MENTIONS]

    def _in_sentence(self, text: str, start: int, end: int) -> list[EntityMention]:
        """Mentions of one sentence in order; a name within a longer one of another kind counts once."""
        spans = list(_spans(text[start:end], self.terms))
        spans.sort(key=lambda span: (span[0], -span[1]))
        mentions: list[EntityMention] = []
        last = 0
        for begin, stop, kind in spans:
            if begin < last:
                continue
            last = stop
            mentions.append(
                EntityMention(
                    name=text[start + begin : start + stop],
                    kind=kind,
                    start=start + begin,
                    end=start + stop,
                    sentence_start=start,
                    sentence_end=end,
                )
            )
        return mentions


def attribute_names(metadata: Mapping[str, object]) -> list[str]:
    """Names among the attributes of a document: short texts with a capital or in Chinese, no numbers, no addresses."""
    texts = [text for value in metadata.values() for text in (value if isinstance(value, list) else [value])]
    names = {
        name_key(text): text.strip()
        for text in texts
        if isinstance(text, str) and len(text) <= MOST_ATTRIBUTE and _ATTRIBUTE_NAME.search(text)
        and not _NO_NAME.search(text)
    }  # fmt: skip
    return [name for key, name in names.items() if key and key not in stop_words()][:MOST_ATTRIBUTES]


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where each sentence of a text begins and ends, without the white space around it."""
    start = 0
    for sentence in split_sentences(text):
        lead = len(sentence) - len(sentence.lstrip())
        if plain := sentence.strip():
            yield start + lead, start + lead + len(plain)
        start += len(sentence)


def question_names(text: str) -> list[str]:
    """Names that a question writes as such, in order, each once; whether anything is called so is another matter."""
    names = [text[start:end] for start, end, _ in sorted(_spans(text, ()))]
    return list(dict.fromkeys(name for name in names if not name.isdigit()))


def _called(mention: EntityMention, name: str) -> EntityMention:
    if name == mention.name:
        return mention
    return EntityMention(
        name=name, kind=mention.kind, start=mention.start, end=mention.end,
        sentence_start=mention.sentence_start, sentence_end=mention.sentence_end,
    )  # fmt: skip


def _heads(title: str, heading_path: Sequence[str]) -> list[str]:
    """Names that the title and the last heading are, whole and without what stands in brackets behind them."""
    names: list[str] = []
    for text in (title, *heading_path[-1:]):
        plain = text.strip(_EDGE.replace(")", "").replace("(", ""))
        if plain and len(plain) <= MOST_CHARACTERS and len(plain.split()) <= MOST_WORDS:
            names += [short_name(plain), plain]
    return list({name_key(name): name for name in names if name_key(name)}.values())


def _last_word(name: str) -> str:
    """The key by which a text calls somebody again: the last word of a name of two to four words."""
    words = _BRACKET.sub("", name).split()
    last = words[-1] if 2 <= len(words) <= 4 else ""
    return name_key(last) if len(last) > 2 and last[0].isupper() and not last.isupper() and last.isalpha() else ""


def _spans(sentence: str, terms: Sequence[TermSpans]) -> Iterator[tuple[int, int, MentionKind]]:
    for names in terms:
        yield from ((start, end, "term") for start, end in names.find(sentence))
    for match in _QUOTED.finditer(sentence):
        group = next(number for number in range(1, 5) if match.group(number) is not None)
        is_short = len(match.group(group).split()) <= MOST_WORDS
        if group == _WORK or (is_short and match.group(group)[:1].isupper()):
            yield match.start(group), match.end(group), "name"
    for match in _QUANTITY.finditer(sentence):
        yield match.start(), match.end(), "quantity"
    for match in _IDENTIFIER.finditer(sentence):
        yield match.start(), match.end(), "identifier"
    for match in _NAME.finditer(sentence):
        yield from _name(sentence, match)
    if not sentence.isascii():
        yield from ((start, end, "name") for start, end in chinese_names(sentence))


def _name(sentence: str, match: re.Match[str]) -> Iterator[tuple[int, int, MentionKind]]:
    """A run of capitalised words without function words at its ends, unless it only begins a sentence."""
    start, end = match.span()
    words = [(start + word.start(), start + word.end()) for word in re.finditer(r"\S+", match.group())]
    stop = stop_words()
    while words and _plain(sentence[slice(*words[0])]) in stop:
        words.pop(0)
    while words and (_plain(sentence[slice(*words[-1])]) in stop or not _plain(sentence[slice(*words[-1])])):
        words.pop()
    if not words or len(words) > MOST_WORDS:
        return
    start, end = words[0][0], words[-1][1]
    text = sentence[start:end]
    for ending in ("'s", "’s", "'", "’", "."):
        if text.endswith(ending) and not (ending == "." and re.search(r"\b[A-Z]\.$|Inc\.$|Ltd\.$|Corp\.$|Jr\.$", text)):
            end -= len(ending)
            text = sentence[start:end]
    if len(text) < 2 or len(text) > MOST_CHARACTERS:
        return
    if _ABBREVIATION.fullmatch(text):
        yield start, end, "abbreviation"
    elif len(words) > 1 or start > 0 or not _begins_only(text):
        yield start, end, "name"


def _begins_only(word: str) -> bool:
    """Whether a single word at the beginning of a sentence is likely to be capitalised for that reason alone."""
    return word[1:].islower() and (len(word) < 4 or word.lower().endswith(_USUAL_ENDINGS))


def _plain(word: str) -> str:
    return word.strip(_EDGE).lower().removesuffix("'s").removesuffix("’s")
