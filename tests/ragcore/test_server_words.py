"""What of a server's refusal is shown."""

import json

import pytest

from ragcore.server_words import SAID_CHARACTERS, server_words, speaks_protocol

PAGE = '<!DOCTYPE HTML>\n<html lang="en"><body><h1>501</h1></body></html>'


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (json.dumps({"error": {"message": "No such\nmodel", "code": "unknown"}}), "No such model (unknown)"),
        (json.dumps({"error": "overloaded"}), "overloaded"),
        (json.dumps({"detail": "Not Found"}), "Not Found"),
        (json.dumps({"detail": [{"loc": ["body"], "msg": "field required"}]}), ""),
        (json.dumps({"data": [1, 2]}), ""),
        (json.dumps({"error": {"message": "<b>no</b>"}}), ""),
        ("upstream connect error", "upstream connect error"),
        (PAGE, ""),
        ("[" * 5000, ""),
        ("", ""),
    ],
)  # fmt: skip
def test_only_a_sentence_in_plain_text_is_told(body, said):
    assert server_words(body) == said


def test_the_key_is_left_out_and_a_long_text_cut():
    assert server_words("sk-1 is wrong", key="sk-1") == "… is wrong"
    assert len(server_words("x" * 9999)) == SAID_CHARACTERS


@pytest.mark.parametrize(("body", "does"), [('{"error": 1}', True), ('{"a": 1}', False), ("[]", False), (PAGE, False)])
def test_who_refuses_in_the_form_of_the_protocol(body, does):
    assert speaks_protocol(body) is does
