"""What the text around a picture says about it (D26)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragcore.chunking.captions import caption_kind
from ragcore.extractive.marks import plain_text
from ragcore.text.sentences import split_sentences
from ragcore.types import Block

_IMAGE = re.compile(r"!\[(?P<alt>[^\]]*)\]\((?P<target>[^)\s]*)[^)]*\)")
_FILE_NAME = re.compile(r"[\w .()-]+\.(?:png|jpe?g|gif|bmp|webp|svg|tiff?|emf|wmf)", re.IGNORECASE)
# What programs write where nobody described the picture
_MEANINGLESS = re.compile(r"(?:image|img|picture|photo|figure|graphic|图片|图像|圖片|插图)?[\s_-]*\d*", re.IGNORECASE)
_TEXT = frozenset({"paragraph", "list"})


def image_captions(blocks: Sequence[Block]) -> list[str]:
    """One caption for each image block about which the text says something.

    Lines: its own description, the line "Figure 2 …" or "图 2 …" beside it, text read from it, and the sentences
    right before and after.
    """
    found = (_caption(blocks, index) for index, block in enumerate(blocks) if block.kind == "image")
    return [caption for caption in found if caption]


def _caption(blocks: Sequence[Block], index: int) -> str:
    lines = [_description(blocks[index].text), _figure_line(blocks, index), _recognised(blocks[index].text)]
    lines += [_sentence(blocks, index, step=-1), _sentence(blocks, index, step=+1)]
    return "\n".join(dict.fromkeys(line for line in lines if line))


def _description(text: str) -> str:
    found = _IMAGE.search(text)
    alt = " ".join(found["alt"].split()) if found else ""
    return "" if _FILE_NAME.fullmatch(alt) or _MEANINGLESS.fullmatch(alt) else alt


def _recognised(text: str) -> str:
    """What character recognition wrote into the block, below the link."""
    return " ".join(_IMAGE.sub(" ", text).split())


def _figure_line(blocks: Sequence[Block], index: int) -> str:
    """The figure's caption: below it if there is one, else above."""
    for beside in (index + 1, index - 1):
        if 0 <= beside < len(blocks) and _is_figure_line(blocks[beside]):
            return plain_text(blocks[beside].text)
    return ""


def _sentence(blocks: Sequence[Block], index: int, *, step: int) -> str:
    """The nearest sentence on one side; other pictures and captions are passed over, a heading ends the search."""
    at = index + step
    while 0 <= at < len(blocks) and blocks[at].kind != "heading":
        if blocks[at].kind in _TEXT and not _is_figure_line(blocks[at]):
            sentences = [plain for raw in split_sentences(blocks[at].text) if (plain := plain_text(raw))]
            return sentences[0 if step > 0 else -1] if sentences else ""
        if blocks[at].kind not in _TEXT and blocks[at].kind != "image":
            return ""
        at += step
    return ""


def _is_figure_line(block: Block) -> bool:
    return block.kind == "paragraph" and caption_kind(block.text) == "figure"
