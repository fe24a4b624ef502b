"""What is found in a document, against the glossary that the document has itself. Without a database."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from ragcore.parsing import parse
from ragcore.text.mining.abbreviations import find_abbreviations, merged_abbreviations
from ragcore.text.mining.bilingual import find_translations, merged_translations
from ragcore.text.mining.candidates import mine_terms, term_words
from ragcore.text.mining.classifier import phrase_scores
from ragcore.text.mining.phrases import Phrase, phrases_of
from ragcore.text.tokenise import JiebaTokenizer

FIRST = 200  # terms of which the precision is told
_SECTION = re.compile(r"^# .*$", re.M)
_DEFINED = re.compile(r"^\**([^:\n]{2,80}?)\**:\**\s", re.M)
BILINGUAL = Path(__file__).with_name("bilingual.md")


def read_document(path: Path) -> str:
    """A document as Markdown, as the product parses it."""
    parsed = parse(path.read_bytes(), name=path.name)
    return "\n\n".join(block.markdown() for block in parsed.blocks)


def measure_document(text: str) -> dict[str, Any]:
    """Share of the glossary's abbreviations that were found with their long form; precision of the first terms.

    Terms count as right that the glossary defines or that are a long form of it. `phrases`: only of those that were
    found by their statistics; `unlearnt`: without having learnt from the names that the document defines.
    """
    tokenizer = JiebaTokenizer()
    gold = _abbreviations(text)
    found: dict[str, set[str]] = {}
    for pair, _count in merged_abbreviations(find_abbreviations(text)):
        found.setdefault(pair.first, set()).add(_plain(pair.second))
    right = [short for short, longs in gold.items() if {_plain(one) for one in longs} & found.get(short, set())]
    names = {_plain(one) for longs in gold.values() for one in longs} | {_plain(one) for one in gold}
    names |= {_plain(name) for name in _defined(text)}
    keys = {" ".join(tokenizer.words(name)) for name in names}
    candidates = mine_terms([text], tokenizer)
    phrases = phrases_of([text], tokenizer)
    defined = {term_words(one.long_form or one.text, tokenizer) for one in candidates if one.how != "phrase"}
    learnt = phrase_scores(phrases, positives=defined)
    usual = phrase_scores(phrases, positives=())
    pairs = [one for one in candidates if one.how != "phrase"]

    def precision(some: list[str]) -> float | None:
        return round(sum(" ".join(tokenizer.words(_plain(t))) in keys for t in some) / len(some), 4) if some else None

    return {
        "abbreviations": len(gold),
        "abbreviations_found": round(len(right) / len(gold), 4) if gold else None,
        "terms_precision_at_200": precision([one.long_form or one.text for one in candidates[:FIRST]]),
        "phrases_precision_at_200": precision(_best(phrases, learnt)),
        "phrases_unlearnt_precision_at_200": precision(_best(phrases, usual)),
        "phrases": len(phrases),
        "pairs": len(pairs),
    }


def _best(phrases: list[Phrase], scores: list[float]) -> list[str]:
    ranked = sorted(zip(scores, phrases, strict=True), key=lambda pair: -pair[0])
    return [phrase.text for _score, phrase in ranked[:FIRST]]


def _abbreviations(text: str) -> dict[str, set[str]]:
    """The lines with a tab in sections about abbreviations."""
    gold: dict[str, set[str]] = {}
    for title, body in _sections(text):
        if re.search(r"abbreviation|acronym|缩略语|缩写", title, re.I):
            for line in body.splitlines():
                short, tab, long_form = line.partition("\t")
                if tab and short.strip():
                    gold.setdefault(short.strip(), set()).add(" ".join(long_form.split()))
    return gold


def _defined(text: str) -> set[str]:
    """Names before a colon in sections about terms."""
    names: set[str] = set()
    for title, body in _sections(text):
        if re.search(r"\bterms\b|definition|术语", title, re.I):
            for match in _DEFINED.finditer(body):
                names |= {match.group(1), re.sub(r"\s*\(.*\)", "", match.group(1))}
    return names


def _sections(text: str) -> list[tuple[str, str]]:
    heads = list(_SECTION.finditer(text))
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return [(head.group(), text[head.end() : end]) for head, end in zip(heads, ends, strict=True)]


def _plain(text: str) -> str:
    return re.sub(r"\W+", " ", text.lower()).strip()


def measure_bilingual() -> dict[str, Any]:
    """Precision and recall of name pairs in the bilingual document beside this module, whose pairs are listed in it."""
    text = BILINGUAL.read_text(encoding="utf-8")
    body, _mark, listed = text.partition("<!-- pairs")
    gold = {tuple(_plain(side) for side in line.split("=")) for line in listed.splitlines() if "=" in line}
    pairs = merged_translations(find_translations(body, cut=JiebaTokenizer().words))
    found = {(_plain(pair.first), _plain(pair.second)) for pair, _count in pairs}
    return {
        "pairs": len(gold),
        "precision": round(len(found & gold) / len(found), 4) if found else None,
        "recall": round(len(found & gold) / len(gold), 4) if gold else None,
        "wrong": sorted(" = ".join(pair) for pair in found - gold)[:10],
    }


def glossary_rows() -> list[tuple[str, str]]:
    """Chinese and English names of one thing, of the word list that comes with the product."""
    lines = (files("ragcore.understanding") / "lexicon.txt").read_text(encoding="utf-8").splitlines()
    rows = []
    for line in lines:
        names = [name.strip() for name in line.split("|")]
        chinese = [name for name in names if not name.isascii()]
        english = [name for name in names if name.isascii() and " " in name]
        if not line.startswith("#") and chinese and english:
            rows.append((chinese[0], english[0]))
    return rows
