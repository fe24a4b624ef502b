"""All cleaning rules in their order, for a text and for a document (D24, D25)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragcore.cleaning.characters import normalise_characters, remove_invisible
from ragcore.cleaning.contents import drop_contents
from ragcore.cleaning.log_timestamps import strip_log_timestamps
from ragcore.cleaning.mojibake import repair_mojibake
from ragcore.cleaning.whitespace import tidy_code, tidy_whitespace
from ragcore.types import Block, ParsedDocument

MAX_ROUNDS = 10
_VERBATIM = frozenset({"code", "formula"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningOptions:
    """Rules that a set may switch."""

    log_timestamps: bool = False  # strip the time at the beginning of lines
    contents: bool = True  # drop tables of contents


DEFAULT_OPTIONS = CleaningOptions()


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
    blocks = [_cleaned(block, options) for block in document.blocks]
    kept = [block for block in blocks if block.text.strip()]
    if options.contents:
        kept = list(drop_contents(kept))
    return replace(document, blocks=tuple(kept), title=_one_line(document.title))


def _cleaned(block: Block, options: CleaningOptions) -> Block:
    if block.kind in _VERBATIM:
        return replace(block, text=tidy_code(remove_invisible(block.text)))
    text = strip_log_timestamps(block.text) if options.log_timestamps else block.text
    text = normalise_text(text)
    return replace(block, text=" ".join(text.split()) if block.kind == "heading" else text)


def _one_line(text: str) -> str:
    return " ".join(normalise_text(text).split())
