"""Lists in old encodings: what is certain is read, what may be something else is refused and not guessed."""

import pytest

from knowledge.lexicon_errors import LexiconTermError
from knowledge.services.lexicon.encodings import text_of

HEAD = "term,translations\n"
SIMPLIFIED = HEAD + "载波聚合,carrier aggregation\n小区选择,cell selection\n"
TRADITIONAL = HEAD + "載波聚合,carrier aggregation\n隨機接入,random access\n"
JAPANESE = HEAD + "通信制御,communication control\nキャリア,carrier\n"
KOREAN = HEAD + "반송파 집성,carrier aggregation\n임의 접속,random access\n"


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (SIMPLIFIED, "gb18030"),
        ("术语\n" + "长" * 500 + "\n", "gb18030"),
        (TRADITIONAL, "big5"),
        (JAPANESE, "cp932"),
        (HEAD + "通信制御,communication control\n", "cp932"),
        (HEAD + "Résolution,resolution\nÜbertragung,transmission\n", "latin-1"),
        (HEAD + "Résolution – “x”,resolution\n", "cp1252"),
        *((text, name) for text in (SIMPLIFIED, JAPANESE, KOREAN) for name in ("utf-8", "utf-8-sig", "utf-16")),
        *((text, name) for text in (SIMPLIFIED, "term\nx") for name in ("utf-16-le", "utf-16-be")),
    ],
)
def test_what_is_certain_is_read_as_it_was_written(text, encoding):
    assert text_of(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (KOREAN, "cp949"),
        (JAPANESE, "euc_jp"),
        (HEAD + "通信制御,communication control\n", "euc_jp"),
        (HEAD + "Příklad,example\nŘízení,control\n", "cp1250"),
        (HEAD + "İletişim ağı,network\n", "cp1254"),
        (HEAD + "Резолюция,resolution\n", "cp1251"),
        (HEAD + "Änderung,change\n", "latin-1"),  # read as Big5 it is Chinese, too
        (HEAD + "Résolution,resolution\n", "mac_roman"),
    ],
)
def test_what_may_be_something_else_is_refused(text, encoding):
    with pytest.raises(LexiconTermError) as refused:
        text_of(text.encode(encoding))

    assert refused.value.reason == "encoding"
    assert "UTF-8" in str(refused.value)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (SIMPLIFIED.encode("gb18030")[:-2] + b"\xff\n", "encoding"),
        (HEAD.encode() + b"x\x00y\n", "encoding"),
        (b"\xff\xff\x00\x80", "encoding"),
        (b"\xff\xfet\x00\xd8", "encoding"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "file"),
    ],
)
def test_damaged_text_is_refused(content, reason):
    with pytest.raises(LexiconTermError) as refused:
        text_of(content)

    assert refused.value.reason == reason
