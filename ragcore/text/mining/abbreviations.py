"""Abbreviations with their long forms: in brackets, in glossaries and tables, and where a sentence says so."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ragcore.text.mining.pairs import (
    HAS_CJK,
    HAS_LATIN,
    MOST_CHARACTERS,
    MOST_LONG_WORDS,
    NamePair,
    brackets,
    is_abbreviation,
    letters_fit,
    long_form_in,
    quote_at,
    table_rows,
)
from ragcore.text.scripts import CJK

RUN = 3  # lines of a glossary that stand together, at least
FITTING = 0.5  # share of the lines of a glossary whose letters fit
_SHORT = r"([A-Za-z0-9][\w./&+\-]{1,11})"
_ENTRY = re.compile(rf"^[\s*\-•]*+{_SHORT}\**+(\t+|\s{{2,}}|\s*[:：=–—]\s*|\s+-\s+)(\S.{{1,{MOST_CHARACTERS}}})$")
_DOCUMENT_NUMBER = re.compile(r"(?<![A-Z])[A-Z]{1,12}+-?\d+")  # of specifications: TS38
_SPACED = re.compile(rf"^[\s*\-•]*+{_SHORT} (\S.{{1,{MOST_CHARACTERS}}})$")
_SAYS = re.compile(
    rf"\b{_SHORT}(?:,| \()?\s*"
    r"(?:stands for|is short for|is an? (?:abbreviation|acronym) (?:of|for)|abbreviates|means)\s+"
    r"[\"“']?([A-Za-z][^.;,\"”()\n]{2,100})"
)
_SAYS_ZH = re.compile(
    rf"{_SHORT}\s*(?:是|为|即|全称(?:是|为)?)\s*[“\"]?([A-Za-z][A-Za-z \-/]{{4,80}})[”\"]?(?:的(?:缩写|简称))?"
)
_CALLED_ZH = re.compile(
    rf"([{CJK}]{{2,20}})[，,（(]\s*(?:以下|下文)?(?:简称|缩写为?|英文缩写为?)[为是]?\s*[“\"]?([A-Za-z0-9\-]{{2,12}})"
)


def find_abbreviations(text: str) -> list[NamePair]:
    """Abbreviations that a text defines, in the order of their patterns; the same pair may come twice."""
    return [*_in_brackets(text), *_in_lines(text), *_in_tables(text), *_said(text)]


# ── brackets ────────────────────────────────────────────────────────────────────────────────────


def _in_brackets(text: str) -> Iterator[NamePair]:
    for before, inside, at in brackets(text):
        quote = quote_at(text, at)
        parts = [part.strip() for part in re.split(r"[,，;；、/]|\bor\b", inside) if part.strip()]
        shorts = [part for part in parts if is_abbreviation(part)]
        longs = [part for part in parts if not is_abbreviation(part) and HAS_LATIN.search(part)]
        for short in shorts[:1]:
            yield from _pairs_of(short, before, longs, quote)
        last = before.split()[-1] if before.split() else ""
        short = re.split(rf"[{CJK}]", last)[-1].strip("\"'“”‘’*")
        if not shorts and is_abbreviation(short):  # CA (carrier aggregation)
            for long_form in longs[:1]:
                if (
                    letters_fit(short, long_form)
                    and len(long_form.split()) <= MOST_LONG_WORDS
                    and len(long_form) > len(short)
                ):
                    yield NamePair(first=short, second=long_form, kind="abbreviation", how="bracket", quote=quote)


def _pairs_of(short: str, before: str, longs: Sequence[str], quote: str) -> Iterator[NamePair]:
    for long_form in longs:  # 载波聚合（Carrier Aggregation，CA）
        if letters_fit(short, long_form) and len(long_form) > len(short):
            yield NamePair(first=short, second=long_form, kind="abbreviation", how="bracket", quote=quote)
            return
    tail = re.split(rf"[{CJK}，。；：:;]", before)[-1]
    if tail.strip() and not HAS_CJK.search(before[-1:]) and (long_form := long_form_in(short, tail)):
        yield NamePair(first=short, second=long_form, kind="abbreviation", how="bracket", quote=quote)


# ── glossaries ──────────────────────────────────────────────────────────────────────────────────


def _in_lines(text: str) -> Iterator[NamePair]:
    """Runs of lines that begin with a short form; a single line counts where its letters fit and a tab separates."""
    run: list[tuple[str, str, str, bool]] = []
    for line in [*text.splitlines(), "", "x " * 40]:
        if not line.strip() or re.fullmatch(r"#+ .{1,3}", line.strip()):  # headings A, B, C of a glossary
            continue
        entry = _entry_of(line)
        if entry is not None:
            run.append(entry)
            continue
        yield from _run_pairs(run)
        run = []


def _listed(line: str) -> tuple[str, str, str, bool] | None:
    """A line of a glossary whose names stand between commas: short form, English and perhaps Chinese."""
    fields = [field.strip() for field in re.split(r"[,，;；]", line.strip(" \t*-•"))]
    if not 2 <= len(fields) <= 3 or HAS_CJK.search(fields[0] + fields[1]) or len(fields[0].split()) > 2:
        return None
    short, long_form = fields[0], _clean(fields[1])
    is_short = is_abbreviation(short.replace(" ", "")) or _may_be_short(short)
    is_brief = len(long_form.split()) <= MOST_LONG_WORDS
    is_good = is_short and is_brief and len(long_form) > len(short) and letters_fit(short.replace(" ", ""), long_form)
    return (
        (short, long_form, line.strip(), False) if is_good and (len(fields) == 2 or HAS_CJK.search(fields[2])) else None
    )


def _entry_of(line: str) -> tuple[str, str, str, bool] | None:
    """Short form, long form, line, whether something separates them."""
    if listed := _listed(line):
        return listed
    for pattern, is_separated in ((_ENTRY, True), (_SPACED, False)):
        match = pattern.match(line.strip("|").rstrip())
        if match is None:
            continue
        short, rest = match.group(1), match.group(match.lastindex or 2)
        long_form = _clean(rest.split("|")[0])  # of a row of a table the next cell alone
        if not _may_be_short(short) or not long_form or len(long_form.split()) > MOST_LONG_WORDS:
            continue
        if HAS_CJK.search(long_form) and "," in long_form:
            continue  # names in two languages
        if is_separated or letters_fit(short, long_form):
            return short, long_form, line.strip(), is_separated
    return None


def _may_be_short(text: str) -> bool:
    """In a glossary also kByte and bps are short forms."""
    return is_abbreviation(text) or (len(text) <= 8 and any(c.isupper() for c in text[1:]) and text.isascii())


def _run_pairs(run: Sequence[tuple[str, str, str, bool]]) -> Iterator[NamePair]:
    fitting = sum(letters_fit(short, long_form) for short, long_form, _, _ in run)
    is_glossary = len(run) >= RUN and fitting >= FITTING * len(run)
    for short, long_form, line, is_separated in run:
        fits = letters_fit(short, long_form)
        if (is_glossary and (fits or is_separated)) or (fits and is_separated):
            yield NamePair(first=short, second=long_form, kind="abbreviation", how="glossary", quote=line[:160])


def _clean(text: str) -> str:
    """A long form without what follows it: notes in brackets at the end, references, a full stop."""
    plain = re.sub(r"\s{0,9}(?:\[[^\[\]]*\]|\((?:see|cf)[^()]*\))\s*$", "", text.strip(" \t*|"))
    return " ".join(plain.split()).rstrip(" .;,")


def _in_tables(text: str) -> Iterator[NamePair]:
    for rows in table_rows(text):
        for first, second in _columns(rows):
            pairs = [(row[first], _clean(row[second])) for row in rows if len(row) > max(first, second)]
            good = [(short, long) for short, long in pairs if _may_be_short(short) and letters_fit(short, long)]
            if len(good) >= max(1, FITTING * len([1 for short, _ in pairs if _may_be_short(short)])):
                for short, long in good:
                    if len(long.split()) <= MOST_LONG_WORDS and len(long) > len(short):
                        yield NamePair(
                            first=short, second=long, kind="abbreviation", how="table", quote=f"{short} | {long}"[:160]
                        )


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[tuple[int, int]]:
    """Columns beside each other, of which the first has short forms in most of its rows."""
    width = max(len(row) for row in rows)
    for at in range(width - 1):
        shorts = [_may_be_short(row[at]) for row in rows[1:] if len(row) > at and row[at]]
        if shorts and sum(shorts) * 2 > len(shorts):
            yield at, at + 1


# ── sentences ───────────────────────────────────────────────────────────────────────────────────


def _said(text: str) -> Iterator[NamePair]:
    for match in _SAYS.finditer(text):
        short, rest = match.groups()
        if is_abbreviation(short) and (long_form := _fitting_start(short, rest)):
            yield NamePair(
                first=short, second=long_form, kind="abbreviation", how="sentence", quote=quote_at(text, match.start())
            )
    for match in _SAYS_ZH.finditer(text):
        short, rest = match.groups()
        if is_abbreviation(short) and (long_form := _fitting_start(short, rest)):
            yield NamePair(
                first=short, second=long_form, kind="abbreviation", how="sentence", quote=quote_at(text, match.start())
            )
    for match in _CALLED_ZH.finditer(text):
        name, short = match.groups()
        if is_abbreviation(short):
            yield NamePair(
                first=short,
                second=re.split("[的了在与和及是将对]", name)[-1] or name,
                kind="abbreviation",
                how="sentence",
                quote=quote_at(text, match.start()),
            )


def _fitting_start(short: str, text: str) -> str:
    """The first words of a text that have all letters of a short form, each word from the last letter's on cut off."""
    words = re.sub(r"^(?:the|an?)\s+", "", text.strip(), flags=re.I).split()
    for count in range(1, min(len(words), MOST_LONG_WORDS) + 1):
        candidate = " ".join(words[:count])
        if len(candidate) > len(short) and _initials_fit(short, candidate):
            return candidate
    return ""


