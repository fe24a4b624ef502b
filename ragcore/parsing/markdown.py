"""Markdown: blocks as their author wrote them, cut along the token tree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_block_dollar
from mdit_py_plugins.front_matter import front_matter_plugin

from ragcore.labels import gettext_noop as _
from ragcore.parsing.charset import decode
from ragcore.parsing.html.pictures import WebPictureCollector
from ragcore.parsing.inline_marks import without_inline_marks
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.text.code_blocks import fence_code
from ragcore.types import Block, BlockKind, ParsedDocument

_KINDS: dict[str, BlockKind] = {
    "heading_open": "heading",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "table_open": "table",
    "fence": "code",
    "code_block": "code",
    "math_block": "formula",
    "math_block_label": "formula",
}
_LONE_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
# the look behind lets a run of blanks be tried once, not from each of its characters
_PAGE_BREAK = re.compile(r"(?<![ \t])[ \t]*<page[_-]?(?:div|break)\s*/?>[ \t]*", re.IGNORECASE)  # left by converters
_DATA_IMAGE = re.compile(
    r"!\[(?P<alt>[^\[\]\n]{0,1000})\]\(\s*<?(?P<data>data:image/[^)>\s!]+)>?(?:\s+\"[^\"\n]{0,1000}\")?\s*\)"
)
_DATA = re.compile(r"^ {0,3}\[(?P<name>[^\]\n]{1,500})\]:[ \t]*<?(?P<data>data:image/[^>\s]+)>?.*$", re.MULTILINE)
_REFERENCE = re.compile(r"!\[(?P<alt>[^\[\]\n]{0,1000})\]\[(?P<name>[^\[\]\n]{1,500})\]")
_FORMULA_CLOSED = re.compile(r"\$\$(?:\s*\([^)$\r\n]*\))?$")
_FRONT_MATTER_ENTRY = re.compile(r"^([A-Za-z_][\w-]*):[ \t]+(\S.*)$", re.MULTILINE)

_formula = math_block_dollar(allow_blank_lines=True)
_FORMULA_END = "last line that ends a formula"


class MarkdownParser:
    """The source text of each top-level block, so that nothing is lost by rendering it again."""

    formats = (".md", ".markdown", ".mdx")
    media_types = {"text/markdown": ".md", "text/x-markdown": ".md"}
    label = _("Markdown")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Raises EmptyDocumentError, or CorruptDocumentError for binary content."""
        require_content(content, name=name)
        with coded_errors(name):
            collector = WebPictureCollector()
            text = _PAGE_BREAK.sub("\n\n", decode(content).replace("\r\n", "\n").replace("\r", "\n"))
            text = _without_data(text, collector)
            tokens = _reader().parse(text)
            metadata = _front_matter(tokens)
            blocks = list(_blocks(tokens, text.split("\n"), collector))
            title = metadata.get("title") or _first_heading(blocks)
            pictures = collector.pictures if blocks else ()
            return build_document(blocks, name=name, title=title, metadata=metadata, pictures=pictures)


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark").enable("table").use(front_matter_plugin)
    reader.use(dollarmath_plugin, allow_space=True, double_inline=False)
    reader.block.ruler.at("math_block", _formula_with_end, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return reader.disable(["inline", "text_join"])  # blocks keep their source: what stands inside a line is not needed


def _formula_with_end(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The rule of the plugin, only where an end can follow: it reads the rest of the text for each `$$` without one."""
    if _FORMULA_END not in state.env:
        state.env[_FORMULA_END] = _last_formula_end(state.src)
    return bool(start <= state.env[_FORMULA_END] and _formula(state, start, end, silent))


def _last_formula_end(text: str) -> int:
    """The number of the last line that ends with `$$`, or with `$$ (label)`; -1: none does."""
    ends = (number for number, line in enumerate(text.split("\n")) if _FORMULA_CLOSED.search(line.rstrip()))
    return max(ends, default=-1)


def _without_data(text: str, collector: WebPictureCollector) -> str:
    """Pictures that the text carries itself, as `data:` addresses in place or in a definition below, taken out."""
    if "data:image/" not in text:
        return text
    text = _DATA_IMAGE.sub(lambda match: _shown(match["alt"], collector.target(match["data"], match["alt"])), text)
    defined = {match["name"].lower(): collector.target(match["data"], match["name"]) for match in _DATA.finditer(text)}
    text = _DATA.sub("", text)
    return _REFERENCE.sub(
        lambda match: (
            _shown(match["alt"], defined[match["name"].lower()]) if match["name"].lower() in defined else match[0]
        ),
        text,
    )


def _shown(alt: str, target: str) -> str:
    return f"![{alt}]({target})" if target else alt


def _blocks(tokens: Sequence[Token], lines: Sequence[str], collector: WebPictureCollector) -> Iterator[Block]:
    """Blocks in order. Lines that no token covers (link definitions) stay, as paragraphs."""
    covered = 0
    for index, token in enumerate(tokens):
        if token.level or token.nesting == -1 or token.map is None:
            continue
        start, end = token.map
        yield from _uncovered(lines[covered:start])
        covered = max(covered, end)
        if token.type in ("front_matter", "hr"):
            continue
        if token.type == "html_block":
            yield from _html(_source(lines, start, end), collector)
        elif token.type == "heading_open":
            yield Block(kind="heading", text=without_inline_marks(tokens[index + 1].content), level=int(token.tag[1]))
        else:
            source, kind = _source(lines, start, end), _KINDS.get(token.type)
            if token.type == "code_block":  # indented: in a fence nobody takes its lines for text
                source = fence_code(token.content.strip("\n"))
            source = source if kind in ("code", "formula") else without_inline_marks(source)
            yield Block(kind=kind or _paragraph_kind(source), text=source)
    yield from _uncovered(lines[covered:])


def _source(lines: Sequence[str], start: int, end: int) -> str:
    return "\n".join(lines[start:end]).strip("\n").rstrip()


def _uncovered(lines: Sequence[str]) -> Iterator[Block]:
    if text := "\n".join(lines).strip():
        yield Block(kind="paragraph", text=text)


def _paragraph_kind(source: str) -> BlockKind:
    return "image" if _LONE_IMAGE.fullmatch(source.strip()) else "paragraph"


def _html(source: str, collector: WebPictureCollector) -> Iterator[Block]:
    """HTML inside Markdown (converters write tables so) is read like an HTML page."""
    from ragcore.parsing.html.parser import html_blocks  # beautifulsoup and lxml only where a file needs them

    yield from html_blocks(source, collector)


def _front_matter(tokens: Sequence[Token]) -> dict[str, str]:
    """The plain `key: value` lines of the YAML head; nested values are left out."""
    head = next((token.content for token in tokens if token.type == "front_matter"), "")
    return {key.lower(): value.strip().strip("\"'") for key, value in _FRONT_MATTER_ENTRY.findall(head)}


def _first_heading(blocks: Sequence[Block]) -> str:
    return next((block.text for block in blocks if block.kind == "heading" and block.level == 1), "")
