from __future__ import annotations

import base64

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from knowledge.model_registry import counter
from ragcore.text.token_count import EstimateCounter


@pytest.fixture(autouse=True)
def fresh_counter():
    counter.cache_clear()
    yield
    counter.cache_clear()


def test_the_vocabulary_of_the_setting_counts_tokens(settings, tmp_path):
    file = tmp_path / "bytes.tiktoken"
    file.write_bytes(b"".join(base64.b64encode(bytes([n])) + b" %d\n" % n for n in range(256)))
    settings.TOKENIZER_FILE = file

    call_command("check")

    assert counter().count("cell") == 4


def test_a_vocabulary_that_cannot_be_used_stops_the_start_and_says_why(settings, tmp_path):
    settings.TOKENIZER_FILE = tmp_path / "tokenizer.json"
    settings.TOKENIZER_FILE.write_text("{}")

    with pytest.raises(SystemCheckError, match=r"TOKENIZER_FILE .*tokenizer.json is no tokenizer.json"):
        call_command("check")


def test_without_a_vocabulary_tokens_are_estimated(settings):
    settings.TOKENIZER_FILE = None

    call_command("check")

    assert isinstance(counter(), EstimateCounter)
