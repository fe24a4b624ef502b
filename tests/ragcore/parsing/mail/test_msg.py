from __future__ import annotations

import pytest
from compressed_rtf import compress

from ragcore.errors import CorruptDocumentError, EmptyDocumentError, PasswordProtectedError
from ragcore.parsing import parse
from tests.ragcore.parsing.ole import attached_message, attachment, message, ole_bytes, recipient
from tests.ragcore.parsing.pack import PNG

CLASS, SUBJECT, HEADERS, SENDER, ADDRESS, TO, BODY = 0x001A, 0x0037, 0x007D, 0x0C1A, 0x0C1F, 0x0E04, 0x1000
PLAIN = {SUBJECT: "切换参数", SENDER: "李伟", ADDRESS: "li@example.cn", TO: "Ann; Bob", BODY: "Hello.\r\n\r\nSecond."}


def blocks(tree: dict) -> list[str]:
    return [block.markdown() for block in parse(ole_bytes(tree), name="a.msg").blocks]


def test_headers_are_a_list_and_the_body_follows():
    assert blocks(message(texts=PLAIN)) == [
        "# 切换参数",
        '- From: "李伟" <li@example.cn>\n- To: Ann; Bob\n- Subject: 切换参数',
        "Hello.",
        "Second.",
    ]


def test_the_headers_of_the_way_say_more_than_outlook():
    headers = "From: Ann <ann@example.org>\r\nTo: b@example.org\r\nDate: Tue, 3 Mar 2026 10:00:00 +0800\r\n\r\n"

    assert blocks(message(texts={**PLAIN, HEADERS: headers}))[1] == (
        "- From: Ann <ann@example.org>\n- To: b@example.org\n- Date: 2026-03-03 10:00 +0800\n- Subject: 切换参数"
    )


def test_html_is_preferred_and_its_pictures_are_shown_in_place():
    html = '<html><head><meta charset="utf-8"></head><p>图 <img src="cid:p1" alt="plan"></p>'.encode()
    tree = message(texts=PLAIN, html=html, parts={"__attach_version1.0_#00000000": attachment("p.png", PNG, key="p1")})

    document = parse(ole_bytes(tree), name="a.msg")

    assert document.blocks[-1].text == "图 ![plan](picture:picture-1.png)"
    assert [picture.content for picture in document.pictures] == [PNG]


def test_attachments_and_attached_messages_are_sections():
    inner = message(texts={SUBJECT: "Inner", BODY: "inner text"}, head=24)
    parts = {
        "__attach_version1.0_#00000000": attachment("notes.md", b"# Notes\n\n" + b"see above " * 600),
        "__attach_version1.0_#00000001": attachment("x.exe", b"MZ"),
        "__attach_version1.0_#00000002": attached_message(inner),
    }

    found = blocks(message(texts=PLAIN, parts=parts))

    assert found[4:6] == ["## notes.md", "### Notes"]
    assert found[7:] == [
        "## Inner",
        "### Inner",
        "- Subject: Inner",
        "inner text",
        "Files that could not be read: x.exe (unsupported format).",
    ]


def test_an_encrypted_message_says_so():
    with pytest.raises(PasswordProtectedError):
        parse(ole_bytes(message(texts={CLASS: "IPM.Note.SMIME", SUBJECT: "Secret"})), name="a.msg")


def test_what_is_no_message_says_so():
    with pytest.raises(CorruptDocumentError):
        parse(b"text", name="a.msg")
    with pytest.raises(CorruptDocumentError):
        parse(ole_bytes({"WordDocument": b"x" * 5000}), name="a.msg")
    with pytest.raises(EmptyDocumentError):
        parse(ole_bytes(message(texts={})), name="a.msg")


RICH = (
    rb"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Arial;}}"
    rb"\f0 The mast is 30 m high.\par \u22825?\u32447?\'e9 done.\par}"
)
WITHOUT_BODY = {key: value for key, value in PLAIN.items() if key != BODY}


@pytest.mark.parametrize("is_packed", [True, False])
def test_a_body_that_is_rich_text_only_is_read(is_packed):
    found = blocks(message(texts=WITHOUT_BODY, rich=compress(RICH, compressed=is_packed)))

    assert "\n".join(found[2:]) == "The mast is 30 m high.\n天线é done."


@pytest.mark.parametrize("rich", [b"\0" * 30, compress(RICH)[:40], b"\xff" * 64])
def test_a_damaged_rich_body_is_an_error_with_a_code(rich):
    with pytest.raises((CorruptDocumentError, EmptyDocumentError)):
        blocks(message(texts=WITHOUT_BODY, rich=rich))


