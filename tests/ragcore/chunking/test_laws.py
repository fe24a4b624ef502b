"""Laws that hold for the chunks of any document."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ragcore.chunking import HeadingTreeSplitter, WholeDocumentSplitter, split_into_windows
from ragcore.chunking.atoms import OVERSIZE, Atomiser, list_items, render_atoms
from ragcore.chunking.packing import OVERLAP_SLACK, Packer, token_cost
from ragcore.options import ChunkingOptions
from ragcore.types import Block, Box, ChunkDraft, ParsedDocument
from tests.ragcore.chunking.counting import TOKEN, SimpleCounter

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
formulas = st.sampled_from(["$$E = m c^2$$", "$$\\sum_{i=1}^n x_i$$"]).map(
    lambda text: Block(kind="formula", text=text)
)
images = st.sampled_from(["![antenna](picture:a.png)", "![](picture:b.png)"]).map(
    lambda text: Block(kind="image", text=text)
)
captions = st.sampled_from(["Table 1: Timers", "Figure 2: Antenna", "表 3 定时器", "图4 天线"]).map(
    lambda text: Block(kind="paragraph", text=text)
)


def placed(blocks: list[Block], turns: list[bool]) -> ParsedDocument:
    """The blocks on pages, each with a box of its own; a page is turned behind some of them."""
    page = 1
    done = []
    for number, block in enumerate(blocks):
        box = Box(page=page, x0=0, y0=number, x1=1, y1=number + 1)
        done.append(replace(block, page=page, box=box))
        page += turns[number % len(turns)]
    return ParsedDocument(blocks=tuple(done))


documents = st.builds(
    placed,
    st.lists(st.one_of(paragraphs, headings, bullets, tables, code, formulas, images, captions), max_size=12),
    st.lists(st.booleans(), min_size=1, max_size=5),
)
# a table head or a fence is repeated on purpose, so laws about covering are checked on text without them
plain_documents = st.lists(st.one_of(paragraphs, headings, bullets), max_size=14).map(
    lambda blocks: ParsedDocument(blocks=tuple(blocks))
)


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)


def body(document: ParsedDocument) -> list[ChunkDraft]:
    return [c for c in HeadingTreeSplitter(OPTIONS, COUNTER).split(document) if c.kind == "body"]


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


@given(documents)
def test_every_word_of_the_document_stands_in_the_chunks_in_its_order(document):
    said = iter(TOKEN.findall(" ".join(chunk.text for chunk in body(document))))

    # a repeated table head or overlap only adds words between them
    assert all(word in said for word in TOKEN.findall(document.markdown()))


@given(documents)
def test_no_table_row_and_no_line_of_code_is_cut(document):
    lines = {line for chunk in body(document) for line in chunk.text.split("\n")}

    for block in document.blocks:
        if block.kind in ("table", "code"):
            assert {line.rstrip() for line in block.text.split("\n")} <= {line.rstrip() for line in lines} | {""}


def indivisible(document: ParsedDocument) -> int:
    """Tokens of the longest code, formula or table row with its head and caption."""
    sizes = [COUNTER.count(b.text) for b in document.blocks if b.kind in ("code", "formula", "image")]
    for block in document.blocks:
        if block.kind == "table":
            head, rule, *rows = block.text.split("\n")
            sizes += [COUNTER.count("\n".join(["Table 1: Timers", head, rule, row])) for row in rows]
    return max(sizes, default=0)


@given(documents)
def test_sizes_are_within_the_limits(document):
    longest = indivisible(document)

    for chunk in HeadingTreeSplitter(OPTIONS, COUNTER).split(document):
        assert chunk.tokens == COUNTER.count(chunk.text)
        if len(re.findall("^#+ ", chunk.text, re.MULTILINE)) > 1:
            assert chunk.tokens <= max(OPTIONS.section_tokens, longest + OPTIONS.max_tokens)
        elif longest <= OPTIONS.max_tokens // 2:
            assert chunk.tokens <= OPTIONS.max_tokens
        assert chunk.tokens <= max(OVERSIZE * OPTIONS.max_tokens, OPTIONS.section_tokens) + OPTIONS.max_tokens


@given(documents)
def test_pages_never_go_back_and_boxes_are_those_of_the_blocks_in_the_chunk(document):
    chunks = body(document)

    pages = [chunk.page for chunk in chunks]
    assert pages == sorted(pages)
    assert {box for chunk in chunks for box in chunk.boxes} == {block.box for block in document.blocks}
    for chunk in chunks:
        assert chunk.page == chunk.boxes[0].page
        numbers = [int(box.y0) for box in chunk.boxes]
        assert numbers == list(range(numbers[0], numbers[-1] + 1))
        said = set(TOKEN.findall(chunk.text))
        assert all(said & set(TOKEN.findall(document.blocks[number].markdown())) for number in numbers)


@given(documents)
def test_a_continuation_goes_on_with_the_text_under_the_heading_of_the_chunk_before(document):
    chunks = body(document)

    for before, chunk in pairwise([None, *chunks]):
        if not chunk.is_continuation:
            continue
        assert before is not None
        assert (chunk.heading_path, chunk.parent) == (before.heading_path, before.parent)
        # the same block, or the next one, and no new heading
        assert chunk.boxes[0].y0 in (before.boxes[-1].y0, before.boxes[-1].y0 + 1)
        assert document.blocks[int(chunk.boxes[0].y0)].kind != "heading"


@given(documents)
def test_a_chunk_that_is_no_continuation_begins_with_a_block(document):
    for chunk in body(document):
        first = document.blocks[int(chunk.boxes[0].y0)]
        if not chunk.is_continuation:
            opening = TOKEN.findall(first.markdown())[:3]
            assert TOKEN.findall(chunk.text)[: len(opening)] == opening


@given(st.lists(paragraphs, max_size=4), st.lists(rows, min_size=1, max_size=30), st.lists(paragraphs, max_size=2))
def test_every_piece_of_a_table_has_its_caption_and_its_head(before, lines, after):
    numbered = [f"| r{number} {line}" for number, line in enumerate(lines)]
    named = Block(kind="paragraph", text="Table 77: Names of timers")
    table = Block(kind="table", text="\n".join(["| headone | headtwo |", "| --- | --- |", *numbered]))

    chunks = body(ParsedDocument(blocks=(*before, named, table, *after)))

    lease = [chunk.text for chunk in chunks if any(line in chunk.text.split("\n") for line in numbered)]
    assert lease
    for text in lease:
        assert text.count("Table 77: Names of timers") == 1
        assert text.count("| headone | headtwo |\n| --- | --- |") == 1


@given(st.lists(paragraphs, max_size=6), st.booleans(), st.lists(paragraphs, max_size=6))
def test_an_image_stands_in_one_chunk_with_its_caption(before, is_below, after):
    image = Block(kind="image", text="![](picture:one.png)")
    named = Block(kind="paragraph", text="Figure 88: Antenna")
    figure = (image, named) if is_below else (named, image)

    chunks = body(ParsedDocument(blocks=(*before, *figure, *after)))

    assert any("picture:one.png" in chunk.text and "Figure 88" in chunk.text for chunk in chunks)


@given(documents)
def test_parents_are_section_chunks_that_come_before(document):
    chunks = HeadingTreeSplitter(OPTIONS, COUNTER).split(document)

    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        if chunk.parent is not None:
            assert chunks[chunk.parent].kind == "section"
            assert chunk.parent < chunk.ordinal
            assert chunk.heading_path[: len(chunks[chunk.parent].heading_path)] == chunks[chunk.parent].heading_path


@given(documents)
def test_a_small_document_is_one_chunk(document):
    chunks = HeadingTreeSplitter(OPTIONS, COUNTER).split(document)

    if document.blocks and COUNTER.count(document.markdown()) <= OPTIONS.max_tokens:
        assert [chunk.text for chunk in chunks] == [document.markdown()]


@given(
    st.lists(st.one_of(paragraphs, bullets, tables), min_size=1, max_size=15), st.sampled_from([0.0, 0.1, 0.15, 0.5])
)
def test_the_overlap_is_whole_sentences_of_the_piece_before_and_bounded(blocks, overlap):
    atoms = Atomiser(COUNTER, 64).all_atoms(blocks, 0, len(blocks))

    pieces = list(Packer(COUNTER, 40, 64, overlap).pack(atoms))

    assert [atom for piece in pieces for atom in piece.new_atoms] == atoms
    assert not pieces[0].repeated
    for before, piece in zip(pieces, pieces[1:], strict=False):
        if piece.repeated:
            assert before.new_atoms[-len(piece.repeated) :] == piece.repeated
            assert all(atom.kind == "sentence" for atom in piece.repeated)
            assert token_cost(piece.repeated) <= OVERLAP_SLACK * overlap * token_cost(before.new_atoms)


@given(st.one_of(paragraphs, headings, bullets, tables, code))
def test_the_atoms_of_a_block_are_its_text(block):
    atoms = Atomiser(COUNTER, 64).atoms(0, block)

    assert render_atoms(atoms).rstrip() == block.markdown().strip("\n").rstrip() or block.kind == "code"


@given(st.text("-* a1.)\n", max_size=60))
def test_the_items_of_a_list_are_its_text(text):
    assert "".join(list_items(text)) == text


@given(documents)
def test_a_document_that_is_not_split_is_one_chunk(document):
    chunks = WholeDocumentSplitter(COUNTER).split(document)

    assert [chunk.text for chunk in chunks] == ([document.markdown().strip()] if document.blocks else [])
    assert all(chunk.kind == "whole" for chunk in chunks)


@given(documents)
def test_windows_cover_a_document_in_order_within_their_limit(document):
    texts = split_into_windows(document.blocks, COUNTER, limit=64, overlap=0.12)

    said = iter(TOKEN.findall(" ".join(texts)))
    assert all(word in said for word in TOKEN.findall(document.markdown()))
    if indivisible(document) <= 32:
        assert all(COUNTER.count(text) <= 64 for text in texts)
