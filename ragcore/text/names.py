"""File names and folders: how they are stored for searching, and where a question gives one.

A name has two kinds of terms. Words are its parts as people write them: `_`, `-`, `.` and spaces separate, so do
camelCase and the border between letters and digits; Chinese is stored by pairs of characters. Keys begin with a slash
and are whole names: the file name with and without its ending, each folder, and each run of neighbours in the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import product
from urllib.parse import unquote, urlsplit

from ragcore.text.normalise import nfkc, normalise_query
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stem, stop_words
from ragcore.types import NameMention

MAX_TERM_CHARACTERS = 256  # longer ones are left out
MAX_DEPTH = 8  # folders of a path, the last ones
ENDINGS = (
    "bmp|csv|docx?|dps|eml|epub|et|geojson|gif|html?|ipynb|jpe?g|jsonl?|log|markdown|mdx?|msg|ndjson|od[pst]|pdf|png|pptx?"
    "|rtf|srt|tiff?|tsv|txt|vtt|webp|wps|xhtml|xls[mx]?|xml|zip"
    "|asn1?|cc|cfg|cjs|conf|cpp|cs|cxx|go|hh|hpp|ini|java|jsx?|kts?|lua|mjs|php|pl|properties|proto|pyi?|rb|rs|scala|sh|sql|swift"
    "|toml|tsx?|ya?ml"
    r"|(?<=\w\w\.)[chmr]"  # of one letter, behind more than one: timer.c, but not a.m. and 3.c
)

_RUN = re.compile(rf"[{CJK}]+|[^\W_{CJK}]+")
_ATOM = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_A-Za-z]+")
_DIGITS = re.compile(r"\d+|\D+")
_ENDING = re.compile(rf"\.({ENDINGS})(?![^\W_{CJK}])", re.IGNORECASE)
_SLASH = re.compile(r"[/\\]+")
_IS_CJK = re.compile(f"[{CJK}]+")

MOST_MENTIONS = 4  # of one question
MOST_KEYS = 64  # of one mention
MOST_WORDS = 8  # of a question that may be part of a name, and as many pairs of Chinese characters for each
LEAST_DIGITS = 3  # of a name without an ending in the middle of a sentence: 38321-g10, not 5G-NR
_CHAIN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]++(?:[-_.][A-Za-z0-9]++)+")
_QUOTED = re.compile(r"[\"“«《「『`](.{2,200}?)[\"”»》」』`]")
_BETWEEN = re.compile(r"[\s\"“”«»《》「」『』`,;:?!，；：？！、。]+")
_MARKS = re.compile(rf"[/\\_]|{_ENDING.pattern}|{_CHAIN.pattern}", re.IGNORECASE)
_UNDERSCORE = re.compile(r"[^\W_]_+[^\W_]")
_UP_TO_ENDING = re.compile(rf".*?{_ENDING.pattern}(?=[{CJK}]|$)|.+", re.IGNORECASE)
_EDGES = " \t.,;:!?。，；：！？…\"“”«»《》「」『』`'"
_ASKS = re.compile(
    r"[?？]\s*$|^(?:what|which|who|whose|when|where|why|how|is|are|was|were|do|does|did|can|could|should|will|would)\b"
    r"|什么|什麼|如何|怎么|怎麼|怎样|怎樣|为何|為何|哪|吗|嗎|呢|多少|谁|誰|是否|请问|請問",
    re.IGNORECASE,
)


# ── what is stored ──────────────────────────────────────────────────────────────────────────────


def name_terms(file_name: str, *, path: str = "", external_id: str = "") -> list[str]:
    """The words and keys of a document's file name, path in its source and id there, each once, sorted.

    Path and id may be addresses; the host counts as a folder, and what follows `?` or `#` is left out.
    """
    # an id that ends with the path is a longer one: `name.zip!/path` for a file of an archive
    paths = [external_id] if path and external_id.endswith(path) else [path, external_id]
    terms: set[str] = set()
    for path in dict.fromkeys(filter(None, (*paths, file_name))):
        segments = _segments(path)
        if path != file_name and segments and segments[-1] != nfkc(file_name):
            segments.append(nfkc(file_name))  # the path is an id of the source that does not end with the name
        segments = segments[-MAX_DEPTH:]
        terms.update(*map(_stored_words, segments))
        terms.update(_keys(segments))
    return sorted(term for term in terms if len(term) <= MAX_TERM_CHARACTERS)


def _segments(path: str) -> list[str]:
    text = nfkc(path).strip()
    if "://" in text or text.startswith("//"):
        address = urlsplit(text)
        text = f"{address.netloc}/{unquote(address.path)}"
    return [segment for segment in _SLASH.split(text) if _RUN.search(segment)]


def _keys(segments: Sequence[str]) -> Iterator[str]:
    """A key for every run of neighbours, and for a name alone another one with its ending."""
    stems = [key_of(segment) for segment in segments]
    for start, segment in enumerate(segments):
        yield from ("".join(f"/{stem}" for stem in stems[start:end]) for end in range(start + 1, len(stems) + 1))
        if ending := ending_of(segment):
            yield f"/{stems[start]}.{ending}"


def key_of(segment: str) -> str:
    """A file name or folder without its ending, in lower case, with single spaces for all that separates."""
    return " ".join(_RUN.findall(_without_ending(nfkc(segment)).lower()))


def ending_of(segment: str) -> str:
    """The ending of a file name, lower case without the dot; empty where it is none that files here have."""
    name = segment.rstrip(" !")  # `name.zip!/` stands before the path in an archive
    endings = list(_ENDING.finditer(name))
    return endings[-1][1].lower() if endings and endings[-1].end() == len(name) and endings[-1].start() > 0 else ""


def name_words(text: str) -> frozenset[str]:
    """All words that a title, file name or folder may be asked for by."""
    return frozenset(word for segment in _segments(text) for word in _stored_words(segment))


def _without_ending(segment: str) -> str:
    ending = ending_of(segment)
    return segment.rstrip(" !")[: -len(ending) - 1] if ending else segment


def _stored_words(segment: str) -> Iterator[str]:
    """All words by which the segment may be asked for: whole, and in parts with and without capitals as borders."""
    for run in _RUN.findall(_without_ending(segment)):
        if _IS_CJK.fullmatch(run):
            yield from _pairs(run)
        else:
            yield from (stem(run.lower()), *_parts(_ATOM, run), *_parts(_DIGITS, run))


def _parts(atom: re.Pattern[str], run: str) -> list[str]:
    """A run of letters and digits in parts, stemmed; single characters stay with what stands before or behind them."""
    parts: list[str] = []
    for piece in atom.findall(run) or [run]:
        if parts and (len(piece) < 2 or len(parts[-1]) < 2):
            parts[-1] += piece
        else:
            parts.append(piece)
    return [stem(part.lower()) for part in parts]


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


# ── where a question gives one ──────────────────────────────────────────────────────────────────


def name_mentions(question: str) -> list[NameMention]:
    """What of a question may be names, at most MOST_MENTIONS, longer ones first; mostly none for a sentence."""
    text = normalise_query(question)
    mentions: dict[str, NameMention] = {}
    for candidate, is_alone in _candidates(text):
        if candidate not in mentions and (mention := _mention(candidate, is_alone=is_alone)):
            mentions[candidate] = mention
    return list(mentions.values())[:MOST_MENTIONS]


def _candidates(text: str) -> Iterator[tuple[str, bool]]:
    """Texts that may be names, and whether each is all of the question."""
    whole = text.strip(_EDGES)
    if not _ASKS.search(text):
        yield whole, True
    yield from ((match[1].strip(_EDGES), False) for match in _QUOTED.finditer(text))
    for token in filter(_MARKS.search, _BETWEEN.split(text)):
        pieces = [match[0].strip(_EDGES) for match in _UP_TO_ENDING.finditer(token)]
        chains = [match[0] for match in _CHAIN.finditer(token)]
        loose = [chain for chain in chains if not any(chain in piece and _is_name(piece) for piece in pieces)]
        yield from ((part, part == whole) for part in (*pieces, *loose))


def _is_name(text: str) -> bool:
    """Whether a text is written as only file names and paths are."""
    segments = _segments(text)
    return len(segments) > 1 or bool(segments and ending_of(segments[-1])) or _UNDERSCORE.search(text) is not None


def _mention(text: str, *, is_alone: bool) -> NameMention | None:
    segments, runs = _segments(text), _RUN.findall(text)
    if not segments or all(run.lower() in stop_words() for run in runs):
        return None
    is_name = _is_name(text)
    is_number = " " not in text and len(runs) > 1 and sum(map(str.isdigit, text)) >= LEAST_DIGITS
    words = frozenset(asked_words(text)) if (is_alone or is_name) and _is_short(runs) else frozenset()
    is_whole_name = is_name or is_number or (is_alone and len(runs) > 1 and _is_short(runs))
    keys = tuple(_asked_keys(segments, is_name=is_name)) if is_whole_name else ()
    if not keys and not words:
        return None
    return NameMention(text=text, keys=keys, words=words, is_marked=is_name or is_number)


def _is_short(runs: Sequence[str]) -> bool:
    return sum(1 + len(run) // 3 if _IS_CJK.fullmatch(run) else 1 for run in runs) <= MOST_WORDS


def asked_words(text: str) -> list[str]:
    """The words that a name must have to be meant by a text, each once; without stop words if there are others."""
    words: list[str] = []
    for segment in _segments(text):
        for run in _RUN.findall(_without_ending(segment)):
            words += _pairs(run) if _IS_CJK.fullmatch(run) else _parts(_ATOM, run)
    content_words = [word for word in words if word not in stop_words()]
    return list(dict.fromkeys(content_words or words))


def _asked_keys(segments: Sequence[str], *, is_name: bool) -> list[str]:
    """Keys of a text. In Chinese other words may stand before and behind a name without a space."""
    ending = ending_of(segments[-1])
    path = [key_of(segment) for segment in segments]
    heads = [path[0], *_shortened(path[0])] if is_name else [path[0]]
    if len(path) == 1:
        heads += _shortened(path[0], from_end=True) if is_name and not ending else []
        keys = {f"/{head}" for head in heads}
    else:
        tails = [path[-1], *([] if ending else _shortened(path[-1], from_end=True))]
        keys = {"".join(f"/{part}" for part in (head, *path[1:-1], tail)) for head, tail in product(heads, tails)}
    longest = sorted(keys, key=lambda key: (-len(key), key))[:MOST_KEYS]
    return [*(f"{key}.{ending}" for key in longest if ending and len(path) == 1), *longest]


def _shortened(key: str, *, from_end: bool = False) -> list[str]:
    """A key that begins (or ends) with Chinese, without one and more characters of that, and without all of it."""
    runs = key.split(" ")
    run = runs[-1 if from_end else 0]
    if not _IS_CJK.fullmatch(run):
        return []
    rest = runs[:-1] if from_end else runs[1:]
    pieces = [run[: len(run) - at] if from_end else run[at:] for at in range(1, len(run) - 1)]
    shorter = [" ".join([*rest, piece] if from_end else [piece, *rest]) for piece in pieces]
    return [*shorter, " ".join(rest)] if rest else shorter
