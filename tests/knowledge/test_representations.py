import json

import pytest

from knowledge.model_registry import counter
from knowledge.services.representations import document_represent, indexed_text, question_representation
from ragcore.chunking import splitter_for
from ragcore.llm.openai_chat import OpenAIChatModel
from ragcore.options import ChunkingOptions, RepresentationOptions
from ragcore.types import Block, ChunkDraft, ParsedDocument
from tests.scripted_llm import Reply, serving

TABLE = Block(kind="table", text="| 定时器 | 取值 |\n| --- | --- |\n| T300 | 一百毫秒 |")


@pytest.fixture
def llm():
    with serving() as scripted:
        yield scripted


def document(*blocks: Block, title: str = "") -> ParsedDocument:
    return ParsedDocument(blocks=blocks, title=title)


def paragraph(text: str) -> Block:
    return Block(kind="paragraph", text=text)


def heading(text: str, level: int) -> Block:
    return Block(kind="heading", text=text, level=level)


def made(parsed: ParsedDocument, *, title="Manual", options=None, model=None, chunking=None):
    drafts = splitter_for(chunking or ChunkingOptions(), counter()).split(parsed)
    options = options or RepresentationOptions()
    return document_represent(
        title=title, parsed=parsed, drafts=drafts, options=options, model=model, alive=lambda: None
    )


def test_a_body_is_found_by_title_headings_and_text():
    (entry,) = made(document(heading("Antennas", 1), paragraph("They stand on a mast."))).representations

    assert entry.kind == "body"
    assert entry.language == "en"
    assert entry.embedded_text == "Manual\n# Antennas\n\nThey stand on a mast."
    assert {"manual", "antenna", "mast"} <= set(entry.terms)


def test_the_title_of_the_file_stands_in_for_a_missing_one():
    (entry,) = made(document(paragraph("They stand on a mast."), title="Antenna manual"), title="").representations

    assert entry.embedded_text.startswith("Antenna manual\n")


def test_a_table_is_found_by_its_rows_in_its_own_language():
    body, table = made(document(heading("参数", 1), TABLE)).representations

    assert (body.kind, table.kind) == ("body", "table")
    assert table.ordinal == body.ordinal
    assert table.language == "zh"
    assert table.embedded_text == "Manual\n表 参数 第 1 行：定时器 = T300；取值 = 一百毫秒。"
    assert "t300" in table.terms


def test_a_picture_is_found_by_its_description_and_not_by_its_file_name():
    parsed = document(
        heading("Slides", 1),
        paragraph(
            "The mast ![view of the mast](picture:slide-2-img1.png) stands ![](https://e.org/p/IMG_77.jpg) here."
        ),
        Block(kind="image", text="![slide-2-img2.png](picture:slide-2-img2.png)"),
    )

    result = made(parsed)

    body, *captions = result.representations
    assert body.embedded_text.split("\n\n")[:2] == ["Manual\n# Slides", "The mast view of the mast stands  here."]
    assert not {term for entry in [body, *captions] for term in entry.terms if "img" in term or term in ("png", "jpg")}
    assert "picture:slide-2-img1.png" in result.drafts[0].text


def test_a_question_reads_like_one():
    options = RepresentationOptions(questions=True)
    text = "A network slice is a logical network that one operator runs for another."

    entries = made(document(heading("Slices", 1), paragraph(text)), options=options).representations

    questions = [entry.embedded_text for entry in entries if entry.kind == "question"]
    assert questions[0] == "What is network slice?"
    assert "Manual" not in "".join(questions)
    by_hand = question_representation(ordinal=0, title="Manual", text="What is network slice?")
    assert by_hand == next(entry for entry in entries if entry.kind == "question")


def test_a_document_that_is_not_split_is_one_chunk_with_several_entries():
    parsed = document(*(paragraph(f"Paragraph {n} has its own words. " * 8) for n in range(60)))

    result = made(parsed, chunking=ChunkingOptions(split=False))

    assert [draft.kind for draft in result.drafts] == ["whole"]
    assert len(result.representations) > 2
    assert {(entry.ordinal, entry.kind) for entry in result.representations} == {(0, "window")}


def long_section() -> ParsedDocument:
    parts = [
        block
        for name in ("north", "south")
        for block in (heading(f"Cells of the {name}", 2), paragraph(f"The {name} cell serves a slice. " * 60))
    ]
    return document(heading("Cells", 1), *parts)


SMALL = ChunkingOptions(section_tokens=100, min_tokens=32, max_tokens=200)


def test_the_outline_of_a_long_section_is_stored_and_not_found():
    result = made(long_section(), chunking=SMALL)

    assert result.drafts[0].kind == "section"
    assert {entry.ordinal for entry in result.representations} == {d.ordinal for d in result.drafts if d.kind == "body"}


def test_a_written_summary_of_a_long_section_is_stored_and_found(llm):
    summary = "The cells of the north and the south serve a slice each."
    llm.default = Reply(texts=(json.dumps({"summary": summary}),))

    result = made(long_section(), chunking=SMALL, model=OpenAIChatModel(llm.url, "", "scripted"))

    entry = result.representations[0]
    assert (entry.ordinal, entry.kind) == (0, "summary")
    assert entry.embedded_text == f"Manual\nCells\n{summary}"
    assert result.drafts[0].text.startswith(summary)
    assert result.counts == {"section.model": 1}


def test_terms_that_no_index_holds_are_left_out():
    (entry,) = made(document(paragraph(f"short {'x' * 200}"))).representations

    assert entry.terms == ("manual", "short")


def test_headings_that_the_text_begins_with_are_not_said_twice():
    assert indexed_text(title="T", heading_path=("A", "B"), text="## B\n\ntext") == "T\nA\n## B\n\ntext"


def test_chunks_may_be_left_out():
    drafts = [ChunkDraft(ordinal=n, text=f"Text {n}.", tokens=3, parent=0 if n else None) for n in (2, 5)]

    result = document_represent(
        title="T",
        parsed=document(),
        drafts=drafts,
        options=RepresentationOptions(summaries=True),
        model=None,
        alive=lambda: None,
    )

    assert [draft.ordinal for draft in result.drafts] == [2, 5]
    assert [entry.ordinal for entry in result.representations] == [2, 5]
