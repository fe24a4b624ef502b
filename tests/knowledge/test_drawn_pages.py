"""Pictures of pages beside readers who open slow ones: bounded, fair, drawn once, failures remembered."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from io import BytesIO
from itertools import count
from types import SimpleNamespace
from uuid import uuid4

import pytest
from django.test import Client

from knowledge import drawn_pages, page_picture
from knowledge.drawn_pages import page_cached
from knowledge.file_errors import PicturesBusyError
from knowledge.person_queue import PersonQueue
from ragcore.errors import CorruptDocumentError, ResourceLimitError
from tests.knowledge.test_views import document, document_make, originals, pdf, with_original  # noqa: F401 (fixtures)

numbers = count(1)
SLOW_FILLS = 20_000  # of the whole page with a transparent colour: pdfium takes about 30 s
SLOW_PAGES = 16
ORDINARY_SECONDS = 1.0  # that slow pages of others may add, and
ORDINARY_TIMES = 4  # how many times as long as alone: the machine of a test is shared


@pytest.fixture
def pictures(settings, tmp_path, redis_client):
    """An empty store of pictures, and nobody who waits."""
    from knowledge.picture_store import pictures as store

    settings.DATA_DIR = tmp_path
    store.cache_clear()
    yield
    store.cache_clear()


def source_of(content: bytes, name: str = "r.pdf"):
    """A stored PDF and its version."""
    version = SimpleNamespace(pk=next(numbers), sha256=uuid4().hex, rendition=True, file=SimpleNamespace(name="o.docx"))
    return SimpleNamespace(name=name, open=lambda mode: BytesIO(content)), version


def slow_pdf() -> bytes:
    """A page with tens of thousands of path operations."""
    from reportlab.pdfgen import canvas

    out = BytesIO()
    sheet = canvas.Canvas(out, pagesize=(595, 842), pageCompression=1)
    sheet.setFillAlpha(0.01)
    path = sheet.beginPath()
    path.rect(0, 0, 595, 842)
    for _ in range(SLOW_FILLS):
        sheet.drawPath(path, stroke=0, fill=1)
    sheet.showPage()
    sheet.save()
    return out.getvalue()


def drawn_seconds() -> float:
    """How long an ordinary page of another reader takes."""
    start = time.monotonic()
    assert page_cached(*source_of(pdf()), 1, person="another").startswith(b"\x89PNG")
    return time.monotonic() - start


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.timeout(180)
def test_an_ordinary_page_is_drawn_beside_sixteen_slow_ones_of_another_reader(pictures, monkeypatch):
    monkeypatch.setattr(page_picture, "TIMEOUT_SECONDS", 12)
    slow, ended = slow_pdf(), []
    alone = drawn_seconds()

    def open_slow(_number):
        try:
            page_cached(*source_of(slow), 1, person="who opens slow ones")
        except (PicturesBusyError, ResourceLimitError, CorruptDocumentError) as error:
            ended.append(error)

    with ThreadPoolExecutor(SLOW_PAGES) as threads:
        waiting = [threads.submit(open_slow, number) for number in range(SLOW_PAGES)]
        while not drawn_pages.queue._served:
            time.sleep(0.01)
        seconds = [drawn_seconds() for _ in range(3)]
        assert not all(each.done() for each in waiting)  # slow ones were on their way all the time
    shown = ", ".join(f"{each:.2f}" for each in seconds)
    print(f"\nan ordinary page beside {SLOW_PAGES} slow ones: {shown} s; alone: {alone:.2f} s")

    assert sorted(seconds)[1] < ORDINARY_TIMES * alone + ORDINARY_SECONDS
    assert sum(isinstance(error, PicturesBusyError) for error in ended) >= SLOW_PAGES - 4  # told, not kept waiting


def test_a_page_that_took_too_long_is_not_drawn_again_by_everybody(pictures, monkeypatch):
    drawn = []

    def too_slow(content, *, page, **_more):
        drawn.append(page)
        raise ResourceLimitError("slow_page", page=page)

    monkeypatch.setattr(drawn_pages, "page_png", too_slow)
    pair = source_of(b"")

    for person in ("one", "another"):
        for boxes in ((), ((1.0, 2.0, 3.0, 4.0),)):
            with pytest.raises(ResourceLimitError, match="took too long"):
                page_cached(*pair, 1, person=person, boxes=boxes)
    with pytest.raises(ResourceLimitError):
        page_cached(*pair, 2, person="one")

    assert drawn == [1, 2]


def test_a_picture_that_many_ask_for_is_drawn_once(pictures, monkeypatch):
    drawn, may_end = [], threading.Event()

    def draw(content, **_more):
        drawn.append(1)
        may_end.wait(20)
        return b"png"

    monkeypatch.setattr(drawn_pages, "page_png", draw)
    pair = source_of(b"")
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(page_cached, *pair, 1, person=number) for number in range(8)]
        while not drawn:
            time.sleep(0.01)
        may_end.set()
        found = [each.result(20) for each in asked]

    assert found == [b"png"] * 8
    assert drawn == [1]
    assert not drawn_pages._locks


def test_who_waits_for_others_gets_a_turn_before_who_had_one():
    queue, order = PersonQueue(at_once=1), []

    def draw(person):
        with queue.turn(person):
            order.append(person)

    with ThreadPoolExecutor(4) as threads:
        with queue.turn("busy"):
            many = [threads.submit(draw, "busy") for _ in range(3)]
            while len(queue._waiting.get("busy", ())) < 3:
                time.sleep(0.01)
            other = threads.submit(draw, "other")
            while "other" not in queue._waiting:
                time.sleep(0.01)
        for each in (*many, other):
            each.result(10)

    assert order.index("other") <= 1
    assert not queue._waiting
    assert not queue._served


def test_waiting_is_bounded_in_number_and_time():
    queue = PersonQueue(at_once=1, waiting_a_person=2, wait_seconds=0.3)
    with ThreadPoolExecutor(3) as threads, ExitStack() as held:
        held.enter_context(queue.turn("one"))
        errors = [threads.submit(lambda: held.enter_context(queue.turn("one"))).exception(10) for _ in range(3)]

    assert [type(error) for error in errors] == [PicturesBusyError] * 3
    assert not queue._waiting


@pytest.mark.django_db
@pytest.mark.starts_from(make=document_make)
def test_a_reader_whose_turn_does_not_come_is_told_when_to_ask_again(document, originals, client, monkeypatch):  # noqa: F811
    version = with_original(document, "busy.pdf", pdf())

    def busy(*_arguments, **_more):
        raise PicturesBusyError(retry_after_seconds=3)

    monkeypatch.setattr("knowledge.view_models.page_cached", busy)
    browser = Client()
    browser.force_login(document.created_by)
    answer = browser.get(f"/versions/{version.pk}/pages/1.png", headers={"accept": "image/*"})

    assert answer.status_code == 503
    assert answer["Retry-After"] == "3"
    assert "not ready yet" in answer.content.decode()
