"""The source viewer: originals, page pictures, the text of a document."""

from __future__ import annotations

from hashlib import sha256
from io import BytesIO

import pytest
from bs4 import BeautifulSoup
from django.core.files.base import ContentFile
from django.test import Client
from PIL import Image

from accounts.errors import NotFoundError
from knowledge.models import Chunk, Document, DocumentPicture, DocumentVersion
from knowledge.selectors.keeping import OriginalsWithheldError
from knowledge.view_models import source_view
from ragcore.text.source_code import fence_source
from tests.factories import ingest, make_set, make_user, scope_of

BOX = [1, 70, 90, 300, 130]  # around the line that the PDF below has


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(make_user())
    return client


def document_make() -> Document:
    owner = make_user()
    return ingest(owner, make_set(owners=[owner]), text="The timer waits for two seconds.")["text"]


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=document_make)]


@pytest.fixture
def document(kept_rows, redis_client) -> Document:
    return kept_rows


@pytest.fixture
def originals(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path


def with_original(document: Document, name: str, content: bytes) -> DocumentVersion:
    version = document.live_version
    version.file_name, version.sha256 = name, sha256(content).hexdigest()
    version.file.save(name, ContentFile(content))
    return version


def pdf() -> bytes:
    from reportlab.pdfgen import canvas

    out = BytesIO()
    sheet = canvas.Canvas(out, pagesize=(595, 842))
    sheet.drawString(72, 842 - 110, "The timer waits for two seconds.")
    sheet.showPage()
    sheet.save()
    return out.getvalue()


def with_picture(version: DocumentVersion, media_type: str = "image/png") -> DocumentPicture:
    found = DocumentPicture(version=version, name="mast.png", media_type=media_type)
    found.file.save("mast.png", ContentFile(b"\x89PNG picture"))
    return found


def closed(document: Document) -> None:
    document.sets.update(visibility="members")


def test_a_pdf_is_shown_by_the_browser(browser, document, originals):
    with_original(document, "timer.pdf", pdf())

    response = browser.get(f"/documents/{document.pk}/original")

    assert response["Content-Type"] == "application/pdf"
    assert response["Content-Disposition"] == 'inline; filename="timer.pdf"'
    assert b"".join(response.streaming_content).startswith(b"%PDF")


@pytest.mark.parametrize("name", ["evil.html", "evil.svg", "report.docx", "evil.xml"])
def test_what_a_browser_might_run_is_only_saved(browser, document, originals, name):
    with_original(document, name, b"<script>alert(1)</script>")

    response = browser.get(f"/documents/{document.pk}/original")

    assert response["Content-Disposition"].startswith("attachment")
    assert response["Content-Type"] == "application/octet-stream"
    assert response["X-Content-Type-Options"] == "nosniff"


def test_a_chinese_file_name_survives_the_download(browser, document, originals):
    with_original(document, "定时器.pdf", pdf())

    response = browser.get(f"/documents/{document.pk}/original?download")

    assert response["Content-Disposition"] == "attachment; filename*=utf-8''%E5%AE%9A%E6%97%B6%E5%99%A8.pdf"


def replaced(document: Document, originals) -> DocumentVersion:
    """The former version of the document, which has a newer one now."""
    old = with_original(document, "old.pdf", pdf())
    with_picture(old)
    Chunk.objects.filter(version=old).update(page=1)
    new = DocumentVersion.objects.create(document=document, number=2, sha256="f" * 64, file_name="new", size_bytes=1)
    Document.objects.filter(pk=document.pk).update(live_version=new)
    return old


ORIGINALS = ["/documents/{d}/original?version=1", "/chunks/{c}/page.png", "/versions/{v}/pages/1.png"]
ALL_OF_IT = [*ORIGINALS, "/documents/{d}", "/documents/{d}/original", "/pictures/{v}/mast.png"]


@pytest.mark.parametrize("address", [*ORIGINALS, "/pictures/{v}/mast.png"])
def test_a_version_that_was_replaced_is_for_keepers(browser, document, originals, address):
    old = replaced(document, originals)
    keeper = Client()
    keeper.force_login(document.sets.get().owners.get())
    filled = address.format(d=document.pk, v=old.pk, c=old.chunks.first().pk)

    assert (keeper.get(filled).status_code, browser.get(filled).status_code) == (200, 404)


@pytest.mark.parametrize("address", ALL_OF_IT)
def test_a_set_withholds_its_originals_from_readers(browser, document, originals, address):
    version = with_original(document, "timer.pdf", pdf())
    with_picture(version)
    Chunk.objects.filter(version=version).update(page=1)
    keeper = Client()
    keeper.force_login(document.sets.get().owners.get())
    filled = address.format(d=document.pk, v=version.pk, c=version.chunks.first().pk)
    assert browser.get(filled).status_code == 200

    document.sets.update(originals="keepers")

    assert (keeper.get(filled).status_code, browser.get(filled).status_code) == (200, 403)
    document.sets.add(make_set())  # one that the reader reads allows it
    assert browser.get(filled).status_code == 200


def test_a_cited_passage_stays_where_nothing_around_it_may_be_opened(document, originals):
    reader = scope_of(make_user())
    version = with_original(document, "timer.pdf", pdf())
    chunk = version.chunks.get()
    Chunk.objects.filter(pk=chunk.pk).update(page=1)
    document.sets.update(originals="keepers")

    shown = source_view(scope=reader, chunk_id=chunk.pk, is_cited=True)

    assert "two seconds" in shown.chunk.html
    assert (shown.withheld, shown.has_original, shown.pictures, shown.before) == ("set", False, (), None)
    with pytest.raises(OriginalsWithheldError):
        source_view(scope=reader, chunk_id=chunk.pk)
    document.sets.update(originals="readers")
    replaced(document, originals)
    assert source_view(scope=reader, chunk_id=chunk.pk, is_cited=True).withheld == "version"
    with pytest.raises(NotFoundError):
        source_view(scope=reader, chunk_id=chunk.pk)


ADDRESSES = ["/documents/{d}", "/documents/{d}/original", "/chunks/{c}/page.png"]


@pytest.mark.parametrize("address", [*ADDRESSES, "/versions/{v}/pages/1.png", "/pictures/{v}/mast.png"])
def test_a_closed_document_does_not_exist(browser, document, originals, address):
    version = with_original(document, "timer.pdf", pdf())
    with_picture(version)
    chunk = version.chunks.first()
    Chunk.objects.filter(pk=chunk.pk).update(page=1)
    filled = address.format(d=document.pk, c=chunk.pk, v=version.pk)
    assert browser.get(filled).status_code == 200

    closed(document)

    assert browser.get(filled).status_code == 404


def test_the_picture_of_a_page_highlights_the_passage(browser, document, originals):
    with_original(document, "timer.pdf", pdf())
    chunk = document.live_version.chunks.first()
    Chunk.objects.filter(pk=chunk.pk).update(page=1, boxes=[BOX])

    response = browser.get(f"/chunks/{chunk.pk}/page.png")
    picture = Image.open(BytesIO(response.content)).convert("RGB")

    assert picture.size == (1190, 1684)
    red, green, _blue = picture.getpixel((2 * 200, 2 * 95))  # inside the box, beside the ink
    assert red < green
    assert picture.getpixel((2 * 400, 2 * 500)) == (255, 255, 255)


def test_an_unchanged_picture_is_not_sent_twice(browser, document, originals):
    with_original(document, "timer.pdf", pdf())
    chunk = document.live_version.chunks.first()
    Chunk.objects.filter(pk=chunk.pk).update(page=1)
    first = browser.get(f"/chunks/{chunk.pk}/page.png")

    second = browser.get(f"/chunks/{chunk.pk}/page.png", headers={"If-None-Match": first["ETag"]})

    assert first["Cache-Control"] == "private, no-cache"
    assert second.status_code == 304


@pytest.mark.parametrize("content", [b"%PDF-1.7 damaged", b""])
def test_a_damaged_pdf_has_no_picture(browser, document, originals, content):
    with_original(document, "timer.pdf", content)
    chunk = document.live_version.chunks.first()
    Chunk.objects.filter(pk=chunk.pk).update(page=1)

    assert browser.get(f"/chunks/{chunk.pk}/page.png").status_code == 404


def test_the_text_of_a_document_is_shown_as_it_was_read(browser, document):
    page = browser.get(f"/documents/{document.pk}").content.decode()

    assert "The timer waits for two seconds." in page


def test_a_picture_is_sent_as_what_it_is_and_only_once(browser, document, originals):
    found = with_picture(document.live_version)
    address = f"/pictures/{found.version_id}/mast.png"

    first = browser.get(address)
    again = browser.get(address, headers={"If-None-Match": first["ETag"]})

    assert b"".join(first.streaming_content) == b"\x89PNG picture"
    assert first["Content-Type"] == "image/png"
    assert first["X-Content-Type-Options"] == "nosniff"
    assert first["Cache-Control"] == "private, no-cache"
    assert again.status_code == 304


@pytest.mark.parametrize("media_type", ["image/svg+xml", "text/html"])
def test_a_picture_that_a_browser_might_run_is_not_sent(browser, document, originals, media_type):
    found = with_picture(document.live_version, media_type)

    assert browser.get(f"/pictures/{found.version_id}/mast.png").status_code == 404


def test_pages_of_slides_are_drawn_from_their_rendition(browser, document, originals):
    version = with_original(document, "slides.pptx", b"PK")
    assert browser.get(f"/versions/{version.pk}/pages/1.png").status_code == 404
    version.rendition.save("slides.pdf", ContentFile(pdf()))

    response = browser.get(f"/versions/{version.pk}/pages/1.png")
    whole = browser.get(f"/documents/{document.pk}/rendition.pdf")

    assert Image.open(BytesIO(response.content)).size == (1190, 1684)
    assert whole["Content-Disposition"] == 'inline; filename="slides.pdf"'
    assert b"".join(whole.streaming_content).startswith(b"%PDF")


def test_the_picture_of_a_page_says_how_large_the_page_is(browser, document, originals):
    version = with_original(document, "timer.pdf", pdf())

    picture = Image.open(BytesIO(browser.get(f"/versions/{version.pk}/pages/1.png").content))

    assert picture.width / picture.info["dpi"][0] * 72 == pytest.approx(595, abs=0.5)


def test_a_cited_passage_shows_its_picture_beside_the_answer(document, originals):
    with_picture(document.live_version)
    document.live_version.chunks.update(text="![A mast](picture:mast.png)")
    chunk = document.live_version.chunks.first()

    shown = source_view(scope=scope_of(make_user()), chunk_id=chunk.pk)

    assert f'<img src="/pictures/{document.live_version_id}/mast.png" alt="A mast" loading="lazy">' in shown.chunk.html


def test_the_text_of_a_document_shows_its_pictures(browser, document, originals):
    version = document.live_version
    with_picture(version)
    version.chunks.update(text="The mast:\n\n![A mast](picture:mast.png)")

    page = browser.get(f"/documents/{document.pk}").content.decode()

    assert f'<img src="/pictures/{version.pk}/mast.png" alt="A mast" loading="lazy">' in page


@pytest.mark.every_row
@pytest.mark.parametrize(
    ("metadata", "external_id", "address"),
    [
        ({"link": "https://wiki.example.com/a?b=1&c=2"}, "text", "https://wiki.example.com/a?b=1&c=2"),
        ({"url": "http://wiki.example.com/a"}, "text", "http://wiki.example.com/a"),
        ({}, "https://www.example.com/page", "https://www.example.com/page"),
        ({"link": "javascript:alert(1)"}, "text", ""),
        ({"link": 'https://x.example.com/" onclick="a'}, "text", ""),
        ({"link": ["https://wiki.example.com/a"]}, "text", ""),
        ({}, "text", ""),
    ],
)
def test_the_place_at_the_source_is_linked_where_it_is_a_web_address(browser, document, metadata, external_id, address):
    Document.objects.filter(pk=document.pk).update(metadata=metadata, external_id=external_id)
    chunk = document.live_version.chunks.first()

    page = BeautifulSoup(browser.get(f"/documents/{document.pk}").content, "html.parser")

    links = [link["href"] for link in page.select("a.button") if link.text.strip() == "Open at the source"]
    assert links == ([address] if address else [])
    assert source_view(scope=scope_of(document.created_by), chunk_id=chunk.pk).place == address


CODE = fence_source("def attach(): ...", language="python", first=12, last=40)


@pytest.mark.parametrize(
    ("text", "of_lines", "behind"),
    [
        (CODE, "L{first}-L{last}", "#L12-L40"),
        (
            CODE,
            "lines-{first}:{last}",
            "#lines-12:40",
        ),
        (CODE, "L{first} or so", ""),
        (CODE, 12, ""),
        ("```python\ndef attach(): ...\n```", "L{first}-L{last}", ""),
    ],
)
def test_the_place_of_code_names_its_lines_where_the_source_says_how(document, text, of_lines, behind):
    link = "https://forge.example.com/p/blob/main/attach.py"
    Document.objects.filter(pk=document.pk).update(metadata={"link": link, "link_of_lines": of_lines})
    chunk = document.live_version.chunks.first()
    type(chunk).objects.filter(pk=chunk.pk).update(text=text)

    assert source_view(scope=scope_of(document.created_by), chunk_id=chunk.pk).place == f"{link}{behind}"
