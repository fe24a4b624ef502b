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


@pytest.mark.parametrize(
    ("stream", "text", "reasoning"),
    [
        ("well, let me see</think>\n\nFour.", "Four.", "well, let me see"),
        ("<think>well</think>Four.", "Four.", "well"),
        ("</think>Four.", "Four.", ""),
        ("a</think>b</think>c", "b</think>c", "a"),
    ],
)
def test_a_reply_that_begins_inside_its_reasoning(stream, text, reasoning):
    for parts in ([stream], list(stream), *([stream[:at], stream[at:]] for at in range(len(stream)))):
        splitter = ReasoningSplitter(thinks_first=True)
        pieces = [*(splitter.feed(part) for part in parts), splitter.flush(is_whole=True)]

        assert "".join(piece.text for piece in pieces) == text
        assert "".join(piece.reasoning for piece in pieces) == reasoning


@pytest.mark.parametrize(("is_whole", "text"), [(True, "Four, and no thought."), (False, "")])
def test_without_an_end_of_reasoning_only_a_reply_that_ended_properly_is_an_answer(is_whole, text):
    splitter = ReasoningSplitter(thinks_first=True)
    pieces = [*map(splitter.feed, "Four, and no thought."), splitter.flush(is_whole=is_whole)]

    assert "".join(piece.text for piece in pieces) == text


@pytest.mark.parametrize(
    ("stream", "has_thought"),
    [
        ("well</think>Four.", True),
        ("Four.", False),
        ("<think>well</think>Four.", False),
        ("Use <think>x</think> here.", False),
    ],
)
def test_a_reasoning_that_ends_without_a_beginning_is_noticed(stream, has_thought):
    for parts in ([stream], list(stream)):
        splitter = ReasoningSplitter()
        for part in parts:
            splitter.feed(part)

        assert splitter.has_thought_first == has_thought
