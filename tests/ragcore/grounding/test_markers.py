"""Normalising citation markers (V7)."""

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
