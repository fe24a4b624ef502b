"""What tells another model under the same name in the list of a server."""

import pytest

from ragcore.llm.listed_model import listed_model


def entry(**more):
    return {"id": "m", "object": "model", "created": 1, **more}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (entry(owned_by="library"), entry(owned_by="library", created=2)),  # Ollama: pulled anew
        (entry(meta={"n_params": 7}), entry(meta={"n_params": 8})),  # llama.cpp
        (entry(root="/models/a", owned_by="vllm"), entry(root="/models/b", owned_by="vllm")),
        (entry(max_model_len=4096), entry(max_model_len=8192)),
        (entry(), entry(id="other.gguf")),  # the only model of its server
    ],
)
def test_another_model_is_another_text(before, after):
    first, second = (listed_model({"data": [each]}, "m") for each in (before, after))

    assert first
    assert second
    assert first != second


def test_the_time_at_which_a_server_answers_does_not_count():
    assert listed_model({"data": [entry(owned_by="vllm")]}, "m") == listed_model(
        {"data": [entry(owned_by="vllm", created=99)]}, "m"
    )


def test_what_cannot_be_stored_is_left_out():
    told = listed_model({"data": [entry(root="a\x00\ud800b", meta=[], max_model_len={"no": 1})]}, "m")

    assert told == "m a ?b"


@pytest.mark.parametrize("listed", [None, [], {"data": 5}, {"data": [1]}, {"data": [{"id": "a"}, {"id": "b"}]}])
def test_what_lists_no_such_model_says_nothing(listed):
    assert listed_model(listed, "m") == ""
