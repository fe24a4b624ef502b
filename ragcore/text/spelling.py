"""Whether one word may be a slip of the hand for another."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from ragcore.ports import Tokenizer
from ragcore.text.scripts import CJK
from ragcore.text.tokenise import stop_words
from ragcore.types import Query

LEAST_LETTERS = 4  # shorter words have too many neighbours
MOST_LETTERS = 40
LEAST_STEM = 5  # letters of a known word that another one begins with
MOST_ENDING = 6  # letters that such a word may have more
ACRONYM_LETTERS = 6  # a shorter word in capitals is a name: PUCCH is no slip for PUSCH

_RUN = re.compile(f"[{CJK}]{{2,}}")
_LATIN = re.compile(rf"[^\W_{CJK}]+")
_ANY = re.compile(rf"(?P<cjk>[{CJK}]+)|(?P<latin>[^\W_{CJK}]+)")
_CAPITALS = re.compile(r"\b[A-Z]{2,}\b")


def distance(first: str, second: str, *, limit: int) -> int:
    """Insertions, deletions, replacements and swaps of neighbours between two words; limit + 1 where there are more.

    Optimal string alignment: Damerau, A technique for computer detection and correction of spelling errors, 1964.
    """
    if abs(len(first) - len(second)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        earlier, before, row = before, row, [i]
        for j, b in enumerate(second, 1):
            step = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == second[j - 2] and first[i - 2] == b:
                step = min(step, earlier[j - 2] + 1)
            row.append(step)
        if min(row) > limit:
            return limit + 1
    return min(row[-1], limit + 1)


def likeness(word: str, candidate: str) -> float:
    """How likely a known word was meant, in (0, 1); 0 where it cannot have been.

    1 - edits / letters for one edit up to six letters, two beyond; the first letter is right. The share of the letters
    where the known word begins the other one: a slip in the ending keeps the stemmer from taking it off. Never another
    number.
    """
    if word == candidate or digits(word) != digits(candidate) or not any(map(str.isalpha, candidate)):
        return 0.0
    if word[0] != candidate[0]:
        return 0.0
    limit = 1 if len(word) <= 6 else 2
    edits = distance(word, candidate, limit=limit)
    whole = 1 - edits / max(len(word), len(candidate)) if edits <= limit else 0.0
    return max(whole, _as_stem(word, candidate))


def _as_stem(word: str, candidate: str) -> float:
    """The share of a word's letters that a known one has at its beginning, with one edit in a longer one."""
    ending = len(word) - len(candidate)
    if len(candidate) < LEAST_STEM or not 0 < ending <= min(MOST_ENDING, len(candidate)):
        return 0.0
    limit = 1 if len(candidate) > LEAST_STEM else 0
    edits = min(distance(word[: len(candidate) + more], candidate, limit=limit) for more in (-1, 0, 1))
    return (len(candidate) - edits) / len(word) if edits <= limit else 0.0


def digits(word: str) -> str:
    """The digits of a word in order: what tells one part number from another."""
    return "".join(filter(str.isdigit, word))


def correctable(query: Query) -> list[str]:
    """Latin terms of a question that may be misspelt, in order, each once."""
    shouted = query.text.isupper()
    names = set() if shouted else {m.group().lower() for m in _CAPITALS.finditer(query.text)}
    return [
        term
        for term in dict.fromkeys(query.terms)
        if _LATIN.fullmatch(term)
        and LEAST_LETTERS <= len(term) <= MOST_LETTERS
        and sum(map(str.isalpha, term)) * 2 >= len(term)
        and not (term in names and len(term) < ACRONYM_LETTERS)
    ]


