"""Source files: a section for each definition under the path of its symbol, its lines as code."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from ragcore.errors import ResourceLimitError
from ragcore.labels import gettext_noop as _
from ragcore.parsing.charset import decode
from ragcore.parsing.code.definitions import find_definitions
from ragcore.parsing.code.grammars import GRAMMARS, load_language
from ragcore.parsing.code.introduction import Introduction, read_introduction
from ragcore.parsing.code.segments import Segment, cut_segments
from ragcore.parsing.parser_errors import build_document, coded_errors, require_content
from ragcore.text.source_code import fence_source, symbol_heading
from ragcore.types import Block, ParsedDocument

MAX_BYTES = 2 * 1024 * 1024
MAX_LINE = 5_000  # characters; longer ones are written by programs, for programs
MAX_LEVEL = 6
# code that is cut at blank lines: no grammar is at hand -> its name in Markdown
PLAIN = {
    **dict.fromkeys((".yaml", ".yml"), "yaml"),
    **dict.fromkeys((".ini", ".cfg", ".conf", ".properties"), "ini"),
    **dict.fromkeys((".asn1", ".asn"), "asn1"),
    **dict.fromkeys((".kt", ".kts"), "kotlin"),
    ".sql": "sql",
    ".toml": "toml",
    ".proto": "protobuf",
    ".m": "matlab",
    ".r": "r",
    ".pl": "perl",
    ".lua": "lua",
    ".swift": "swift",
    ".cs": "csharp",
    ".rb": "ruby",
    ".php": "php",
    ".scala": "scala",
}
# first line `#!/usr/bin/env python3` -> the ending whose grammar is right, whatever the file is called
_SHEBANGS = {"python": ".py", "node": ".js", "bash": ".sh", "sh": ".sh"}


class CodeParser:
    """Each line of the file stands in one block, in order; leading comments are paragraphs, without their marks."""

    formats = (
        ".py",
        ".pyi",
        ".c",
        ".h",
        ".hpp",
        ".hh",
        ".cpp",
        ".cc",
        ".cxx",
        ".java",
        ".go",
        ".js",
        ".mjs",
        ".cjs",
        ".jsx",
        ".ts",
        ".tsx",
        ".rs",
        ".sh",
        ".yaml",
        ".yml",
        ".ini",
        ".cfg",
        ".conf",
        ".properties",
        ".asn1",
        ".asn",
        ".kt",
        ".kts",
        ".sql",
        ".toml",
        ".proto",
        ".m",
        ".r",
        ".pl",
        ".lua",
        ".swift",
        ".cs",
        ".rb",
        ".php",
        ".scala",
    )
    label = _("source code")

    def parse(self, content: bytes, *, name: str) -> ParsedDocument:
        """Faulty syntax fails nothing. Metadata `language` is what Markdown calls it.

        Raises EmptyDocumentError, CorruptDocumentError (binary content), ResourceLimitError for more than MAX_BYTES
        and for lines of more than MAX_LINE characters: minified and generated files.
        """
        require_content(content, name=name)
        if len(content) > MAX_BYTES:
            raise ResourceLimitError("large_source", name=name, limit=f"{MAX_BYTES} bytes")
        with coded_errors(name):
            lines = decode(content).replace("\r\n", "\n").replace("\r", "\n").split("\n")
            if max(map(len, lines)) > MAX_LINE:
                raise ResourceLimitError("minified_source", name=name, limit=f"{MAX_LINE} characters a line")
            language, blocks = _blocks(lines, _ending(name, lines[0]))
            return build_document(blocks, name=name, title=PurePath(name).name, metadata={"source_language": language})


def _ending(name: str, first_line: str) -> str:
    """The ending by which the grammar is chosen: what the file is to be run with goes before what it is called."""
    if first_line.startswith("#!"):
        program = PurePath(first_line.split()[-1]).name.rstrip("0123456789.")
        return _SHEBANGS.get(program, PurePath(name).suffix.lower())
    return PurePath(name).suffix.lower()


def _blocks(lines: list[str], ending: str) -> tuple[str, Iterator[Block]]:
    if ending not in GRAMMARS:
        language = PLAIN[ending]
        return language, iter([_code(lines, 0, len(lines) - 1, language)])
    import tree_sitter

    language, grammar = GRAMMARS[ending]
    tree = tree_sitter.Parser(load_language(grammar)).parse("\n".join(lines).encode(errors="replace"))
    definitions = find_definitions(tree.root_node, grammar)
    first_row = definitions[0].first if definitions else len(lines)
    introduction = read_introduction(tree.root_node, lines, before=first_row)
    segments = cut_segments(lines, definitions)
    return language, _section_blocks(lines, segments, introduction, language)


def _section_blocks(
    lines: list[str], segments: list[Segment], introduction: list[Introduction], language: str
) -> Iterator[Block]:
    for segment in segments:
        if segment.name:
            level = min(segment.depth + 1, MAX_LEVEL)
            yield Block(kind="heading", text=symbol_heading(segment.name), level=level)
        row = segment.first
        for part in introduction:
            if not segment.first <= part.first <= part.last <= segment.last or part.first < row:
                continue
            if row < part.first:
                yield _code(lines, row, part.first - 1, language)
            yield from (Block(kind="paragraph", text=text) for text in part.paragraphs)
            row = part.last + 1
        if row <= segment.last:
            yield _code(lines, row, segment.last, language)


def _code(lines: list[str], first: int, last: int, language: str) -> Block:
    """Rows as a block; without text where they are blank, so that none is made of them."""
    while first < last and not lines[first].strip():
        first += 1
    while last > first and not lines[last].strip():
        last -= 1
    code = "\n".join(lines[first : last + 1])
    text = fence_source(code, language=language, first=first + 1, last=last + 1) if code.strip() else ""
    return Block(kind="code", text=text)