WEB_PAGE = rb"""{\rtf1\ansi\ansicpg936\fromhtml1 \deff0{\fonttbl{\f0\fswiss Arial;}}
{\*\generator Riched;}\uc1\pard
{\*\htmltag64 <table><tr><td>}part{\*\htmltag64 </td><td>}price{\*\htmltag72 </td></tr>}
{\*\htmltag64 <tr><td>}\htmlrtf {\htmlrtf0 \'b1\'b8\'d3\'c3 \u8364 ?5{\*\htmltag84 &amp;}\htmlrtf &\htmlrtf0
x\htmlrtf\par}\htmlrtf0
{\*\htmltag64 </td><td>}\{7\}{\*\htmltag72 </td></tr></table>}}"""


def test_a_web_page_inside_rich_text_keeps_its_tables():
    (table,) = blocks(message(texts=PLAIN, rich=compress(WEB_PAGE)))[2:]

    assert table == "| part | price |\n| --- | --- |\n| 备用 €5&x | {7} |"


def test_a_damaged_rich_body_beside_a_plain_one_does_not_matter():
    assert blocks(message(texts=PLAIN, rich=b"\xff" * 64)) == blocks(message(texts=PLAIN))


# ── text in 8 bits ──────────────────────────────────────────────────────────────────────────────

MESSAGE_CODE_PAGE, BODY_CODE_PAGE = 0x3FFD, 0x3FDE
LETTERS = {  # code page -> encoding, subject, name, body
    950: ("cp950", "隨機接入參數", "李偉", "終端與基站建立上行同步的過程，第一步是前導碼。"),
    936: ("gb18030", "随机接入参数", "李伟", "终端与基站建立上行同步的过程，镕字不在国标里。"),
    54936: ("gb18030", "随机接入参数", "李伟", "终端与基站建立上行同步的过程，䶮字四字节。"),
    932: ("cp932", "基地局の設定", "田中", "端末は基地局と同期を取ります。ソフトウェア①を更新してください。"),
    1251: ("cp1251", "Настройка", "Иван", "Базовая станция работает."),
}


def narrow_letter(code_page: int, numbers: dict[int, int], **more) -> dict:
    encoding, subject, name, body = LETTERS[code_page]
    texts = {SUBJECT: subject, SENDER: name, BODY: body}
    narrow = {key: text.encode(encoding) for key, text in texts.items()}
    parts = {
        "__recip_version1.0_#00000000": recipient(name.encode(encoding)),
        "__attach_version1.0_#00000000": attachment(f"{subject}.exe".encode(encoding), b"MZ"),
    }
    return message(texts={}, narrow=narrow, numbers=numbers, parts=parts, **more)


def narrow_blocks(code_page: int) -> list[str]:
    _, subject, name, body = LETTERS[code_page]
    headers = f"- From: {name}\n- To: {name}\n- Subject: {subject}"
    return [f"# {subject}", headers, body, f"Files that could not be read: {subject}.exe (unsupported format)."]


@pytest.mark.parametrize("code_page", LETTERS)
def test_text_in_eight_bits_is_read_in_the_code_page_of_the_message_also_names_of_people_and_files(code_page):
    numbers = {MESSAGE_CODE_PAGE: code_page, BODY_CODE_PAGE: code_page}

    assert blocks(narrow_letter(code_page, numbers)) == narrow_blocks(code_page)


@pytest.mark.parametrize("code_page", [950, 936, 932])
@pytest.mark.parametrize("numbers", [{}, {MESSAGE_CODE_PAGE: 1200}], ids=["none", "unicode"])
def test_where_no_code_page_is_named_the_whole_text_shows_which_it_is(code_page, numbers):
    assert blocks(narrow_letter(code_page, numbers)) == narrow_blocks(code_page)


def test_an_unknown_code_page_does_not_cost_the_message():
    assert blocks(narrow_letter(950, {MESSAGE_CODE_PAGE: 64999})) == narrow_blocks(950)


def test_a_page_that_names_no_encoding_is_in_the_code_page_of_the_message():
    page = "<p>基地局</p>".encode("cp932")

    assert blocks(message(texts=PLAIN, html=page, numbers={BODY_CODE_PAGE: 932}))[-1] == "基地局"


@pytest.mark.parametrize(
    ("rich", "expected"),
    [
        (rb"{\rtf1\ansi\ansicpg950 \'a4@\'a5\\\'a4\'a4 ab\par}", "一功中 ab"),
        (rb"{\rtf1\ansi\ansicpg932 \'83\\\'83t\'83g v1\par}", "ソフト v1"),
        (rb"{\rtf1\ansi\ansicpg1252 caf\'e9@x\par}", "café@x"),
    ],
)
def test_characters_of_two_bytes_in_rich_text_are_read_also_where_the_second_is_not_escaped(rich, expected):
    assert blocks(message(texts=WITHOUT_BODY, rich=compress(rich)))[-1] == expected
