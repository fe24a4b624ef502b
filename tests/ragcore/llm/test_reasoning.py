"""Reasoning told from the answer, however the stream is cut."""

import pytest

from ragcore.llm.reasoning import ReasoningSplitter


def split(*parts):
    splitter = ReasoningSplitter()
    pieces = [*(splitter.feed(part) for part in parts), splitter.flush()]
    return "".join(piece.text for piece in pieces), "".join(piece.reasoning for piece in pieces)


@pytest.mark.parametrize(
    ("stream", "text", "reasoning"),
    [
        ("<think>well</think>\n\nFour.", "Four.", "well"),
        ("\n<thinking>a < b</thinking>Four.", "Four.", "a < b"),
        ("Four.", "Four.", ""),
        ("  Four.", "  Four.", ""),
        ("<b>Four</b>", "<b>Four</b>", ""),
        ("Use <think>x</think> here.", "Use <think>x</think> here.", ""),
        ("<think>never ends </thi", "", "never ends </thi"),
        ("<thi", "<thi", ""),
        ("<think></think>", "", ""),
        ("", "", ""),
    ],
)
def test_however_it_is_cut_the_parts_are_the_same(stream, text, reasoning):
    assert split(stream) == (text, reasoning)
    assert split(*stream) == (text, reasoning)
    for at in range(len(stream)):
        assert split(stream[:at], stream[at:]) == (text, reasoning)


def test_blanks_without_end_are_not_held_back():
    splitter = ReasoningSplitter()

    assert sum(len(splitter.feed(" ").text) for _ in range(1000)) > 900