def _initials_fit(short: str, long_form: str) -> bool:
    letters = "".join(c.lower() for c in short if c.isalpha())
    initials = "".join(word[0].lower() for word in re.split(r"[\s\-/]+", long_form) if word)
    return initials == letters or (
        letters_fit(short, long_form) and initials.startswith(letters[:1]) and letters[-1] in initials[-1:]
    )


# ── many texts ──────────────────────────────────────────────────────────────────────────────────


def merged_abbreviations(pairs: Iterable[NamePair]) -> list[tuple[NamePair, int]]:
    """Each pair once, whatever its case and hyphens, with how often it was found; most frequent first.

    A long form that is part of another one of the same short form counts for the one that was found more often.
    """
    counts: Counter[tuple[str, str]] = Counter()
    best: dict[tuple[str, str], NamePair] = {}
    for pair in map(singular, pairs):
        if not re.search(rf"[A-Za-z]{{3}}|[{CJK}]{{2}}", _DOCUMENT_NUMBER.sub("", pair.second)):
            continue  # numbers of documents
        if re.search("[，。、；]", pair.second) or pair.second.count("(") != pair.second.count(")"):
            continue  # not a name, or half of one
        key = (pair.first.lower(), _plain(pair.second))
        counts[key] += 1
        if key not in best or _rank(pair) > _rank(best[key]):
            best[key] = pair
    by_short: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key in counts:
        by_short[key[0]].append(key)
    for keys in by_short.values():
        for key in keys:
            for other in keys:
                if (
                    key != other
                    and key in best
                    and other in best
                    and key[1] in other[1]
                    and counts[key] < counts[other]
                ):
                    counts[other] += counts.pop(key)
                    best.pop(key)
    return [(best[key], count) for key, count in counts.most_common()]


def singular(pair: NamePair) -> NamePair:
    """SDUs, service data units: one of them."""
    short, long_form = pair.first, pair.second
    if short.endswith("s") and short[:-1].isupper() and len(short) > 2 and long_form.endswith("s"):
        long_singular = f"{long_form[:-3]}y" if long_form.endswith("ies") else long_form[:-1]
        return replace(pair, first=short[:-1], second=long_singular)
    return pair


def _plain(text: str) -> str:
    return re.sub(r"[\s\-/]+", " ", text.lower()).rstrip("s")


def _rank(pair: NamePair) -> int:
    return {"glossary": 3, "table": 3, "bracket": 2, "sentence": 1}.get(pair.how, 0)
