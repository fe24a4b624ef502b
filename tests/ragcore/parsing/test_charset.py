from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragcore.errors import CorruptDocumentError
from ragcore.parsing.charset import decode

SIMPLIFIED = "随机接入是终端与基站建立上行同步的过程，分为竞争和非竞争两种。\n第二行：参数配置。\n"
TRADITIONAL = "隨機接入是終端與基站建立上行同步的過程，分為競爭和非競爭兩種。\n第二行：參數設定。\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "gb18030", "gb2312"])
def test_simplified_chinese_is_read_in_every_common_encoding(encoding):
    assert decode(SIMPLIFIED.encode(encoding)) == SIMPLIFIED


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "big5"])
def test_traditional_chinese_is_read_in_every_common_encoding(encoding):
    assert decode(TRADITIONAL.encode(encoding)) == TRADITIONAL


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_latin_utf16_without_a_mark_shows_by_its_null_bytes(encoding):
    assert decode("Random access\r\nprocedure".encode(encoding)) == "Random access\r\nprocedure"


def test_utf32_is_not_taken_for_utf16():
    assert decode(codecs.BOM_UTF32_LE + "接入".encode("utf-32-le")) == "接入"


def test_stray_null_bytes_are_removed():
    assert decode(b"cell\x00 reselection\x00") == "cell reselection"


def test_a_character_cut_in_half_does_not_cost_the_text():
    assert decode(SIMPLIFIED.encode()[:-2]).startswith("随机接入是终端与基站")


def test_windows_text_in_a_western_language_is_not_taken_for_chinese():
    text = "Die Überprüfung der Geräte wird für größere Städte empfohlen, über alle Maße schön."

    assert decode(text.encode("cp1252")) == text


def test_a_declared_encoding_is_used_only_if_the_bytes_obey_it():
    assert decode("过程".encode("gbk"), declared="gb2312") == "过程"
    assert decode("过程".encode(), declared="ascii") == "过程"
    assert decode("过程".encode(), declared="no-such-encoding") == "过程"


def test_binary_is_refused():
    with pytest.raises(CorruptDocumentError):
        decode(bytes(range(256)) * 4)


@settings(deadline=None)
@given(st.text(st.characters(blacklist_categories=("Cc", "Cs"), blacklist_characters="\ufeff")))
def test_utf8_is_always_read_as_utf8(text):
    assert decode(text.encode()) == text


@pytest.mark.parametrize(
    ("encoding", "line"),
    [
        ("gbk", "备用泵放在二号仓库"),
        ("big5", "備用泵放在二號倉庫"),
        ("cp932", "予備のポンプは第二倉庫にあります"),
        ("euc_jp", "予備のポンプは第二倉庫にあります。鍵は守衛室で受け取ってください。"),
        ("euc_kr", "예비 펌프는 제이 창고에 있습니다. 열쇠는 경비실에서 받으십시오."),
    ],
)
def test_an_encoding_shows_wherever_in_the_file_its_first_character_stands(encoding, line):
    text = "pump,site,quantity\n" * 5_000 + line

    assert decode(text.encode(encoding)) == text
