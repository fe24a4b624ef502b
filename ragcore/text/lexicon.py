"""The terms of an organisation: found in texts, kept whole, and widened to their other names.

A lexicon only adds. A text keeps all terms that the tokenizer gives it; each lexicon term of several words or of three
and more Chinese characters adds one more, for the whole. So passages that were indexed before a term was known are
still found by its parts, and publishing a term makes no passage unfindable.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ragcore.ports import Tokenizer
from ragcore.text.normalise import nfkc, normalise_query
from ragcore.text.scripts import CJK
from ragcore.text.sorted_names import SortedNames
from ragcore.text.spelling import LEAST_LETTERS, likeness
from ragcore.text.tokenise import stem, stop_words
from ragcore.text.whole_names import MOST_WORDS, WholeNames, closed_up, is_apart
from ragcore.types import Expansion, Relation

MAX_TERM_CHARACTERS = 200
MOST_MEANT = 2  # names that one misspelt word may mean
LIKE_WORD = 0.7  # likeness of a misspelt word to a word of the lexicon
# Share of the weight of the asked word that another name gets, by how the two are related.
WEIGHTS: Mapping[Relation, float] = {
    "head": 0.9,
    "abbreviation": 0.9,
    "long form": 0.9,
    "translation": 0.8,
    "synonym": 0.6,
}
MOST_NAMES = 6  # other names of one mention
MOST_EXPANSIONS = 16  # of one question

_CJK = re.compile(f"[{CJK}]")
_BESIDE_CJK = re.compile(f"(?<=[{CJK}]) | (?=[{CJK}])")


@dataclass(frozen=True, slots=True, kw_only=True)
class LexiconEntry:
    """One approved term with its other names. `long_form` is that of an abbreviation."""

    text: str
    language: str = "other"
    kind: str = "term"
    long_form: str = ""
    synonyms: tuple[str, ...] = ()
    translations: tuple[str, ...] = ()

    def names(self) -> list[tuple[str, Relation]]:
        """Every name once, the term itself first; an empty or repeated name is left out."""
        head: Relation = "abbreviation" if self.long_form else "head"
        every: list[tuple[str, Relation]] = [(self.text, head), (self.long_form, "long form")]
        every += [(name, "synonym") for name in self.synonyms]
        every += [(name, "translation") for name in self.translations]
        names: dict[str, tuple[str, Relation]] = {}
        for name, relation in every:
            if plain := " ".join(name.split()):
                names.setdefault(normalise_query(plain).lower(), (plain, relation))
        return list(names.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherName:
    """Another name of a term. `weight` is in (0, 1): the share of the asked word's weight."""

    name: str
    relation: Relation
    weight: float


@dataclass(frozen=True, slots=True)
class Mention:
    """A lexicon name in a text: its key, and the words of the text that it covers."""

    key: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadEntry:
    """An entry with each of its names as a text is looked up for it: (name, relation, key, words), see `_key`."""

    entry: LexiconEntry
    names: tuple[tuple[str, Relation, str, tuple[str, ...]], ...]

    @classmethod
    def of(cls, entry: LexiconEntry, tokenizer: Tokenizer) -> ReadEntry:
        return cls(entry, tuple((name, relation, *_key(name, tokenizer)) for name, relation in entry.names()))


