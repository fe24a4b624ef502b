"""Snippets show where a passage matches, in the words of the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.services.lab.rows import snippet_of
from evaluation.services.lab.types import moves_between


def marked(text, terms, **limits):
    return [piece.text for piece in snippet_of(text, terms, **limits) if piece.marked]


@pytest.mark.parametrize(
    ("text", "terms", "expected"),
    [
        ("Random access begins.", ["random", "access"], ["Random", "access"]),
        ("Frequencies and frequency.", ["frequenc"], ["Frequencies", "frequency"]),
        ("Many carriers carry it.", ["carri"], ["carriers", "carry"]),
        ("随机接入的过程", ["随机", "机接", "接入", "过程"], ["随机接入", "过程"]),
        ("TS 23.501 and 235012", ["23.501"], ["23.501"]),
        ("preaccess is another word", ["access"], []),
        ("no match", [], []),
    ],
)
def test_matches_are_marked_as_they_stand_in_the_text(text, terms, expected):
    assert marked(text, terms) == expected


def test_the_window_is_where_most_different_words_stand():
    text = f"access. {'filler ' * 80} random access preamble. {'filler ' * 80}"

    pieces = snippet_of(text, ["random", "access", "preambl"], limit=120)

    assert [piece.text for piece in pieces if piece.marked] == ["random", "access", "preamble"]
    assert (pieces[0].text, pieces[-1].text) == ("… ", " …")


def test_marks_of_markdown_are_left_out():
    pieces = snippet_of("# Heading\n\n| a | | b |\n|---|---|---|\n| **c** | | `d` |", [])

    assert "".join(piece.text for piece in pieces) == "Heading · a · b · c · d"


@given(st.text(max_size=400), st.lists(st.text(min_size=1, max_size=5), max_size=5), st.integers(30, 300))
def test_a_snippet_is_never_longer_than_its_limit(text, terms, limit):
    pieces = snippet_of(text, terms, limit=limit)

    assert sum(len(piece.text) for piece in pieces) <= limit + len("… ") + len(" …")
    assert all(piece.text for piece in pieces)


@given(st.lists(st.integers(1, 9), unique=True), st.lists(st.integers(1, 9), unique=True))
def test_moves_say_of_every_passage_how_it_stands_in_both_orders(left, right):
    moves = moves_between(left, right)

    assert set(moves) == {*left, *right}
    for chunk, move in moves.items():
        if chunk in left and chunk in right:
            up = left.index(chunk) - right.index(chunk)
            assert (move.kind, move.places) == ("up" if up > 0 else "down" if up else "same", abs(up))
        else:
            assert move.kind == ("only_left" if chunk in left else "only_right")
