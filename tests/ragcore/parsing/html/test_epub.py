from __future__ import annotations

import pytest

from ragcore.errors import CorruptDocumentError, EmptyDocumentError, PasswordProtectedError
from ragcore.parsing import parse
from tests.ragcore.parsing.pack import PNG, epub_bytes, zip_bytes

NAV = (
    '<nav epub:type="toc"><ol><li><a href="t/2.xhtml">Second</a>'
    '<ol><li><a href="t/3.xhtml">Inner</a></li></ol></li></ol></nav>'
)


def encryption(path: str, algorithm: str) -> dict[str, str | bytes]:
    return {
        "META-INF/encryption.xml": (
            '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><EncryptedData '
            'xmlns="http://www.w3.org/2001/04/xmlenc#">'
            f'<EncryptionMethod Algorithm="{algorithm}"/><CipherData><CipherReference URI="{path}"/></CipherData>'
            "</EncryptedData></encryption>"
        )
    }


def test_chapters_come_in_reading_order_with_their_headings():
    chapters = {"t/1.xhtml": "<h1>First</h1><p>one</p>", "t/2.xhtml": "<p>two</p>", "t/3.xhtml": "<p>three</p>"}

    document = parse(epub_bytes(chapters, nav=NAV, title="三体", creator="Liu"), name="a.epub")

    assert [(block.kind, block.level, block.text) for block in document.blocks] == [
        ("heading", 1, "First"),
        ("paragraph", 0, "one"),
        ("heading", 1, "Second"),
        ("paragraph", 0, "two"),
        ("heading", 2, "Inner"),
        ("paragraph", 0, "three"),
    ]
    assert (document.title, document.metadata) == ("三体", {"author": "Liu"})


def test_empty_elements_of_xhtml_do_not_swallow_the_chapter():
    document = parse(epub_bytes({"1.xhtml": '<p>a<a id="x"/>b</p><div class="x"/><p>c</p>'}), name="a.epub")

    assert [block.text for block in document.blocks] == ["ab", "c"]


def test_pictures_of_the_book_are_kept_once_and_others_are_not_linked():
    body = '<p>see <img src="../i/p.png" alt="plan"/></p><img src="https://example.org/x.png" alt="far"/>'
    content = epub_bytes({"t/1.xhtml": body, "t/2.xhtml": body}, extra={"OEBPS/i/p.png": PNG})

    document = parse(content, name="a.epub")

    assert [picture.content for picture in document.pictures] == [PNG]
    assert [block.text for block in document.blocks] == ["see ![plan](picture:picture-1.png)", "far"] * 2


def test_tables_of_a_book_stay_tables():
    table = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"

    assert parse(epub_bytes({"1.xhtml": table}), name="a.epub").blocks[0].kind == "table"


def test_an_encrypted_chapter_is_protected_and_a_scrambled_font_is_not():
    book = {"1.xhtml": "<p>text</p>"}
    locked = epub_bytes(book, extra=encryption("OEBPS/1.xhtml", "http://www.w3.org/2001/04/xmlenc#aes256-cbc"))
    font = epub_bytes(book, extra=encryption("OEBPS/f.otf", "http://www.idpf.org/2008/embedding"))

    with pytest.raises(PasswordProtectedError):
        parse(locked, name="a.epub")
    assert parse(font, name="a.epub").markdown() == "text"


def test_what_is_no_book_says_so():
    with pytest.raises(CorruptDocumentError):
        parse(zip_bytes({"a.txt": "text"}), name="a.epub")
    with pytest.raises(CorruptDocumentError):
        parse(b"text", name="a.epub")
    with pytest.raises(EmptyDocumentError):
        parse(epub_bytes({"1.xhtml": ""}), name="a.epub")
