from __future__ import annotations

from dataclasses import replace

import pytest

from ragcore.chunking import HeadingTreeSplitter, splitter_for
from ragcore.options import ChunkingOptions
from ragcore.types import Block, Box, ChunkDraft, ParsedDocument
from tests.ragcore.chunking.counting import SimpleCounter

COUNTER = SimpleCounter()
SMALL = ChunkingOptions(section_tokens=100, min_tokens=40, max_tokens=64, overlap=0.12)


def split(*blocks: Block, options: ChunkingOptions = SMALL) -> list[ChunkDraft]:
    return HeadingTreeSplitter(options, COUNTER).split(ParsedDocument(blocks=blocks))


def heading(text: str, level: int) -> Block:
    return Block(kind="heading", text=text, level=level)


def words(count: int, stem: str = "w", sentence: int = 5) -> str:
    """Sentences of `sentence` tokens, the full stop included."""
    names = [f"{stem}{n}" for n in range(count - count // sentence)]
    step = sentence - 1
    return " ".join(" ".join(names[at : at + step]).capitalize() + "." for at in range(0, len(names), step))


def paragraph(count: int, stem: str = "w") -> Block:
    return Block(kind="paragraph", text=words(count, stem))


def test_a_document_without_text_has_no_chunk():
    assert split() == []
    assert split(Block(kind="paragraph", text=" \n")) == []


def test_a_small_document_is_exactly_one_chunk():
    chunks = split(heading("A", 1), paragraph(10), heading("B", 2), paragraph(10))

    assert len(chunks) == 1
    assert chunks[0].text == f"# A\n\n{words(10)}\n\n## B\n\n{words(10)}"
    assert chunks[0].heading_path == ("A",)
    assert chunks[0].tokens == COUNTER.count(chunks[0].text)


def test_a_short_section_with_subsections_is_one_chunk():
    chunks = split(
        heading("A", 1),
        heading("A1", 2),
        paragraph(40),
        heading("A2", 2),
        paragraph(40),
        heading("B", 1),
        paragraph(50),
    )

    assert [(c.kind, c.heading_path) for c in chunks] == [("body", ("A",)), ("body", ("B",))]
    assert chunks[0].tokens > SMALL.max_tokens


def test_a_long_section_gets_a_substitute_chunk_that_its_parts_point_to():
    chunks = split(
        heading("A", 1), paragraph(20), heading("A1", 2), paragraph(50, "x"), heading("A2", 2), paragraph(50, "y")
    )

    assert [(c.kind, c.heading_path, c.parent) for c in chunks] == [
        ("section", ("A",), None),
        ("body", ("A",), 0),
        ("body", ("A", "A1"), 0),
        ("body", ("A", "A2"), 0),
    ]
    assert "- A1" in chunks[0].text
    assert "- A2" in chunks[0].text
    assert chunks[0].text.startswith("A\n\nW0 w1 w2 w3.")
    assert chunks[0].tokens <= SMALL.max_tokens


def test_substitutes_are_nested_as_the_sections_are():
    chunks = split(
        heading("A", 1),
        heading("A1", 2),
        heading("A1a", 3),
        paragraph(60),
        heading("A1b", 3),
        paragraph(60),
        heading("A2", 2),
        paragraph(60),
    )

    parents = {chunk.heading_path: chunk.parent for chunk in chunks if chunk.kind == "section"}
    assert parents == {("A",): None, ("A", "A1"): 0}
    assert {c.parent for c in chunks if c.heading_path[:2] == ("A", "A1") and c.kind == "body"} == {1}


def test_a_heading_is_never_a_chunk_alone():
    chunks = split(heading("A", 1), heading("A1", 2), paragraph(50), heading("A2", 2), paragraph(50))

    assert [chunk.text.split("\n")[0] for chunk in chunks if chunk.kind == "body"] == ["# A", "## A2"]


def test_small_neighbours_under_one_heading_share_a_chunk():
    chunks = split(
        heading("A", 1),
        *(block for name in "bcdefghi" for block in (heading(f"A{name}", 2), paragraph(15, name))),
    )

    body = [chunk for chunk in chunks if chunk.kind == "body"]
    assert 1 < len(body) < 8
    assert all(chunk.heading_path == ("A",) for chunk in body if chunk.text.count("## ") > 1)
    assert all(chunk.tokens <= SMALL.max_tokens for chunk in body)


def test_a_long_leaf_is_cut_at_sentences_with_an_overlap_and_inherits_its_heading():
    chunks = split(heading("A", 1), Block(kind="paragraph", text=words(300)))

    assert [c.is_continuation for c in chunks] == [False] + [True] * (len(chunks) - 1)
    assert {c.heading_path for c in chunks} == {("A",)}
    for before, after in zip(chunks, chunks[1:], strict=False):
        first = after.text.split(". ")[0]
        assert first in before.text
        assert before.text.endswith(".")
    assert all(SMALL.min_tokens <= chunk.tokens <= SMALL.max_tokens for chunk in chunks[:-1])


def test_without_overlap_nothing_is_said_twice():
    chunks = split(paragraph(300), options=ChunkingOptions(section_tokens=100, min_tokens=40, max_tokens=64, overlap=0))

    assert " ".join(chunk.text for chunk in chunks) == words(300)


def test_a_text_without_headings_is_cut_likewise():
    chunks = split(paragraph(100), paragraph(100))

    assert len(chunks) > 2
    assert all(chunk.heading_path == () for chunk in chunks)


def table(rows: int, width: int = 3) -> Block:
    lines = [
        "| Name | Value |",
        "| --- | --- |",
        *(f"| row{n} | {' '.join(f'v{n}' for _ in range(width))} |" for n in range(rows)),
    ]
    return Block(kind="table", text="\n".join(lines))


def test_a_long_table_is_cut_between_rows_and_repeats_its_head():
    chunks = split(heading("A", 1), table(40))

    rows = [line for chunk in chunks for line in chunk.text.split("\n") if line.startswith("| row")]
    assert len(chunks) > 2
    assert rows == table(40).text.split("\n")[2:]
    assert all("| Name | Value |\n| --- | --- |" in chunk.text for chunk in chunks)
    assert all(chunk.tokens <= SMALL.max_tokens for chunk in chunks)


def test_a_row_that_is_longer_than_a_chunk_stays_whole():
    long = Block(kind="table", text=f"| a | b |\n| --- | --- |\n| 1 | {' '.join(['word'] * 150)} |\n| 2 | x |")

    chunks = split(long, paragraph(30))

    assert sum(" ".join(["word"] * 150) in chunk.text for chunk in chunks) == 1


def test_a_table_that_fits_into_a_chunk_is_not_cut():
    chunks = split(paragraph(45), table(5), paragraph(60))

    assert sum("| row0" in chunk.text and "| row4" in chunk.text for chunk in chunks) == 1


@pytest.mark.parametrize("kind", ["code", "formula"])
def test_code_and_formulas_longer_than_a_chunk_stay_whole(kind):
    text = "```\n" + "\n".join(f"x{n} = {n}" for n in range(50)) + "\n```"

    chunks = split(paragraph(50), Block(kind=kind, text=text), paragraph(50))

    assert sum(text in chunk.text for chunk in chunks) == 1


def test_code_longer_than_four_chunks_is_cut_between_lines_inside_fences():
    lines = [f"x{n} = {n}" for n in range(200)]
    code = Block(kind="code", text="```python\n" + "\n".join(lines) + "\n```")

    chunks = split(code)

    assert len(chunks) > 4
    assert all(chunk.text.startswith("```python\n") and chunk.text.endswith("\n```") for chunk in chunks)
    assert [line for chunk in chunks for line in chunk.text.split("\n")[1:-1]] == lines


def test_list_items_stay_whole():
    items = "\n".join(f"- item {n} has a few words. And two sentences." for n in range(30))

    chunks = split(Block(kind="list", text=items))

    assert len(chunks) > 2
    assert all(line.startswith("- item") and line.endswith("sentences.") for c in chunks for line in c.text.split("\n"))


def test_a_sentence_without_end_is_cut_between_words():
    chunks = split(Block(kind="paragraph", text=" ".join(f"w{n}" for n in range(500))))

    assert " ".join(chunk.text for chunk in chunks).split() == [f"w{n}" for n in range(500)]
    assert all(chunk.tokens <= SMALL.max_tokens for chunk in chunks)


def test_chunks_know_the_page_of_their_first_block_and_all_boxes():
    def on_page(page: int, stem: str) -> Block:
        box = Box(page=page, x0=0, y0=0, x1=10, y1=10)
        return Block(kind="paragraph", text=words(25, stem), page=page, box=box)

    chunks = split(*(on_page(page, f"p{page}x") for page in (1, 2, 3, 4)))

    assert [chunk.page for chunk in chunks] == [1, 3]
    assert [[box.page for box in chunk.boxes] for chunk in chunks] == [[1, 2], [3, 4]]


def test_ordinals_count_from_zero_in_reading_order():
    chunks = split(heading("A", 1), paragraph(150), heading("B", 1), paragraph(150))

    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))


