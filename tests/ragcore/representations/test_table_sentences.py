from ragcore.representations.derived_texts import (
    ENTRY_TOKENS,
    MAX_COLUMNS,
    TableReader,
    markdown_blocks,
    table_sentences,
)
from ragcore.types import ChunkDraft

TIMERS = "| Timer | Value | Unit |\n|:---|---:|---|\n| T300 | 100 | ms |\n| T301 |  | ms |"


def test_each_row_is_a_sentence_with_its_columns_and_empty_cells_are_left_out():
    assert table_sentences(TIMERS, title="Timers") == [
        "In table Timers, row 1: Timer = T300; Value = 100; Unit = ms.",
        "In table Timers, row 2: Timer = T301; Unit = ms.",
    ]


def test_a_chinese_table_has_chinese_sentences():
    table = "| 定时器 | 取值 |\n| --- | --- |\n| T300 | 一百毫秒 |"

    assert table_sentences(table, title="定时器参数") == ["表 定时器参数 第 1 行：定时器 = T300；取值 = 一百毫秒。"]
    assert table_sentences(table) == ["表第 1 行：定时器 = T300；取值 = 一百毫秒。"]


def test_a_caption_that_says_table_is_not_called_table_again():
    assert table_sentences(TIMERS, title="Table 3: Timers")[0].startswith("In Table 3: Timers, row 1: ")
    assert table_sentences("| 名 | 值 |\n| --- | --- |\n| 甲 | 乙 |", title="表3 参数")[0].startswith(
        "表3 参数 第 1 行："
    )


def test_without_a_title_it_is_the_table():
    assert table_sentences(TIMERS)[0].startswith("In the table, row 1: ")


def test_an_empty_first_cell_takes_the_value_above_it():
    table = "| Band | Power |\n| --- | --- |\n| n78 | 23 |\n|  | 26 |\n|  |  |"

    assert table_sentences(table) == [
        "In the table, row 1: Band = n78; Power = 23.",
        "In the table, row 2: Band = n78; Power = 26.",
    ]


def test_a_cell_merged_over_several_columns_is_said_once():
    table = "| Note | Note | Value |\n| --- | --- | --- |\n| none | none | 5 |"

    assert table_sentences(table) == ["In the table, row 1: Note = none; Value = 5."]


def test_a_wide_row_becomes_several_sentences_that_begin_with_the_first_column():
    columns = 2 * MAX_COLUMNS
    line = "|".join(f" c{n} " for n in range(columns))
    values = "|".join(f" v{n} " for n in range(columns))

    sentences = table_sentences(f"|{line}|\n|{'---|' * columns}\n|{values}|")

    assert len(sentences) == 3
    assert all(sentence.startswith("In the table, row 1: c0 = v0; ") for sentence in sentences)
    assert all(f"c{n} = v{n}" in " ".join(sentences) for n in range(columns))


def test_escaped_bars_and_line_breaks_stay_inside_their_cell():
    table = r"| a | b |" + "\n| --- | --- |\n" + r"| x \| y | one<br>two |"

    assert table_sentences(table) == ["In the table, row 1: a = x | y; b = one two."]


def test_a_table_without_a_head_has_its_values_only():
    assert table_sentences("| a | b |\n| c | d |") == ["In the table, row 1: a; b.", "In the table, row 2: c; d."]


def draft(text: str, *, is_continuation: bool = False) -> ChunkDraft:
    return ChunkDraft(ordinal=0, text=text, tokens=0, heading_path=("Radio", "Timers"), is_continuation=is_continuation)


def read(reader: TableReader, chunk: ChunkDraft) -> str:
    return "\n".join(reader.read(chunk, markdown_blocks(chunk.text)))


def test_the_heading_names_a_table_that_has_no_caption(counter):
    assert "In table Timers, row 1:" in read(TableReader(counter), draft(TIMERS))
    assert "In table Other, row 1:" in read(TableReader(counter), draft(f"## Other\n\nText.\n\n{TIMERS}"))
    assert "In Table 3: Names, row 1:" in read(TableReader(counter), draft(f"Table 3: Names\n\n{TIMERS}"))


def test_rows_are_counted_on_where_a_table_goes_on_in_the_next_chunk(counter):
    reader = TableReader(counter)
    read(reader, draft(f"Text.\n\nTable 3: Names\n\n{TIMERS}"))

    goes_on = read(reader, draft(f"Table 3: Names\n\n{TIMERS}", is_continuation=True))

    assert "row 3: Timer = T300" in goes_on
    assert "row 4: Timer = T301" in goes_on


def test_rows_begin_anew_in_another_table(counter):
    reader = TableReader(counter)
    read(reader, draft(TIMERS))

    assert "row 1:" in read(reader, draft(TIMERS))  # a new section
    assert "row 1:" in read(reader, draft(f"Text between.\n\n{TIMERS}", is_continuation=True))
    assert "row 1:" in read(reader, draft(TIMERS.replace("Unit", "Units"), is_continuation=True))


def test_the_sentences_of_a_long_table_are_several_entries(counter):
    rows = "\n".join(f"| T{n} | {n} | ms |" for n in range(100))
    chunk = draft(f"| Timer | Value | Unit |\n| --- | --- | --- |\n{rows}")

    texts = TableReader(counter).read(chunk, markdown_blocks(chunk.text))

    assert len(texts) > 2
    assert all(counter.count(text) <= ENTRY_TOKENS for text in texts)
    assert sum(text.count(", row ") for text in texts) == 100
