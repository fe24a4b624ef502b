"""What stands on pages without being text: running headers, page numbers, contents, footnotes in the way."""

from __future__ import annotations

import pytest

from ragcore.parsing import parse
from tests.ragcore.parsing.build import SONG, lines, pdf_bytes

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu")


def texts(content: bytes) -> list[str]:
    return [block.text for block in parse(content, name="a.pdf").blocks]


def body(n: int) -> str:
    return f"The text about {WORDS[n]} on this page."


def test_odd_and_even_pages_may_have_different_headers():
    pages = [
        [(72, 30, "Planning guide" if n % 2 else "Radio network"), (72, 300, body(n)), (290, 820, str(n + 1))]
        for n in range(8)
    ]

    assert texts(pdf_bytes(pages)) == [body(n) for n in range(8)]


def test_a_header_that_names_the_chapter_is_removed_on_the_pages_of_every_chapter():
    chapters = ["Introduction"] * 3 + ["Handover"] * 2 + ["Measurements"] * 2 + ["Alarms"] * 3 + ["Licences"] * 2
    pages = [[(72, 30, chapter), (72, 300, body(n))] for n, chapter in enumerate(chapters)]

    assert texts(pdf_bytes(pages)) == [body(n) for n in range(12)]


def test_the_first_line_of_a_page_is_no_header():
    pages = [lines([body(n), f"A second line on {WORDS[n]}."], y=40, leading=60) for n in range(6)]

    assert len(texts(pdf_bytes(pages))) == 12


@pytest.mark.parametrize("dots", [" ........ ", " . . . . . . ", "………… "])
def test_a_table_of_contents_is_removed_with_its_heading(dots):
    font = SONG if "…" in dots else "Helvetica"
    entries = [f"{n} Chapter on {WORDS[n]}{dots}{10 * n}" for n in range(1, 7)]
    contents = [(72, 60, "Contents"), *lines(entries, y=90)]

    assert texts(pdf_bytes([contents, [(72, 100, body(1))]], font=font)) == [body(1)]


def test_a_table_of_contents_without_dots_is_known_by_its_heading():
    entries = [(72, 90 + 20 * n, f"第{n}章 {'产品概述安装调试维护故障附录'[2 * n - 2 : 2 * n]}") for n in range(1, 7)]
    numbers = [(500, 90 + 20 * n, str(7 * n)) for n in range(1, 7)]
    pages = [[(280, 60, "目 录"), *entries, *numbers], [(72, 100, "正文从这里开始，说明产品的用途。")]]

    assert texts(pdf_bytes(pages, font=SONG)) == ["正文从这里开始，说明产品的用途。"]


def test_rows_that_end_with_numbers_are_no_contents_without_such_a_heading():
    rows = [(72, 90 + 14 * n, f"Item on {WORDS[n]}") for n in range(5)] + [(400, 90 + 14 * n, str(n)) for n in range(5)]

    assert "Item on alpha" in texts(pdf_bytes([rows]))[0]


def test_a_footnote_stands_behind_the_text_that_it_interrupts():
    first = lines(["The paragraph before the end of the page mentions a limit1 which is"] * 2, y=700)
    note = [
        (72, 780, "1 The limit holds for indoor stations", "Helvetica", 7),
        (72, 789, "of the first generation.", "Helvetica", 7),
    ]
    second = lines(["explained on the next page, where the paragraph finds its end."], y=100)

    found = texts(pdf_bytes([[*first, *note], second]))

    assert found[0].endswith("which is explained on the next page, where the paragraph finds its end.")
    assert found[1] == "1 The limit holds for indoor stations of the first generation."


def test_headings_of_one_size_nest_by_their_numbers():
    page = []
    for n, text in enumerate(("第一章 总则", "第一节 目的", "第二节 范围", "第二章 管理", "第一节 职责")):
        page += [
            (72, 60 + 60 * n, text),
            (72, 85 + 60 * n, "本条说明有关事项的具体要求，由各部门遵照执行，并接受检查。"),
        ]

    blocks = parse(pdf_bytes([page], font=SONG), name="a.pdf").blocks

    assert [(block.text, block.level) for block in blocks if block.kind == "heading"] == [
        ("第一章 总则", 1),
        ("第一节 目的", 2),
        ("第二节 范围", 2),
        ("第二章 管理", 1),
        ("第一节 职责", 2),
    ]


def test_words_that_are_always_written_with_a_hyphen_keep_it_at_a_line_end():
    page = lines(
        [
            "This framework is called a dual-encoder, because it has two. The dual-",
            "encoder is trained on pairs of questions, and it costs little to under-",
            "stand what it does. Such a Lucene-",
            "BM25 system is common in practice, and so are others that we describe.",
        ]
    )

    (text,) = texts(pdf_bytes([page]))

    assert "The dual-encoder is trained" in text
    assert "to understand what" in text
    assert "Lucene-BM25" in text


def test_pages_that_are_all_alike_are_not_taken_for_headers():
    assert texts(pdf_bytes([[(72, 60, "Handle with care")]] * 4)) == ["Handle with care"] * 4
