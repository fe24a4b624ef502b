from __future__ import annotations

from base64 import b64encode
from email.message import EmailMessage

import pytest

from ragcore.errors import CorruptDocumentError, EmptyDocumentError, PasswordProtectedError, UnsafeArchiveError
from ragcore.parsing import parse
from tests.ragcore.parsing.pack import PNG, zip_bytes


def letter(text: str = "Hello.\n\nSecond.", html: str = "", **headers: str) -> EmailMessage:
    message = EmailMessage()
    for name, value in {
        "From": "李伟 <li@example.cn>",
        "To": "a@example.org",
        "Subject": "切换参数",
        **headers,
    }.items():
        message[name] = value
    message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html")
    return message


def texts(message: EmailMessage | bytes) -> list[str]:
    content = message if isinstance(message, bytes) else message.as_bytes()
    return [block.markdown() for block in parse(content, name="a.eml").blocks]


def test_headers_are_a_list_and_the_body_follows():
    document = parse(letter(Date="Tue, 3 Mar 2026 10:00:00 +0800", Cc="b@example.org").as_bytes(), name="a.eml")

    assert [block.markdown() for block in document.blocks] == [
        "# 切换参数",
        "- From: 李伟 <li@example.cn>\n- To: a@example.org\n- Cc: b@example.org\n"
        "- Date: 2026-03-03 10:00 +0800\n- Subject: 切换参数",
        "Hello.",
        "Second.",
    ]
    assert document.title == "切换参数"


def test_html_is_preferred_and_the_quoted_history_stays():
    table = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    html = f"<h1>Plan</h1>{table}<blockquote>old</blockquote>"

    assert texts(letter(html=html))[2:] == ["## Plan", "| a | b |\n| --- | --- |\n| 1 | 2 |", "> old"]


def test_an_alternative_without_text_does_not_hide_the_other():
    assert texts(letter("Hello.", html="<img src='x.png'><style>p {}</style>"))[2:] == ["Hello."]


def test_pictures_in_the_text_are_shown_where_they_stand():
    message = letter(html='<p>see <img src="cid:p1" alt="plan"></p>')
    message.get_payload()[1].add_related(PNG, "image", "png", cid="<p1>")

    document = parse(message.as_bytes(), name="a.eml")

    assert document.blocks[-1].text == "see ![plan](picture:picture-1.png)"
    assert [picture.content for picture in document.pictures] == [PNG]


def test_attachments_are_sections_and_unreadable_ones_are_named():
    message = letter()
    message.add_attachment(b"# Notes\n\nsee above", maintype="text", subtype="markdown", filename="说明.md")
    message.add_attachment(b"MZ", maintype="application", subtype="octet-stream", filename="x.exe")
    message.add_attachment(letter("inner text", Subject="Inner"))

    document = parse(message.as_bytes(), name="a.eml")

    found = [block.markdown() for block in document.blocks]
    assert found[4:7] == ["## 说明.md", "### Notes", "see above"]
    assert found[7:9] == ["## Inner.eml", "### Inner"]
    assert "inner text" in found
    assert found[-1] == "Files that could not be read: x.exe (unsupported format)."
    assert document.metadata["skipped"] == "x.exe: unsupported_format"


@pytest.mark.parametrize("encoding", ["gb18030", "utf-8", "big5"])
def test_headers_and_bodies_without_a_declared_encoding_are_read(encoding):
    source = "From: x@example.org\nSubject: 關於系統的通知\n\n這是一封關於系統設定的郵件。\n"

    assert texts(source.encode(encoding))[0] == "# 關於系統的通知"
    assert texts(source.encode(encoding))[-1] == "這是一封關於系統設定的郵件。"


def test_encoded_words_that_split_a_character_are_joined():
    raw = "切换参数".encode("gbk")
    words = [f"=?gb2312?B?{b64encode(part).decode()}?=" for part in (raw[:3], raw[3:])]

    assert texts(f"From: x\nSubject: {words[0]}\n {words[1]}\n\ntext".encode())[0] == "# 切换参数"


def test_flowed_lines_are_one_paragraph():
    source = b"From: x\nContent-Type: text/plain; format=flowed\n\nOne \ntwo.\nthree\n\n-- \nname\n"

    assert texts(source)[1:] == ["One two.\nthree", "-- \nname"]


def test_an_encrypted_message_says_so():
    with pytest.raises(PasswordProtectedError):
        parse(b"From: x\nContent-Type: application/pkcs7-mime; smime-type=enveloped-data\n\nMIIB", name="a.eml")


def test_what_is_no_message_says_so():
    with pytest.raises(CorruptDocumentError):
        parse(b"just some text\n", name="a.eml")
    with pytest.raises(EmptyDocumentError):
        parse(b"", name="a.eml")


def test_a_dangerous_attachment_ends_the_whole():
    message = letter()
    message.add_attachment(zip_bytes({"../x.txt": "x"}), maintype="application", subtype="zip", filename="a.zip")

    with pytest.raises(UnsafeArchiveError):
        parse(message.as_bytes(), name="a.eml")


INVITATION = """From: a@example.com
Subject: Review
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=X

--X
Content-Type: multipart/alternative; boundary=Y

--Y
Content-Type: text/plain; charset=utf-8

Please be on time.
--Y
Content-Type: text/calendar; charset=utf-8; method=REQUEST

{0}
--Y--
--X
Content-Type: text/calendar; name=invite.ics
Content-Disposition: attachment; filename=invite.ics

{0}
--X--
"""
EVENT = """BEGIN:VCALENDAR
BEGIN:VTIMEZONE
BEGIN:STANDARD
DTSTART:16010101T000000
END:STANDARD
END:VTIMEZONE
BEGIN:VEVENT
SUMMARY:Quarterly review\\, part two
DTSTART;TZID="China Standard Time":20260512T140000
DTEND:20260512T073000Z
LOCATION:Building 3\\; room
  502
ORGANIZER;CN=Wang Qiang:mailto:wq@example.com
ATTENDEE;ROLE=REQ-PARTICIPANT:MAILTO:li@example.com
BEGIN:VALARM
DESCRIPTION:REMINDER
END:VALARM
END:VEVENT
END:VCALENDAR"""


def test_an_invitation_stands_behind_the_text_once():
    document = parse(INVITATION.format(EVENT).encode(), name="a.eml")

    assert [block.text for block in document.blocks][2:] == [
        "Please be on time.",
        "- Event: Quarterly review, part two\n- Start: 2026-05-12 14:00 China Standard Time\n"
        "- End: 2026-05-12 07:30 UTC\n- Location: Building 3; room 502\n- Organizer: Wang Qiang <wq@example.com>\n"
        "- Attendees: li@example.com",
    ]
