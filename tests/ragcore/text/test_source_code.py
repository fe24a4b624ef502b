from __future__ import annotations

import pytest

from ragcore.text.names import name_mentions
from ragcore.text.source_code import (
    fence_source,
    heading_name,
    identifier_words,
    is_source,
    searchable_source,
    source_lines,
    symbol_heading,
)
from ragcore.text.tokenise import JiebaTokenizer

TOKENIZER = JiebaTokenizer()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("rrc_setup_complete", "rrc setup complete"),
        ("rrcSetupComplete", "rrc setup complete"),
        ("HTTPServerError", "HTTP server error"),
        ("parse-utf8-text", "parse utf 8 text"),
        ("Message.get_payload", "message get payload"),
        ("计数_count", "计数 count"),
    ],
)
def test_an_identifier_is_read_as_words(name, words):
    assert identifier_words(name) == words


@pytest.mark.parametrize("name", ["rrc_setup_complete", "rrcSetupComplete", "rrc-setup-complete", "RRCSetupComplete"])
def test_an_identifier_is_a_term_as_a_whole_and_in_its_parts(name):
    terms = TOKENIZER.terms(name)

    assert {"rrc", "setup", "complet"} <= set(terms)
    assert terms[0] in (name.lower(), "rrcsetupcomplet")


def test_lines_of_a_file_come_back_from_markdown():
    text = fence_source("a = 1\nb = 2", language="python", first=3, last=4)

    (part,) = source_lines(f"### `name`\n\n{text}\n\nwords")

    assert (part.language, part.first, part.last, part.code) == ("python", 3, 4, "a = 1\nb = 2")


@pytest.mark.parametrize("text", ["```python\na = 1\n```", "the lines=3-4 of a text", "plain"])
def test_other_code_and_text_are_no_lines_of_a_file(text):
    assert source_lines(text) == []
    assert not is_source("plain")


def test_source_code_is_searched_by_the_words_of_its_symbols_without_fences():
    text = f"### {symbol_heading('setup_complete')}\n\n{fence_source('x = 1', language='c', first=1, last=1)}"

    assert searchable_source(text, symbols=["Rrc", "setup_complete"]) == "rrc setup complete\nrrc setup complete\nx = 1"


@pytest.mark.parametrize(
    ("text", "name"), [("`__init__`", "__init__"), ("a `b` c", "a `b` c"), ("`a` or `b`", "`a` or `b`")]
)
def test_a_heading_of_a_symbol_is_its_name(text, name):
    assert heading_name(text) == name


@pytest.mark.parametrize("text", ["Does it start at 9 a.m. or p.m.?", "What does clause 5.c say?"])
def test_ordinary_text_holds_no_names_of_source_files(text):
    assert name_mentions(text) == []


def test_a_source_file_is_a_name():
    assert [mention.text for mention in name_mentions("what does timer.c start?")] == ["timer.c"]
