"""Records of answers: what is left out, and what counts as a difference."""

from __future__ import annotations

from bench.answer_snapshot import _events, differences, stable


def test_ids_and_times_are_left_out_and_everything_else_stays():
    answer = {
        "message_id": "b2",
        "answer": "Four steps [1].",
        "answer_html": '<a href="/chunks/17/">1</a>',
        "metadata": {"total_time": 0.3, "chunks_found": 4},
        "timings_ms": {"coarse": 3},
        "hits": [{"chunk_id": 3, "score": 0.123456789}],
    }

    assert stable(answer) == {
        "answer": "Four steps [1].",
        "answer_html": '<a href="/chunks/N/">1</a>',
        "metadata": {"chunks_found": 4},
        "hits": [{"score": 0.123457}],
    }


def test_pieces_of_a_stream_are_joined_because_their_cuts_depend_on_time():
    lines = 'data: {"type": "chunk", "content": "a"}\n\ndata: {"type": "chunk", "content": "b"}\n\ndata: [DONE]\n'

    assert list(_events(lines)) == [{"text": "ab"}, "[DONE]"]


def test_a_difference_is_named_by_its_place():
    assert list(differences({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]})) == ['/a[1]/b: "x" → "y"']
    assert list(differences({"a": 1}, {"b": 1})) == ["/a: only before", "/b: only after"]
    assert list(differences({"score": 0.5}, {"score": 0.500001})) == []
    assert list(differences({"score": 0.5}, {"score": 0.51})) != []


def test_chunk_numbers_may_differ_as_a_whole_but_not_one_by_one():
    before = {"first": {"chunks": [4, 5]}, "second": {"chunks": [5]}}

    assert list(differences(before, {"first": {"chunks": [7, 9]}, "second": {"chunks": [9]}})) == []
    assert list(differences(before, {"first": {"chunks": [7, 9]}, "second": {"chunks": [7]}})) != []
    assert list(differences(before, {"first": {"chunks": [7, 7]}, "second": {"chunks": [7]}})) != []
