"""Text to words and search terms for Chinese, English and identifiers."""

from __future__ import annotations

import logging
import re
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ragcore.glossary_port import Glossary
from ragcore.text.normalise import nfkc
from ragcore.text.request_cache import cached
from ragcore.text.scripts import CJK

_TOKEN = re.compile(
    rf"(?P<cjk>[{CJK}]+)"
    rf"|(?P<number>\d{{1,3}}(?:,\d{{3}})+(?!\d))"  # 1,024,000
    rf"|(?P<signed>(?<![^\W_{CJK}])[A-Za-z]{{1,2}}(?:\+\+|[+#])(?![A-Za-z_+#]))"  # C++, C#, A+
    rf"|(?P<word>[^\W_{CJK}]+(?:['’][^\W\d_{CJK}]{{1,2}}\b)?)"
    rf"|(?P<joint>(?<=\w)[-_./](?=\w))"
)
_PART = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{2,}s?(?![a-z])|\d{2,}|[^\W\d_A-Za-z]{2,}")
_POSSESSIVE = re.compile(r"['’]\w{0,2}\Z")
_PHRASE_WORDS = 8  # a lexicon entry with Latin in it spans at most so many tokens
KEPT_SENTENCES = 16_384  # whose words a process keeps, about a kilobyte each
KEPT_CHARACTERS = 400  # of such a sentence; longer texts are kept for one answer
_REPEATED_CHARACTERS = 24  # of a piece between spaces that is likely to come again: a word with its punctuation

_read: list[tuple[dict[str, int], int]] = []  # the dictionary, once it has been read
_reading = threading.Lock()


@cache
def stop_words() -> frozenset[str]:
    """Words that `terms` drops, Chinese and English, lower case, as written and stemmed."""
    lines = (files("ragcore.text") / "stopwords.txt").read_text(encoding="utf-8").splitlines()
    words = [word for line in lines if not line.startswith("#") for word in line.split()]
    return frozenset(words) | {stem(word) for word in words}


class _Stemmer:
    """Porter2, guarded: the Snowball object keeps the word it works on in itself."""

    def __init__(self) -> None:
        import snowballstemmer

        self._lock = threading.Lock()
        self._stemmer: Any = snowballstemmer.stemmer("english")

    def __call__(self, word: str) -> str:
        with self._lock:
            return str(self._stemmer.stemWord(word))