@dataclass(frozen=True)
class TermLexicon:
    """Published terms, ready to be looked up. Build it with `of`; two lexicons of the same entries are alike."""

    entries: tuple[LexiconEntry, ...]
    keys: Mapping[str, tuple[tuple[str, Relation, int], ...]]  # key -> (name as written, relation, entry)
    phrases: Mapping[str, Mapping[int, frozenset[str]]]  # first word -> number of words -> keys
    characters: Mapping[str, tuple[int, ...]]  # first two characters -> lengths of Chinese names, longest first
    chinese: frozenset[str]  # names with Chinese characters as texts write them, see `_spellings`
    wholes: WholeNames  # names that get a term of their own
    tokenizer: Tokenizer = field(repr=False)

    @classmethod
    def of(cls, entries: Iterable[LexiconEntry], tokenizer: Tokenizer) -> TermLexicon:
        """Entries whose text is empty or longer than MAX_TERM_CHARACTERS are left out."""
        return cls.of_read((ReadEntry.of(entry, tokenizer) for entry in entries), tokenizer)

    @classmethod
    def of_read(cls, entries: Iterable[ReadEntry], tokenizer: Tokenizer) -> TermLexicon:
        """The same of entries whose names have been read with this tokenizer, which takes most of the time."""
        read = tuple(e for e in entries if 0 < len(e.entry.text.strip()) <= MAX_TERM_CHARACTERS)
        keys: dict[str, list[tuple[str, Relation, int]]] = {}
        phrases: dict[str, dict[int, set[str]]] = {}
        lengths: dict[str, set[int]] = {}
        chinese: set[str] = set()
        for at, item in enumerate(read):
            for name, relation, key, words in item.names:
                if not key:
                    continue
                keys.setdefault(key, []).append((name, relation, at))
                if not words:
                    for spelling in _spellings(name, key):
                        chinese.add(spelling)
                        lengths.setdefault(spelling[:2], set()).add(len(spelling))
                elif len(words) <= MOST_WORDS:
                    phrases.setdefault(words[0], {}).setdefault(len(words), set()).add(key)
        return cls(
            entries=tuple(item.entry for item in read),
            keys={key: tuple(places) for key, places in keys.items()},
            phrases={
                first: {n: frozenset(keys_of_start) for n, keys_of_start in sorted(by.items(), reverse=True)}
                for first, by in phrases.items()
            },
            characters={pair: tuple(sorted(sizes, reverse=True)) for pair, sizes in lengths.items()},
            chinese=frozenset(chinese),
            wholes=WholeNames.of(chinese=chinese, other=[key for key in keys if key not in chinese]),
            tokenizer=tokenizer,
        )

    def __bool__(self) -> bool:
        return bool(self.keys)

    # ── terms for the index ─────────────────────────────────────────────────────────────────────

    def whole_terms(self, text: str, words: Sequence[str], terms: Sequence[str] | None = None) -> list[str]:
        """One term for each place of the text where a name of several words or characters stands, in no order.

        `words`: what the tokenizer gives for the text. Names within names count, too. `terms`: the words without stop
        words in their order, other terms after them; where it is not given, it is made of the words.
        """
        return self.wholes.found_in(text, words, terms)

    # ── names in a question ─────────────────────────────────────────────────────────────────────

    def _phrases_in(self, words: Sequence[str]) -> Iterator[tuple[int, str]]:
        phrases = self.phrases
        for at, word in enumerate(words):
            if word in phrases:
                for length, keys in phrases[word].items():
                    span = word if length == 1 else " ".join(words[at : at + length])
                    if span in keys:
                        yield at, span

    def _chinese_in(self, text: str) -> Iterator[tuple[int, str]]:
        """Names with Chinese characters and where they begin, the longest first at each place."""
        if not _CJK.search(text):
            return
        starts, names, text = self.characters, self.chinese, closed_up(text.lower())
        for at in range(len(text) - 1):
            for length in starts.get(text[at : at + 2], ()):
                end = at + length
                if end <= len(text) and (name := text[at:end]) in names and is_apart(text, at, end):
                    yield at, name

    # ── other names ─────────────────────────────────────────────────────────────────────────────

    def mentions(self, text: str) -> list[Mention]:
        """Names in a question, the longest ones, none within another. Abbreviations that are usual words count only
        in capitals, see `is_meant`."""
        text = normalise_query(text)
        words = self.tokenizer.words(text)
        mentions: list[Mention] = []
        end = 0
        for at, key in sorted(self._phrases_in(words), key=lambda pair: (pair[0], -len(pair[1]))):
            covered = tuple(key.split(" "))
            if at >= end and self._is_meant(key, text):
                end = at + len(covered)
                mentions.append(Mention(key, covered))
        last = 0
        for at, name in self._chinese_in(text):
            if at >= last:
                last = at + len(name)
                mentions.append(Mention(name.replace(" ", ""), tuple(self.tokenizer.terms(name))))
        return list({mention.key: mention for mention in mentions}.values())

    def _is_meant(self, key: str, text: str) -> bool:
        if is_meant(key, text):
            return True
        capitals = key.upper()
        place = re.search(rf"(?<![A-Za-z0-9]){re.escape(capitals)}(?![A-Za-z0-9])", text)
        return place is not None and is_meant(capitals, text)

    def other_names(self, key: str) -> list[OtherName]:
        """Names of the entries of a key, heaviest first. Of a name with several meanings each meaning counts less.

        Only one step is taken: names of other names are not followed, so that cycles and contradictions stay local.
        """
        meanings = self.keys.get(key, ())
        # an abbreviation with several long forms, or a synonym of several terms
        share = 1 / max(len({self._meaning(at) for _, _, at in meanings}), 1)
        best: dict[str, OtherName] = {}
        for _name, relation_of_key, at in meanings:
            for name, relation in self.entries[at].names():
                other, _words = _key(name, self.tokenizer)
                weight = share * min(WEIGHTS[relation_of_key], WEIGHTS[relation])
                if other and other != key and (other not in best or best[other].weight < weight):
                    best[other] = OtherName(name=name, relation=relation, weight=weight)
        return sorted(best.values(), key=lambda name: -name.weight)[:MOST_NAMES]

    def _meaning(self, at: int) -> str:
        entry = self.entries[at]
        return normalise_query(entry.long_form or entry.text).lower()

    def expansions(self, text: str) -> list[Expansion]:
        """What a question is widened with, at most MOST_EXPANSIONS, in the order of its mentions."""
        expansions = [expansion for mention in self.mentions(text) for expansion in self.expand(mention)]
        return expansions[:MOST_EXPANSIONS]

    def expand(self, mention: Mention, *, weight: float = 1.0) -> Iterator[Expansion]:
        """The other names of one mention as terms of the index."""
        for other in self.other_names(mention.key):
            terms = [*self.tokenizer.terms(other.name), *self.whole_terms(other.name, self.tokenizer.words(other.name))]
            if new := tuple(term for term in dict.fromkeys(terms) if term not in mention.words):
                yield Expansion(
                    asked_terms=mention.words,
                    name=other.name,
                    relation=other.relation,
                    terms=new,
                    weight=other.weight * weight,
                )

    def alternatives(self, term: str) -> tuple[str, ...]:
        """Implements `ragcore.stage_ports.Lexicon`."""
        key, _words = _key(term, self.tokenizer)
        return tuple(other.name for other in self.other_names(key))

    # ── spelling ────────────────────────────────────────────────────────────────────────────────

    def knows(self, word: str) -> bool:
        """Whether a term of the index is the name of something."""
        return word in self.keys

    def meant(self, word: str) -> list[Expansion]:
        """For a misspelt Latin word: the names of the lexicon that it may mean, each with its other names."""
        if len(word) < LEAST_LETTERS:
            return []
        near = ((name, likeness(word, name)) for name in self._by_letter.get(word[0], ()))
        similar = sorted(((name, score) for name, score in near if score >= LIKE_WORD), key=lambda pair: -pair[1])
        expansions: list[Expansion] = []
        for name, score in similar[:MOST_MEANT]:
            expansions.append(Expansion(asked_terms=(word,), name=name, relation="head", terms=(name,), weight=score))
            expansions += self.expand(Mention(name, (word,)), weight=score)
        return expansions

    @cached_property
    def _by_letter(self) -> Mapping[str, tuple[str, ...]]:
        """Names of one Latin word of four and more letters by their first letter."""
        by_letter: dict[str, list[str]] = {}
        for first, lengths in self.phrases.items():
            if 1 in lengths and len(first) >= LEAST_LETTERS and first.isascii():
                by_letter.setdefault(first[0], []).append(first)
        return {letter: tuple(names) for letter, names in by_letter.items()}

    @cached_property
    def sorted_names(self) -> SortedNames:
        """Every name, to be found by its beginning."""
        return SortedNames.of(self.all_names())

    def all_names(self) -> tuple[str, ...]:
        """Every name as written, each once."""
        return tuple(dict.fromkeys(name for entry in self.entries for name, _ in entry.names()))


