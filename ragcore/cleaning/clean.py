"""All cleaning rules in their order, for a text and for a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ragcore.cleaning.rules import (
    drop_contents,
    drop_cover,
    drop_side_notes,
    normalise_characters,
    remove_invisible,
    repair_mojibake,
    strip_log_timestamps,
    tidy_code,
    tidy_whitespace,
)
from ragcore.options import CleaningOptions
from ragcore.types import Block, ParsedDocument

MAX_ROUNDS = 10
_VERBATIM = frozenset({"code", "formula"})

DEFAULT_OPTIONS = CleaningOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningResult:
    """A clean document, and how many blocks each rule changed or removed.

    Rules, only those above 0: "mojibake", "invisible", "timestamps", "empty", "side_notes", "covers", "contents".
    """

    document: ParsedDocument
    counts: Mapping[str, int]


def normalise_text(text: str) -> str:
    """Readable text: plain letters and digits, Chinese punctuation kept, nothing invisible, tidy white space.

    Idempotent: one rule may uncover work for another (text garbled twice), so they run until nothing changes.
    """
    for _ in range(MAX_ROUNDS):
        before = text
        text = tidy_whitespace(normalise_characters(remove_invisible(repair_mojibake(text))))
        if text == before:
            break
    return text


def clean(document: ParsedDocument, *, options: CleaningOptions = DEFAULT_OPTIONS) -> ParsedDocument:
    """The document with clean blocks; code and formulas keep their characters and white space.

    May leave no block at all, when there was nothing but a table of contents or invisible characters.
    """
    return clean_with_counts(document, options=options).document


def clean_with_counts(document: ParsedDocument, *, options: CleaningOptions = DEFAULT_OPTIONS) -> CleaningResult:
    """What `clean` does, with counts of it."""
    counts: Counter[str] = Counter()
    blocks = _without_empty([_clean_block(block, options, counts) for block in document.blocks])
    counts["empty"] = len(document.blocks) - len(blocks)
    rules = (
        ("side_notes", options.side_notes, drop_side_notes),
        ("covers", options.covers, drop_cover),
        ("contents", options.contents, drop_contents),
    )
    for name, is_on, drop in rules:
        if is_on:
            before, blocks = blocks, list(drop(blocks))
            counts[name] = sum((Counter(before) - Counter(blocks)).values())  # gone, or shortened
    cleaned = replace(document, blocks=tuple(blocks), title=_one_line(document.title))
    return CleaningResult(document=cleaned, counts={name: count for name, count in counts.items() if count})


def _without_empty(blocks: Iterable[Block]) -> list[Block]:
    return [block for block in blocks if block.text.strip()]


def _clean_block(block: Block, options: CleaningOptions, counts: Counter[str]) -> Block:
    visible = remove_invisible(block.text)
    counts["invisible"] += len(visible) < len(block.text.replace("\r\n", "\n"))
    if block.kind in _VERBATIM:
        return replace(block, text=tidy_code(visible))
    counts["mojibake"] += repair_mojibake(block.text) != block.text
    text = block.text
    if options.log_timestamps:
        text = strip_log_timestamps(text)
        counts["timestamps"] += text != block.text
    text = normalise_text(text)
    return replace(block, text=" ".join(text.split()) if block.kind == "heading" else text)


def _one_line(text: str) -> str:
    return " ".join(normalise_text(text).split())