def test_a_caption_stays_with_its_table_and_stands_again_over_each_further_piece():
    chunks = split(heading("A", 1), paragraph(50), Block(kind="paragraph", text="Table 3: Timers"), table(30))

    pieces = [chunk for chunk in chunks if "| row" in chunk.text]
    assert len(pieces) > 2
    assert all(chunk.text.count("Table 3: Timers\n\n| Name | Value |") == 1 for chunk in pieces)
    assert "Table 3" not in chunks[0].text


def test_a_caption_below_a_table_stays_with_its_last_row():
    chunks = split(table(7), Block(kind="paragraph", text="表 1 定时器"), paragraph(40))

    assert any("row6" in chunk.text and "表 1 定时器" in chunk.text for chunk in chunks)


def test_a_sentence_about_a_table_is_no_caption():
    chunks = split(Block(kind="paragraph", text="Table 3 lists the timers."), table(30))

    assert sum("lists the timers" in chunk.text for chunk in chunks) == 1


def test_an_image_keeps_the_line_that_names_it():
    image = Block(kind="image", text="![](picture:a.png)")
    chunks = split(paragraph(55), image, Block(kind="paragraph", text="图 1 天线"), paragraph(40))

    assert ["picture:a.png" in chunk.text for chunk in chunks] == ["图 1 天线" in chunk.text for chunk in chunks]