class LexiconTokenizer:
    """Implements ports.Tokenizer: what another tokenizer gives, and whole terms of a lexicon after it."""

    def __init__(self, base: Tokenizer, lexicon: TermLexicon) -> None:
        self._base, self._lexicon = base, lexicon

    def words(self, text: str) -> list[str]:
        """Words of the base tokenizer."""
        return self._base.words(text)

    def terms(self, text: str) -> list[str]:
        """Terms of the base tokenizer, and one for each whole term of the lexicon."""
        text = nfkc(text)
        both = getattr(self._base, "both", None)
        if both is None:
            terms = self._base.terms(text)
            whole = self._lexicon.whole_terms(text, self._base.words(text))
        else:
            words, terms = both(text)
            whole = self._lexicon.whole_terms(text, words, terms)
        return [*terms, *whole] if whole else terms


def is_meant(spelling: str, text: str) -> bool:
    """Whether a word of a text, as it is written there, may be a name: a usual word only in capitals. AS is one, as is
    none, nor is any usual word of a text that is all in capitals."""
    word = spelling.lower()
    if stop_words().isdisjoint((word, stem(word))):
        return True
    return spelling.isupper() and not _is_shouted(text)


def _is_shouted(text: str) -> bool:
    """Whether a text of several Latin words is all in capitals; Chinese has none, and capitals in it are names."""
    return text.isupper() and not _CJK.search(text) and sum(word.isupper() for word in text.split()) > 1


def _spellings(name: str, key: str) -> set[str]:
    """How texts write a name with Chinese characters, as `closed_up` leaves them: with the spaces between its Latin
    words, and without any, as its key is."""
    return {key, _BESIDE_CJK.sub("", normalise_query(name).lower())} if " " in name else {key}


def _key(name: str, tokenizer: Tokenizer) -> tuple[str, tuple[str, ...]]:
    """What a name is looked up by, and its words; () for names with Chinese characters, which are compared by them."""
    text = normalise_query(name)
    if _CJK.search(text):
        plain = "".join(text.lower().split())
        if len(plain) > 1:
            return plain, ()
    words = tuple(tokenizer.words(text))
    return " ".join(words), words
