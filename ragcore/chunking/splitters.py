"""Documents to chunks along the heading tree, to one chunk, or to windows.

A section with subsections is one chunk if it is short, otherwise an outline chunk (kind "section") and its parts. A
section without subsections is cut into pieces at sentence and paragraph borders. Small neighbours under one heading
share a chunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ragcore.chunking.atoms import Atomiser
from ragcore.chunking.packing import SEPARATOR_TOKENS, Packer, Piece
from ragcore.chunking.sections import SUMMARY_TOKENS, Section, outline_section, section_tree, walk_sections
from ragcore.chunking.source_code import cut_source, has_source
from ragcore.options import ChunkingOptions
from ragcore.ports import TokenCounter
from ragcore.types import Block, ChunkDraft, ParsedDocument


@dataclass(frozen=True, slots=True)
class HeadingTreeSplitter:
    """Implements ports.ChunkSplitter. `options` are sizes in tokens of `counter`."""

    options: ChunkingOptions
    counter: TokenCounter

    def split(self, document: ParsedDocument) -> list[ChunkDraft]:
        """Chunks in reading order; those of kind "body" together hold the whole text.

        A body chunk has at most `max_tokens`, except a short section with subsections (`section_tokens`) and
        code, formulas and table rows that are longer by themselves: these stay whole up to four times `max_tokens`,
        beyond it code is cut between its lines, and a single row or line wherever it must be.
        """
        blocks = cut_source(
            [block for block in document.blocks if block.text.strip()], self.counter, self.options.max_tokens
        )
        return _DocumentSplit(self.options, self.counter, blocks).drafts() if blocks else []


@dataclass(slots=True)
class _Unit:
    """Neighbouring blocks that may share a chunk with others."""

    start: int
    end: int
    path: tuple[str, ...]
    tokens: int


@dataclass(slots=True)
class _DocumentSplit:
    """One document on its way to chunks."""

    options: ChunkingOptions
    counter: TokenCounter
    blocks: Sequence[Block]
    chunk_drafts: list[ChunkDraft] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)  # tokens of all blocks before each index

    def drafts(self) -> list[ChunkDraft]:
        self.sums = [0]
        for block in self.blocks:
            self.sums.append(self.sums[-1] + self.counter.count(block.markdown()) + SEPARATOR_TOKENS)
        root = section_tree(self.blocks)
        if not (root.children and has_source(self.blocks)) and self._fits(0, len(self.blocks)):
            self._add_blocks(0, len(self.blocks), _common_path(list(_paths(root))), None)
        else:
            self._section(root, None)
        return self.chunk_drafts

    def _tokens(self, start: int, end: int) -> int:
        """Tokens of these blocks, an upper estimate."""
        return self.sums[end] - self.sums[start]

    def _fits(self, start: int, end: int) -> bool:
        """Whether blocks fit into one chunk, exactly; text that is far too long is not counted again."""
        limit = self.options.max_tokens
        separators = SEPARATOR_TOKENS * (end - start)
        return (
            self._tokens(start, end) - separators <= 2 * limit and self.counter.count(self._text(start, end)) <= limit
        )

    def _text(self, start: int, end: int) -> str:
        return "\n\n".join(block.markdown() for block in self.blocks[start:end])

    def _section(self, section: Section, parent: int | None) -> None:
        """One section that does not share its chunk."""
        if not section.children:
            self._cut(section.start, section.end, section.path, parent)
        elif section.level and self._tokens(section.start, section.end) <= self._most_tokens(section):
            self._add_blocks(section.start, section.end, section.path, parent)
        else:
            if section.level:
                parent = self._substitute(section, parent)
            self._parts(section, parent)

    def _most_tokens(self, section: Section) -> int:
        """Up to which size a section with subsections is one chunk; a class is where it is as short as a function."""
        is_code = has_source(self.blocks[section.start : section.end])
        return self.options.max_tokens if is_code else self.options.section_tokens

    def _substitute(self, section: Section, parent: int | None) -> int:
        limit = min(SUMMARY_TOKENS, self.options.max_tokens)
        text = outline_section(section, self.blocks, self.counter, limit)
        draft = self._draft(
            text, self.counter.count(text), section.path, parent, self.blocks[section.start : section.end]
        )
        self._add(replace(draft, kind="section", boxes=()))  # it stands for the section and lies nowhere on a page
        return draft.ordinal

    def _parts(self, section: Section, parent: int | None) -> None:
        """The text before the first child, and the children; small ones gather until a chunk is full."""
        waiting: list[_Unit] = []
        intro = Section(section.start, section.own_end, section.level, section.path)
        for part in (intro, *section.children):
            if part.start == part.end:
                continue
            tokens = self._tokens(part.start, part.end)
            if tokens > self.options.max_tokens:
                waiting = self._emit(waiting, parent)
                self._section(part, parent)
                continue
            if waiting and not self._may_join(waiting, part, tokens):
                waiting = self._emit(waiting, parent)
            waiting.append(_Unit(part.start, part.end, part.path, tokens))
        self._emit(waiting, parent)

    def _may_join(self, waiting: Sequence[_Unit], part: Section, tokens: int) -> bool:
        """Whether a part fits to its neighbours; a heading without text always should."""
        gathered = sum(unit.tokens for unit in waiting)
        bare = self._is_bare(part.start, part.end)
        fits = gathered + tokens <= self.options.max_tokens
        if has_source(self.blocks[waiting[0].start : part.end]):  # a definition shares its chunk with no other one
            return fits and (bare or all(self._is_bare(unit.start, unit.end) for unit in waiting))
        return fits and (gathered < self.options.min_tokens or bare)

    def _is_bare(self, start: int, end: int) -> bool:
        """Whether there are only headings."""
        return all(block.kind == "heading" for block in self.blocks[start:end])

    def _emit(self, waiting: Sequence[_Unit], parent: int | None) -> list[_Unit]:
        """Gathered units as one chunk; returns the empty list to gather in next."""
        if waiting:
            start, end = waiting[0].start, waiting[-1].end
            path = _common_path([unit.path for unit in waiting])
            if self._fits(start, end):
                self._add_blocks(start, end, path, parent)
            else:
                self._cut(start, end, path, parent)
        return []

    def _cut(self, start: int, end: int, path: tuple[str, ...], parent: int | None) -> None:
        """Pieces of a text without subsections; all but the first are continuations."""
        if self._tokens(start, end) <= self.options.max_tokens:
            self._add_blocks(start, end, path, parent)
            return
        options = self.options
        atomiser = Atomiser(self.counter, options.max_tokens)
        atoms = atomiser.all_atoms(self.blocks, start, end)
        packer = Packer(self.counter, min(options.min_tokens, options.max_tokens), options.max_tokens, options.overlap)
        for number, piece in enumerate(packer.pack(atoms)):
            self._add_piece(piece, path, parent, is_continuation=number > 0)

    def _add_piece(self, piece: Piece, path: tuple[str, ...], parent: int | None, *, is_continuation: bool) -> None:
        blocks = self.blocks[piece.new_atoms[0].block : piece.new_atoms[-1].block + 1]
        draft = self._draft(piece.text, piece.tokens, path, parent, blocks)
        self._add(replace(draft, is_continuation=is_continuation))

    def _add_blocks(self, start: int, end: int, path: tuple[str, ...], parent: int | None) -> None:
        text = self._text(start, end)
        self._add(self._draft(text, self.counter.count(text), path, parent, self.blocks[start:end]))

    def _draft(
        self, text: str, tokens: int, path: tuple[str, ...], parent: int | None, blocks: Sequence[Block]
    ) -> ChunkDraft:
        return ChunkDraft(
            ordinal=len(self.chunk_drafts),
            text=text,
            tokens=tokens,
            heading_path=path,
            parent=parent,
            page=next((block.page for block in blocks if block.page is not None), None),
            boxes=tuple(block.box for block in blocks if block.box is not None),
        )

    def _add(self, draft: ChunkDraft) -> None:
        if draft.text.strip():
            self.chunk_drafts.append(draft)


def _paths(section: Section) -> Iterator[tuple[str, ...]]:
    """The paths of all stretches of text in a small document."""
    for part in walk_sections(section):
        if part.own_end > part.start:
            yield part.path


def _common_path(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The headings that all paths share."""
    shared: list[str] = []
    for names in zip(*paths, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return tuple(shared)


@dataclass(frozen=True, slots=True)
class WholeDocumentSplitter:
    """One chunk of kind "whole", however long; it is indexed through several windows."""

    counter: TokenCounter

    def split(self, document: ParsedDocument) -> list[ChunkDraft]:
        """No chunk for a document without text."""
        text = document.markdown().strip()
        if not text:
            return []
        page = next((block.page for block in document.blocks if block.page is not None), None)
        boxes = tuple(block.box for block in document.blocks if block.box is not None)
        tokens = self.counter.count(text)
        return [ChunkDraft(ordinal=0, text=text, tokens=tokens, kind="whole", page=page, boxes=boxes)]


def split_into_windows(blocks: Sequence[Block], counter: TokenCounter, *, limit: int, overlap: float) -> list[str]:
    """Texts of at most `limit` tokens that cover the blocks in order, cut where chunks would be cut.

    Each begins with the last sentences of the one before, about `overlap` of it. Sections do not matter.
    """
    present = [block for block in blocks if block.text.strip()]
    atoms = Atomiser(counter, limit).all_atoms(present, 0, len(present))
    return [piece.text for piece in Packer(counter, limit // 2, limit, overlap).pack(atoms)]
