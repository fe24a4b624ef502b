"""Counting model tokens: exactly where the vocabulary is at hand, otherwise by a cautious estimate."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from ragcore.ports import TokenCounter
from ragcore.text.piece_costs import fitting_end, text_cost
from ragcore.text.sentences import split_sentences

# tiktoken stores a vocabulary under the SHA-1 of its address.
VOCABULARY_FILE = hashlib.sha1(  # noqa: S324 - a file name, not a safeguard
    b"https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
).hexdigest()
VOCABULARY_SHA256 = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
# How cl100k cuts text before byte pairs are merged; part of the definition of the encoding.
_CL100K_PATTERN = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)
_CASED = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_O200K_PATTERN = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_CASED[0]}*{_CASED[1]}+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_CASED[0]}+{_CASED[1]}*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_O200K_MIN_RANKS = 190_000  # o200k_base has 199,998 tokens, cl100k_base 100,256

REMEMBERED_CHARACTERS = 8_000  # longer texts are estimated each time
REMEMBERED_TEXTS, REMEMBERED_LONG_TEXTS = 1024, 16  # counts of exact counters, of one process
SENTENCE_LOSS = 0.2  # of the limit: so much may be given up to end truncated text with a sentence

MESSAGE_TOKENS = 4  # role and separators of one message


@lru_cache(maxsize=1024)
def _estimate(text: str) -> int:
    """Tokens of a text; passages that answer many questions are counted once."""
    return _ceil(text_cost(text), 10)


def _ceil(number: int, divisor: int) -> int:
    return -(-number // divisor)


@dataclass(frozen=True, slots=True)
class EstimateCounter:
    """Implements ports.TokenCounter without a vocabulary: calibrated to stay at or above cl100k for running text."""

    def count(self, text: str) -> int:
        """Estimated tokens of a text."""
        return _estimate(text) if len(text) <= REMEMBERED_CHARACTERS else _estimate.__wrapped__(text)

    def truncate(self, text: str, limit: int) -> str:
        """See ports.TokenCounter."""
        end = fitting_end(text, 10 * limit)
        return text if end == len(text) else _at_a_boundary(text, end)


class TiktokenCounter:
    """Implements ports.TokenCounter exactly for the encodings of tiktoken, from a local vocabulary file.

    Text is cut by the pattern of o200k_base where the vocabulary is as large, otherwise by that of cl100k_base.
    Raises ValueError when the vocabulary is none.
    """

    def __init__(self, vocabulary: bytes) -> None:
        import tiktoken

        ranks = _ranks(vocabulary)
        self._encoding: Any = tiktoken.Encoding(
            name="local",
            pat_str=_O200K_PATTERN if len(ranks) > _O200K_MIN_RANKS else _CL100K_PATTERN,
            mergeable_ranks=ranks,
            special_tokens={},  # special tokens in a document are plain text
        )

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._encoding.encode_ordinary(text))

    def truncate(self, text: str, limit: int) -> str:
        """See ports.TokenCounter."""
        tokens = self._encoding.encode_ordinary(text)
        if len(tokens) <= limit:
            return text
        raw: bytes = self._encoding.decode_bytes(tokens[: max(limit, 0)])
        return _cut_within(text, len(raw.decode("utf-8", "ignore")), limit, self.count)


class TokenizerJsonCounter:
    """Implements ports.TokenCounter exactly for a model, from the `tokenizer.json` that comes with it.

    Tokens that a model adds at the begin and end of a text are not counted. Raises ValueError when it is no tokenizer.
    """

    def __init__(self, definition: bytes) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer: Any = Tokenizer.from_buffer(definition)
        except Exception as problem:  # the library raises nothing more precise
            raise ValueError(f"is no tokenizer.json: {problem}") from problem
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True  # special tokens in a document are plain text

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def truncate(self, text: str, limit: int) -> str:
        """See ports.TokenCounter."""
        places = self._tokenizer.encode(text, add_special_tokens=False).offsets
        if len(places) <= limit:
            return text
        return _cut_within(text, places[limit - 1][1] if limit > 0 else 0, limit, self.count)


class RememberingCounter:
    """Implements ports.TokenCounter with another one, whose counts of the latest texts are remembered.

    Passages, rules and earlier turns come into the prompt of many questions; the prompts themselves are counted more
    than once for one answer.
    """

    def __init__(self, counter: TokenCounter) -> None:
        self._counter = counter
        self._short = lru_cache(maxsize=REMEMBERED_TEXTS)(counter.count)
        self._long = lru_cache(maxsize=REMEMBERED_LONG_TEXTS)(counter.count)

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return self._short(text) if len(text) <= REMEMBERED_CHARACTERS else self._long(text)

    def truncate(self, text: str, limit: int) -> str:
        """See ports.TokenCounter."""
        return text if self.count(text) <= limit else self._counter.truncate(text, limit)


@dataclass(frozen=True, slots=True)
class LargestCounter:
    """Implements ports.TokenCounter for a text that any of several models may get: the largest of their counts."""

    counters: tuple[TokenCounter, ...]

    def count(self, text: str) -> int:
        """The most tokens that a text has."""
        return max(each.count(text) for each in self.counters)

    def truncate(self, text: str, limit: int) -> str:
        """See ports.TokenCounter: within the limit for each of them."""
        for each in self.counters:
            text = each.truncate(text, limit)
        # a shorter beginning may have more tokens of another model than its share
        while text and self.count(text) > limit:
            text = _at_a_boundary(text, len(text) - 1)
        return text


def load_counter(file: Path, *, kind: str = "") -> TokenCounter:
    """The exact counter of a vocabulary file: `*.tiktoken`, or `*.json` as `tokenizer.json` of a model.

    `kind`: which of both endings holds for a file of another name.
    Raises ValueError, whose message says what is wrong with the file.
    """
    kinds: dict[str, type[TiktokenCounter | TokenizerJsonCounter]]
    kinds = {".tiktoken": TiktokenCounter, ".json": TokenizerJsonCounter}
    made_by = kinds.get(kind or file.suffix.lower())
    if made_by is None:
        raise ValueError("must end in .tiktoken or .json")
    try:
        content = file.read_bytes()
    except OSError as problem:
        raise ValueError(f"cannot be read: {problem.strerror}") from problem
    return made_by(content)


def _ranks(vocabulary: bytes) -> dict[bytes, int]:
    """Tokens with their ranks: a token in base64 and its rank on each line. Raises ValueError."""
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(vocabulary.splitlines(), 1):
        if line.strip():
            try:
                token, rank = line.split()
                ranks[base64.b64decode(token, validate=True)] = int(rank)
            except ValueError as problem:
                raise ValueError(f"is no vocabulary of tiktoken: line {number} is no token and its rank") from problem
    missing = 256 - sum(bytes([byte]) in ranks for byte in range(256))
    if missing or len(set(ranks.values())) < len(ranks):
        problem_found = f"{missing} of the 256 bytes are missing" if missing else "tokens share a rank"
        raise ValueError(f"is no vocabulary of tiktoken: {problem_found}")
    return ranks


def _cut_within(text: str, end: int, limit: int, count: Callable[[str], int]) -> str:
    """text[:end] up to a boundary, and shorter where a prefix encodes longer than its share of the whole."""
    cut = _at_a_boundary(text, end)
    while cut and count(cut) > limit:
        cut = _at_a_boundary(text, len(cut) - 1)
    return cut


def counter(cache_dir: Path | None = None) -> TokenCounter:
    """The exact counter if `cache_dir` holds the genuine vocabulary of tiktoken, else the estimate. Never downloads."""
    file = cache_dir / VOCABULARY_FILE if cache_dir else None
    if file is None or not file.is_file():
        return EstimateCounter()
    vocabulary = file.read_bytes()
    genuine = hashlib.sha256(vocabulary).hexdigest() == VOCABULARY_SHA256
    return TiktokenCounter(vocabulary) if genuine else EstimateCounter()


def _at_a_boundary(text: str, end: int) -> str:
    """text[:end], shortened to the end of a sentence, or of a word, where that does not lose much."""
    boundary = 0
    for sentence_end in _sentence_ends(text):
        if sentence_end > end:
            break
        boundary = sentence_end
    if boundary >= end * (1 - SENTENCE_LOSS):
        return text[:boundary]
    inside_word = re.search(r"(?<![A-Za-z0-9_])[A-Za-z0-9_]+\Z", text[:end])
    if inside_word and re.match(r"[A-Za-z0-9_]", text[end : end + 1]) and inside_word.start():
        end = inside_word.start()
    return text[:end].rstrip() or text[:end]


def message_tokens(contents: Iterable[str], count: Callable[[str], int]) -> int:
    """Tokens of the messages of a request: their contents, and a role and separators for each."""
    return sum(count(content) + MESSAGE_TOKENS for content in contents)


def _sentence_ends(text: str) -> Iterator[int]:
    """Offsets behind each sentence, without the white space that follows it."""
    at = 0
    for sentence in split_sentences(text):
        yield at + len(sentence.rstrip())
        at += len(sentence)