def pairs(query: Query) -> list[str]:
    """All pairs of neighbours in the runs of CJK of a question, each once."""
    runs = (match.group() for match in _RUN.finditer(query.text))
    return list(dict.fromkeys(run[at : at + 2] for run in runs for at in range(len(run) - 1)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Slip:
    """A character of a CJK text that stands with neither neighbour in any known pair.

    `before` and `after` are what stands beside it, two characters where they are a known pair, one where they are
    not, none at an end or beside a stop word.
    """

    character: str
    before: str
    after: str

    @property
    def is_framed(self) -> bool:
        """Whether its neighbours are known or need not be: then one side alone may tell what was meant."""
        return len(self.before) != 1 and len(self.after) != 1


def slips(query: Query, unknown: Iterable[str], tokenizer: Tokenizer) -> list[Slip]:
    """Single characters that are probably wrong, in order. At least one known pair stands beside each."""
    missing = frozenset(unknown)
    return [slip for match in _RUN.finditer(query.text) for slip in _slips_of(match.group(), missing, tokenizer)]


def _slips_of(run: str, missing: frozenset[str], tokenizer: Tokenizer) -> Iterator[Slip]:
    idle = _stop_positions(run, tokenizer)
    for at, character in enumerate(run):
        beside = [place for place in (at - 1, at + 1) if 0 <= place < len(run) and place not in idle]
        around = [run[min(at, place) : max(at, place) + 1] for place in beside]
        if at in idle or not around or not missing.issuperset(around):
            continue
        before = _context(run[max(at - 2, 0) : at], is_idle=at - 1 in idle, missing=missing)
        after = _context(run[at + 1 : at + 3][::-1], is_idle=at + 1 in idle, missing=missing, is_reversed=True)
        if 2 in (len(before), len(after)):
            yield Slip(character=character, before=before, after=after)


def _context(near: str, *, is_idle: bool, missing: frozenset[str], is_reversed: bool = False) -> str:
    """What stands beside a character, given with the nearest one last: a known pair, one character, or nothing."""
    if not near or is_idle:
        return ""
    pair = near[::-1] if is_reversed else near
    return pair if len(near) == 2 and pair not in missing else near[-1]


def topic_text(query: Query, tokenizer: Tokenizer) -> str:
    """A question without its stop words as it would stand in a title, lower case, no spaces between CJK."""
    content = "".join(_kept(match, tokenizer) for match in _ANY.finditer(query.text.lower()))
    return " ".join(content.split())


def _kept(match: re.Match[str], tokenizer: Tokenizer) -> str:
    text = match.group()
    if match.lastgroup == "cjk":
        idle = _stop_positions(text, tokenizer)
        return "".join(" " if at in idle else character for at, character in enumerate(text))
    return " " if text in stop_words() else f" {text} "


def _stop_positions(run: str, tokenizer: Tokenizer) -> frozenset[int]:
    """Where stop words stand in a run; none where its words do not add up to it."""
    words, stop = tokenizer.words(run), stop_words()
    if "".join(words) != run:
        return frozenset()
    positions: set[int] = set()
    place = 0
    for word in words:
        positions.update(range(place, place + len(word)) if word in stop else ())
        place += len(word)
    return frozenset(positions)


def corrected_text(query: Query, tokenizer: Tokenizer, *, passages: Iterable[str] | None = None) -> str:
    """The question with the best correction in place of each misspelt word.

    Corrections are terms of the index, without their endings. With `passages` each of them is written as it stands
    there most often, and a word stays as it was typed where they have none that fits, or where a dictionary knows it.
    """
    best = {wrong: max(right, key=lambda term: right[term]) for wrong, right in query.corrections.items() if right}
    words = None if passages is None else words_as_written(set(best.values()), passages, tokenizer)

    def written(match: re.Match[str]) -> str:
        typed = match.group()
        stems = tokenizer.words(typed)
        if len(stems) != 1 or stems[0] not in best:
            return typed
        if words is None:
            return best[stems[0]]
        return typed if _is_real(typed, tokenizer) else words.get(best[stems[0]], typed)

    text = _LATIN.sub(written, query.text)
    for wrong, right in _cjk(best).items():
        text = text.replace(wrong, right)
    return text


def words_as_written(terms: Set[str], texts: Iterable[str], tokenizer: Tokenizer) -> dict[str, str]:
    """The most frequent word, in lower case, for each Latin term of the index that occurs in the texts."""
    counts: dict[str, Counter[str]] = {}
    for word, count in Counter(match.lower() for text in texts for match in _LATIN.findall(text)).items():
        stems = tokenizer.words(word)
        if len(stems) == 1 and stems[0] in terms:
            counts.setdefault(stems[0], Counter())[word] += count
    return {term: words.most_common(1)[0][0] for term, words in counts.items()}


def _is_real(word: str, tokenizer: Tokenizer) -> bool:
    """Whether the dictionary of the tokenizer, where it has one, knows an English word."""
    glossary = getattr(tokenizer, "glossary", None)
    return glossary is not None and bool(glossary.translations(word.lower()))


def _cjk(best: Mapping[str, str]) -> dict[str, str]:
    """Pairs that were corrected at their second character, or else at their first: the other pair follows by itself."""
    corrections = {wrong: right for wrong, right in best.items() if _RUN.fullmatch(wrong)}
    return dict(sorted(corrections.items(), key=lambda pair: pair[0][0] != pair[1][0]))