def test_the_options_choose_the_splitter():
    document = ParsedDocument(blocks=(heading("A", 1), paragraph(200)))

    assert len(splitter_for(SMALL, COUNTER).split(document)) > 2
    assert [c.kind for c in splitter_for(replace(SMALL, split=False), COUNTER).split(document)] == ["whole"]


def test_a_chunk_that_begins_inside_a_nested_list_begins_with_the_items_above():
    items = ["- 1> " + words(4, "top"), *(f"  - 2> {words(4, f'mid{n}')}" for n in range(4))]
    deepest = [f"    - 3> {words(8, f'low{n}')}" for n in range(12)]
    block = Block(kind="list", text="\n".join([*items, *deepest]), is_nested=True)

    drafts = split(block)

    assert len(drafts) > 2
    for draft in drafts[1:]:
        first, second, third, *_rest = draft.text.split("\n")
        assert first.startswith("- 1> Top0")
        assert second.startswith("  - 2> Mid30")
        assert third.startswith("    - 3> Low")
    assert all(draft.tokens <= SMALL.max_tokens for draft in drafts)
    everything = "\n".join(draft.text for draft in drafts)
    assert [item for item in (*items, *deepest) if item not in everything] == []


def test_other_lists_are_cut_as_before():
    lines = "\n".join(["- one", *(f"  - {words(6, f'w{n}')}" for n in range(12))])

    plain = split(Block(kind="list", text=lines))

    assert len(plain) > 1
    assert not plain[-1].text.startswith("- one")


def test_very_long_items_above_are_shortened():
    long = Block(kind="list", text=f"- {words(60, 'top')}\n" + "\n".join(f"  - {words(8, f'l{n}')}" for n in range(9)))

    drafts = split(replace(long, is_nested=True))

    assert all(draft.tokens <= SMALL.max_tokens for draft in drafts)
    assert drafts[-1].text.startswith("- Top0 top1 top2 top3\n  - L4")
