"""Laws that hold for the chunks of any document (D11)."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.chunking import HeadingTreeSplitter, WholeDocumentSplitter
from ragcore.chunking.atoms import OVERSIZE, Atomiser, list_items, render
from ragcore.chunking.packing import OVERLAP_SLACK, Packer, cost
from ragcore.options import ChunkingOptions
from ragcore.types import Block, ChunkDraft, ParsedDocument
from tests.ragcore.chunking.counting import SimpleCounter

COUNTER = SimpleCounter()
OPTIONS = ChunkingOptions(section_tokens=100, min_tokens=40, max_tokens=64, overlap=0.12)

words = st.sampled_from(["alpha", "beta", "4.5", "gNodeB", "随机接入", "过程", "e.g.", "3GPP", "，", "(a)"])
sentences = st.builds(
    lambda parts, end: " ".join(parts) + end, st.lists(words, min_size=1, max_size=12), st.sampled_from(".。!？")
)
prose = st.lists(sentences, min_size=1, max_size=8).map(" ".join)
paragraphs = st.builds(lambda text: Block(kind="paragraph", text=text), prose)
headings = st.builds(lambda text, level: Block(kind="heading", text=text, level=level), words, st.integers(1, 6))
bullets = st.builds(
    lambda items: Block(kind="list", text="\n".join(f"- {item}" for item in items)),
    st.lists(sentences, min_size=1, max_size=8),
)
rows = st.builds(lambda a, b: f"| {a} | {b} |", words, prose)
tables = st.builds(
    lambda body: Block(kind="table", text="\n".join(["| h | k |", "| --- | --- |", *body])), st.lists(rows, max_size=12)
)
statements = st.sampled_from(["x = 1", "", "    return y", "\tcall(a, b)", "if x:  "])
code = st.builds(
    lambda lines, times: Block(kind="code", text="\n".join(["```", *lines * times, "```"])),
    st.lists(statements, max_size=8),
    st.sampled_from([1, 5, 20]),
)
documents = st.lists(st.one_of(paragraphs, headings, bullets, tables, code), max_size=10).map(
    lambda blocks: ParsedDocument(blocks=tuple(blocks))
)
# a table head or a fence is repeated on purpose, so laws about covering are checked on text without them
plain_documents = st.lists(st.one_of(paragraphs, headings, bullets), max_size=14).map(
    lambda blocks: ParsedDocument(blocks=tuple(blocks))
)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def body(document: ParsedDocument) -> list[ChunkDraft]:
    return [c for c in HeadingTreeSplitter(OPTIONS, COUNTER).split(document) if c.kind == "body"]


@settings(deadline=None, max_examples=60)
@given(plain_documents)
def test_the_chunks_cover_the_text_in_order(document):
    whole = squeezed(document.markdown())
    covered = 0

    for chunk in body(document):
        text = squeezed(chunk.text)
        # the latest place where the chunk still leaves no gap behind what is covered
        start = whole.rfind(text, 0, covered + len(text))
        assert start >= 0
        assert start + len(text) > covered or text in whole[:covered]
        covered = max(covered, start + len(text))

    assert covered == len(whole)


@settings(deadline=None, max_examples=60)
@given(documents)
def test_no_visible_character_is_lost(document):
    chunks = squeezed("".join(chunk.text for chunk in body(document)))

    assert {
        char: chunks.count(char) >= squeezed(document.markdown()).count(char) for char in set(chunks)
    } == dict.fromkeys(set(chunks), True)
    assert set(squeezed(document.markdown())) == set(chunks)


@settings(deadline=None, max_examples=60)
@given(documents)
def test_no_table_row_and_no_line_of_code_is_cut(document):
    lines = {line for chunk in body(document) for line in chunk.text.split("\n")}

    for block in document.blocks:
        if block.kind in ("table", "code"):
            assert {line.rstrip() for line in block.text.split("\n")} <= {line.rstrip() for line in lines} | {""}


@settings(deadline=None, max_examples=60)
@given(documents)
def test_sizes_are_within_the_limits(document):
    sections = {block.text for block in document.blocks if block.kind == "heading"}
    longest = max((COUNTER.count(b.text) for b in document.blocks if b.kind in ("code", "table")), default=0)

    for chunk in HeadingTreeSplitter(OPTIONS, COUNTER).split(document):
        assert chunk.tokens == COUNTER.count(chunk.text)
        if longest <= OPTIONS.max_tokens // 2 and not sections:
            assert chunk.tokens <= OPTIONS.max_tokens
        assert chunk.tokens <= OVERSIZE * OPTIONS.max_tokens + OPTIONS.section_tokens


@settings(deadline=None, max_examples=60)
@given(documents)
def test_parents_are_section_chunks_that_come_before(document):
    chunks = HeadingTreeSplitter(OPTIONS, COUNTER).split(document)

    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        if chunk.parent is not None:
            assert chunks[chunk.parent].kind == "section"
            assert chunk.parent < chunk.ordinal
            assert chunk.heading_path[: len(chunks[chunk.parent].heading_path)] == chunks[chunk.parent].heading_path


@settings(deadline=None, max_examples=60)
@given(documents)
def test_a_small_document_is_one_chunk(document):
    chunks = HeadingTreeSplitter(OPTIONS, COUNTER).split(document)

    if document.blocks and COUNTER.count(document.markdown()) <= OPTIONS.max_tokens:
        assert [chunk.text for chunk in chunks] == [document.markdown()]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.one_of(paragraphs, bullets, tables), min_size=1, max_size=15), st.sampled_from([0.0, 0.1, 0.15, 0.5])
)
def test_the_overlap_is_whole_sentences_of_the_piece_before_and_bounded(blocks, overlap):
    atomiser = Atomiser(COUNTER, 64)
    atoms = [atom for index, block in enumerate(blocks) for atom in atomiser.atoms(index, block)]

    pieces = list(Packer(COUNTER, 40, 64, overlap).pack(atoms))

    assert [atom for piece in pieces for atom in piece.own] == atoms
    assert not pieces[0].repeated
    for before, piece in zip(pieces, pieces[1:], strict=False):
        if piece.repeated:
            assert before.own[-len(piece.repeated) :] == piece.repeated
            assert all(atom.kind == "sentence" for atom in piece.repeated)
            assert cost(piece.repeated) <= OVERLAP_SLACK * overlap * cost(before.own)


@settings(deadline=None, max_examples=60)
@given(st.one_of(paragraphs, headings, bullets, tables, code))
def test_the_atoms_of_a_block_are_its_text(block):
    atoms = Atomiser(COUNTER, 64).atoms(0, block)

    assert render(atoms).rstrip() == block.markdown().strip("\n").rstrip() or block.kind == "code"


@settings(deadline=None, max_examples=60)
@given(st.text("-* a1.)\n", max_size=60))
def test_the_items_of_a_list_are_its_text(text):
    assert "".join(list_items(text)) == text


@settings(deadline=None, max_examples=60)
@given(documents)
def test_a_document_that_is_not_split_is_one_chunk(document):
    chunks = WholeDocumentSplitter(COUNTER).split(document)

    assert [chunk.text for chunk in chunks] == ([document.markdown().strip()] if document.blocks else [])
    assert all(chunk.kind == "whole" for chunk in chunks)
