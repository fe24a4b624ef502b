from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.cleaning.rules import repair_mojibake


def garbled(text: str, encoding: str) -> str:
    """UTF-8 read in a one-byte encoding; bytes that it leaves open stand for themselves, as browsers have it."""
    return "".join(bytes([byte]).decode(encoding, errors="ignore") or chr(byte) for byte in text.encode())


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
@pytest.mark.parametrize("text", ["café", "naïve “quotes” — dash", "Größe", "随机接入"])
def test_utf8_that_was_read_as_western_is_read_again(text, encoding):
    assert repair_mojibake(garbled(text, encoding)) == text


def test_chinese_is_repaired_inside_other_text():
    assert repair_mojibake("Title: " + "随机接入".encode().decode("latin-1") + "!") == "Title: 随机接入!"


@pytest.mark.parametrize("text", ["café", "Größe “quoted” — yes", "£100 © ®", "±5 °C", "àéîõü"])
def test_correct_text_is_left_alone(text):
    assert repair_mojibake(text) == text


@settings(deadline=None)
@given(st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FFF)))
def test_chinese_text_is_left_alone(text):
    assert repair_mojibake(text) == text