@cache
def _stemmer() -> _Stemmer:
    return _Stemmer()


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A lower-case word without accents and English endings; numbers and mixed identifiers as they are."""
    if not word.isascii():
        folded = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c))
        word = folded if folded.isascii() else word
    return _stemmer()(word) if word.isascii() and word.isalpha() and len(word) > 2 else word


class JiebaTokenizer:
    """Implements ports.Tokenizer. Thread-safe; the dictionary is read on first use (about a second).

    `lexicon`: terms of the tenant that must stay whole, in any script. `cache_dir`: where jieba may keep its
    prefix dictionary; without it nothing is written. `glossary`: what Chinese words mean in
    English. Traditional Chinese is carried by the bigrams.
    """

    def __init__(
        self, lexicon: Iterable[str] = (), *, cache_dir: Path | None = None, glossary: Glossary | None = None
    ) -> None:
        self.glossary = glossary
        self._lexicon = tuple(dict.fromkeys(term for entry in lexicon if (term := nfkc(entry).strip().lower())))
        self._cache_dir = cache_dir
        self._lock = threading.Lock()
        self._cut = lru_cache(maxsize=4096)(self._cut_run)  # terms() needs every run twice
        self._repeated = lru_cache(maxsize=65536)(self._piece)
        # sentences of passages that answer one question are likely to answer another one, too
        self._kept_words = lru_cache(maxsize=KEPT_SENTENCES)(lambda text: tuple(self._words(text)))
        self._kept_terms = lru_cache(maxsize=KEPT_SENTENCES)(lambda text: tuple(self._terms(text)))

    def words(self, text: str) -> list[str]:
        """Stemmed words, identifiers whole and in parts, jieba words; stop words kept."""
        text = nfkc(text).strip()  # the same sentence is asked for with and without the space behind it
        if len(text) <= KEPT_CHARACTERS:
            return list(self._kept_words(text))
        return list(cached((self, "words", text), lambda: self._words(text)))

    def terms(self, text: str) -> list[str]:
        """Words without stop words (unless there are only stop words), and the bigrams of every CJK run."""
        text = nfkc(text).strip()
        if len(text) <= KEPT_CHARACTERS:
            return list(self._kept_terms(text))
        return list(cached((self, "terms", text), lambda: self._terms(text)))

    def both(self, text: str) -> tuple[list[str], list[str]]:
        """`words` and `terms` of a text, in one pass."""
        text = nfkc(text).strip()
        words = self.words(text)
        return words, self._terms_of(text, words)

    def _terms(self, text: str) -> list[str]:
        return self._terms_of(text, self.words(text))

    def _terms_of(self, text: str, words: list[str]) -> list[str]:
        bigrams = () if text.isascii() else _bigrams(text, self._cut)
        stop = stop_words()
        terms = [word for word in words if word not in stop]
        terms.extend(bigrams)
        return terms or words

    def _words(self, text: str) -> list[str]:
        """No token has a space in it, so that pieces between spaces can be looked at one by one."""
        words: list[str] = []
        for piece in text.split():
            words += self._repeated(piece) if len(piece) <= _REPEATED_CHARACTERS else self._piece(piece)
        return self._with_phrases(words)

    def _piece(self, piece: str) -> list[str]:
        """Words of a text without spaces. Cached: callers do not change the list."""
        return [word for group in self._groups(piece) for word in group]

    def _groups(self, text: str) -> Iterator[list[str]]:
        """The words of each chain of tokens that are joined by - _ . or /."""
        chain: list[re.Match[str]] = []
        for match in _TOKEN.finditer(text):
            if chain and match.start() != chain[-1].end():
                yield from self._chain(chain)
                chain = []
            if match.lastgroup == "joint" and not chain:
                continue
            if chain and match.lastgroup != "joint" and chain[-1].lastgroup != "joint":
                yield from self._chain(chain)  # CJK directly beside Latin: two chains
                chain = []
            chain.append(match)
        yield from self._chain(chain)

    def _chain(self, chain: Sequence[re.Match[str]]) -> Iterator[list[str]]:
        """Words of one chain: what stands left of the identifier, the identifier, its parts, what is right of it."""
        if len(chain) < 3:
            yield from (self._token(match) for match in chain if match.lastgroup != "joint")
            return
        parts = [self._token(match) for match in chain if match.lastgroup != "joint"]
        first, last = chain[0], chain[-1]
        texts = [match.group() for match in chain]
        if first.lastgroup == "cjk":  # 请问传感器-TH01: the identifier begins with the last word of the run
            texts[0] = self._cut(first.group())[-1]
        if last.lastgroup == "cjk":
            texts[-1] = self._cut(last.group())[0]
        whole = "".join(texts).lower()
        if _is_identifier(whole, [match.lastgroup for match in chain]):
            head = parts[0][:-1] if first.lastgroup == "cjk" else []
            yield [*head, whole, *parts[0][len(head) :]]
            yield from parts[1:]
        else:
            yield from parts

    def _token(self, match: re.Match[str]) -> list[str]:
        """Words of one token."""
        text = match.group()
        if match.lastgroup == "cjk":
            return self._cut(text)
        if match.lastgroup == "number":
            return [text.replace(",", "")]
        if match.lastgroup == "signed":
            return [text.lower(), text.rstrip("+#").lower()]
        text = _POSSESSIVE.sub("", text) if not text.isalnum() else text
        whole = stem(text.lower())
        if text.isdigit() or (text.isalpha() and (text.islower() or text.istitle())):
            return [whole]
        parts = [stem(part.lower()) for part in _PART.findall(text)]
        return [whole, *(part for part in parts if part != whole)]

    def _cut_run(self, run: str) -> list[str]:
        """Words of a run of CJK. Cached: callers do not change the list."""
        # Without the HMM, which guesses words that question and passage then do not share.
        return list(self._jieba.cut(run, HMM=False)) if len(run) > 1 else [run]

    @cached_property
    def _phrases(self) -> dict[str, int]:
        """Lexicon entries with Latin or digits, as words joined by a space, and their length in words."""
        mixed = (entry for entry in self._lexicon if not re.fullmatch(f"[{CJK}]+", entry))
        keys = ([word for group in self._groups(entry) for word in group] for entry in mixed)
        return {" ".join(key): len(key) for key in keys if 1 < len(key) <= _PHRASE_WORDS}

    def _with_phrases(self, words: list[str]) -> list[str]:
        """The words, with each lexicon phrase as one more word in front of its parts."""
        phrases = self._phrases if self._lexicon else {}
        if not phrases:
            return words
        lengths = sorted(set(phrases.values()), reverse=True)
        result: list[str] = []
        for at, word in enumerate(words):
            spans = (" ".join(words[at : at + length]) for length in lengths)
            result.extend(span for span in spans if span in phrases)
            result.append(word)
        return result

    @property
    def _jieba(self) -> Any:
        if "_loaded" not in self.__dict__:
            with self._lock:
                if "_loaded" not in self.__dict__:
                    self.__dict__["_loaded"] = _load_jieba(self._lexicon, self._cache_dir)
        return self.__dict__["_loaded"]


def _is_identifier(whole: str, kinds: Sequence[str | None]) -> bool:
    """A chain worth a term of its own: not 北京-上海, and/or, example.com (parts suffice there)."""
    if "cjk" in kinds and "word" not in kinds and "number" not in kinds:
        return False
    return any(char.isdigit() for char in whole) or "-" in whole or "_" in whole


def _bigrams(text: str, cut: Callable[[str], list[str]]) -> Iterator[str]:
    """Pairs of neighbours in every CJK run, except those that jieba gave as a word of this run."""
    for match in re.finditer(f"[{CJK}]{{2,}}", text):
        run = match.group()
        jieba_words = set(cut(run))
        yield from (pair for at in range(len(run) - 1) if (pair := run[at : at + 2]) not in jieba_words)


@cache
def _quiet_jieba() -> Any:
    """The jieba module; its import adds a handler that writes to stderr, which goes again."""
    import jieba

    jieba.default_logger.handlers.clear()
    jieba.setLogLevel(logging.WARNING)
    return jieba


def _load_jieba(lexicon: Sequence[str], cache_dir: Path | None) -> Any:
    """A private jieba tokenizer with the dictionary read and the Chinese entries of the lexicon added."""
    tokenizer = _quiet_jieba().Tokenizer()
    words, tokenizer.total = _dictionary(cache_dir)
    tokenizer.FREQ = dict(words) if lexicon else words  # the terms of one lexicon are no words of another
    tokenizer.initialized = True
    for term in lexicon:
        if len(term) > 1 and re.fullmatch(f"[{CJK}]+", term):
            tokenizer.add_word(term)
    return tokenizer


def _dictionary(cache_dir: Path | None) -> tuple[dict[str, int], int]:
    """Frequencies of jieba's words and of their beginnings, and their sum, read once in a process.

    From the file that jieba keeps in `cache_dir`, which is made where it is missing and quicker to read;
    without a folder as initialize() does, but without a file in the shared temporary directory.
    """
    with _reading:
        if not _read:
            tokenizer = _quiet_jieba().Tokenizer()
            if cache_dir is None:
                _read.append(tokenizer.gen_pfdict(tokenizer.get_dict_file()))
            else:
                cache_dir.mkdir(parents=True, exist_ok=True)
                tokenizer.tmp_dir, tokenizer.cache_file = str(cache_dir), "jieba.cache"
                tokenizer.initialize()
                _read.append((tokenizer.FREQ, tokenizer.total))
    return _read[0]
