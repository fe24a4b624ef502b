"""What travels is small: pages are compressed, static files have names with a hash."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.http import HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from accounts.admin.pages import menu_pages
from ragsite.admin_menu import PAGES, SECTIONS
from ragsite.middleware import CompressedPagesMiddleware
from ragsite.static_storage import HashedStaticFilesStorage

ROOT = Path(__file__).resolve().parents[2]
TEXT = "one passage after the other. " * 200


def answered(response, accepts="br, gzip"):
    return CompressedPagesMiddleware(lambda request: response)(
        RequestFactory().get("/", headers={"Accept-Encoding": accepts})
    )


def test_a_page_is_compressed_for_browsers_that_take_it():
    small = answered(HttpResponse(TEXT))

    assert gzip.decompress(small.content).decode() == TEXT
    assert len(small.content) < len(TEXT) / 5
    assert (small["Content-Encoding"], int(small["Content-Length"])) == ("gzip", len(small.content))
    assert "Accept-Encoding" in small["Vary"]


@pytest.mark.parametrize("accepts", ["", "br", "gzip;q=0"])
def test_others_get_it_as_it_is(accepts):
    assert answered(HttpResponse(TEXT), accepts).content.decode() == TEXT


@pytest.mark.parametrize(
    "response",
    [
        StreamingHttpResponse(iter([TEXT]), content_type="text/event-stream"),
        HttpResponse(TEXT, content_type="image/png"),
        HttpResponse("short"),
    ],
    ids=["stream", "picture", "short"],
)
def test_streams_pictures_and_short_answers_pass(response):
    assert "Content-Encoding" not in answered(response)


def test_collected_modules_import_each_other_under_hashed_names(tmp_path, settings):
    settings.STATIC_ROOT, settings.DEBUG = tmp_path, False
    source = StaticFilesStorage(location=ROOT / "static")
    storage = HashedStaticFilesStorage(location=tmp_path)
    names = ["js/page.js", "js/choices.js", "js/time.js", "css/base.css"]
    for name in names:
        storage.save(name, source.open(name))

    assert storage.url("js/page.js") == "/static/js/page.js"  # not collected yet
    list(storage.post_process({name: (storage, name) for name in names}))

    hashed = storage.stored_name("js/page.js")
    assert hashed != "js/page.js"
    text = (tmp_path / hashed).read_text(encoding="utf-8")
    assert Path(storage.stored_name("js/choices.js")).name in text
    assert "./choices.js" not in text
    assert (tmp_path / f"{hashed}.gz").exists()


def test_every_icon_of_our_pages_is_in_the_cut_font():
    folder = ROOT / "static" / "unfold" / "fonts" / "material-symbols"
    known = set((folder / "icons.txt").read_text(encoding="utf-8").split())
    used = {"check_circle", "error", "autorenew", "inbox", "upload_file", "tune"}
    used |= {entry.icon for _title, entries in PAGES for entry in entries}
    declared = {entry.icon for section in SECTIONS for _page, entry in menu_pages(section)}
    assert declared
    used |= declared
    assert used <= known
    assert (folder / "Material-Symbols-Outlined.woff2").stat().st_size < 40_000
