"""Normalising citation markers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.grounding.citations import normalise
from ragcore.grounding.markers import MarkerStream


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("claim [Source 1].", "claim [1]."),
        ("claim [source 2, Source 3]", "claim [2][3]"),
        ("claim [1,2]", "claim [1][2]"),
        ("claim [1][2]", "claim [1][2]"),
        ("claim [1-3]", "claim [1][2][3]"),
        ("claim [^1]", "claim [1]"),
        ("结论【2】。", "结论[2]。"),
        ("结论【来源1】【来源 3】", "结论[1][3]"),
        ("结论[1、2]", "结论[1][2]"),
        ("claim [doc_41]", "claim [1]"),
        ("claim [doc_id 42]", "claim [2]"),
        ("claim [TS-38.3]", "claim [3]"),
        ("claim [Sources 1 and 2]", "claim [1][2]"),
    ],
)
def test_every_way_of_pointing_to_a_source_becomes_its_number(sources, written, wanted):
    assert normalise(written, sources)[0] == wanted


@pytest.mark.parametrize(
    ("written", "wanted"),
    [("claim [9].", "claim."), ("claim [Source 7] ends", "claim ends"), ("a [1, 9]", "a [1]"), ("无【12】。", "无。")],
)
def test_markers_of_sources_that_do_not_exist_are_taken_out(sources, written, wanted):
    assert normalise(written, sources)[0] == wanted


@pytest.mark.parametrize(
    "text",
    ["see `a[1]` here", "```\nx = a[9]\n```", "- [ ] to do", "[a note]", "see [the site](x)", "range [0] and [2023]"],
)
def test_what_is_no_marker_stays(sources, text):
    assert normalise(text, sources)[0] == text


def test_positions_point_at_the_brackets(sources):
    text, markers = normalise("First [Source 1]. Second [2, 3].", sources)

    assert [(m.number, text[m.position : m.position + 3]) for m in markers] == [(1, "[1]"), (2, "[2]"), (3, "[3]")]


def test_a_marker_that_arrives_in_pieces_is_held_until_it_is_whole(sources):
    stream = MarkerStream.of(sources)

    pieces = [stream.feed(piece) for piece in ("claim", " [Sou", "rce ", "1", "] and")]

    assert pieces == ["claim", "", "", "", " [1] and"]


ALPHABET = st.lists(
    st.sampled_from(["[", "]", "【", "】", "1", "9", ", ", "Source ", "`", "\n", "~", " ", "文", "a", "-"])
)


@given(ALPHABET, st.lists(st.integers(1, 5), min_size=1))
def test_the_result_does_not_depend_on_how_the_text_was_cut(pieces, sizes):
    text, whole = "".join(pieces), MarkerStream(numbers=frozenset({1, 2}))
    expected = whole.feed(text) + whole.flush()
    stream, out, start = MarkerStream(numbers=frozenset({1, 2})), "", 0

    while start < len(text):
        size = sizes[start % len(sizes)]
        out += stream.feed(text[start : start + size])
        start += size

    assert out + stream.flush() == expected
    assert stream.markers == whole.markers


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("claim [[1]].", "claim [1]."),
        ("claim [1†source] and 【2†L1-L9】", "claim [1] and [2]"),
        ("claim 【4:0†source】.", "claim."),
        ("claim (Source 1).", "claim [1]."),
        ("claim (see Sources 1, 2)", "claim [1][2]"),
        ("结论（来源 1）（来源：2、3）。", "结论[1][2][3]。"),
        ("结论[来源：1]［２］", "结论[1][2]"),
        ("结论［１］[３]", "结论[1][3]"),
        ("claim [doc_id: 41]", "claim [1]"),
        ("claim [doc_id: TS-38.3]", "claim [3]"),
        ("claim [doc_id: 41, doc_id: 42]", "claim [1][2]"),
        ("claim [Document 2]", "claim [2]"),
        ("claim [ref. 1]", "claim [1]"),
        ("claim [^1][^2]", "claim [1][2]"),
        ("none [doc_id: 99] [doc_99] (Source 9)（来源8）[[9]].", "none."),
    ],
)
def test_rarer_ways_of_pointing_to_a_source_become_its_number(sources, written, wanted):
    assert normalise(written, sources)[0] == wanted


@pytest.mark.parametrize(
    "text",
    [
        "quoted ［3］ of the document",
        "(1) first (2) second",
        "(document 2) and (see annex 1)",
        "[Source: a book]",
        "[references]",
        "a (short) remark （备注）",
        "[document id]",
    ],
)
def test_what_only_resembles_a_marker_stays(sources, text):
    assert normalise(text, sources)[0] == text


MORE = st.lists(
    st.sampled_from(
        [
            "[",
            "]",
            "[[",
            "]]",
            "【",
            "】",
            "（",
            "）",
            "(",
            ")",
            "［",
            "］",
            "1",
            "２",
            "9",
            "†",
            ":",
            "Source ",
            "来源",
            "doc_id: ",
        ]
        + ["`", "\n", " ", ", ", "x" * 30, "x" * 90]
    )
)


@given(MORE, st.lists(st.integers(1, 9), min_size=1))
def test_no_form_of_marker_depends_on_how_the_text_was_cut(pieces, sizes):
    text, whole = "".join(pieces), MarkerStream(numbers=frozenset({1, 2}), ids={"doc_1": 1})
    expected = whole.feed(text) + whole.flush()
    stream, out, start, turn = MarkerStream(numbers=frozenset({1, 2}), ids={"doc_1": 1}), "", 0, 0

    while start < len(text):
        size = sizes[turn % len(sizes)]
        out, start, turn = out + stream.feed(text[start : start + size]), start + size, turn + 1

    assert out + stream.flush() == expected
    assert stream.markers == whole.markers
