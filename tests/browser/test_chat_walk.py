"""What people expect of the chat beside questions and answers, walked in both languages, wide and narrow."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from accounts.models import User
from chat.models import Announcement, AskingPreferences, Conversation, Message
from feedback.models import Signal, Vote
from knowledge.models import Document, DocumentReview
from tests.browser.content import Chinese, English
from tests.browser.test_admin_pages import faults_of
from tests.browser.test_interruptions import asked
from tests.scripted_llm import Reply

pytestmark = [
    *(pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)),
    pytest.mark.usefixtures("fresh_script"),
]

TURNS = 33  # of a long conversation; the last 30 are shown
WALKS = [
    pytest.param({"width": 1440, "locale": "en-GB"}, English, "Sources", id="English, wide", marks=pytest.mark.full),
    pytest.param({"width": 390, "height": 844, "locale": "zh-CN"}, Chinese, "来源", id="Chinese, narrow"),
]


@pytest.fixture
def news(live_site, beside):
    """An announcement, a long conversation of the reader with a summary, and reviewed documents; the latter's id."""

    def made() -> str:
        reader = User.objects.get(username=live_site.reader)
        AskingPreferences.objects.filter(user=reader).delete()
        Announcement.objects.all().delete()
        Announcement.objects.create(tenant=reader.tenant, text="Maintenance **tonight**.", text_zh="**今晚**维护。")
        DocumentReview.objects.all().delete()
        for document in Document.objects.all():
            DocumentReview.objects.create(document=document, reviewed=timezone.now() - timedelta(days=1))
        talk = Conversation.objects.create(
            tenant=reader.tenant, user=reader, channel="web", title="Long", summary="T_mod was discussed."
        )
        parent = None
        for number in range(TURNS):
            parent = Message.objects.create(
                conversation=talk,
                parent=parent,
                question=f"{number}?",
                answer="–",
                state="done",
                status="answered",
            )
        Conversation.objects.filter(pk=talk.pk).update(leaf=parent)
        return str(talk.pk)

    return beside(made)


def clipboard(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


@pytest.mark.parametrize(("options", "words", "sources"), WALKS)
def test_from_the_first_visit_to_a_report_of_a_wrong_source(
    open_page, live_site, beside, news, options, words, sources
):
    live_site.llm.default = Reply(texts=words.pieces)
    page = open_page(live_site.reader, permissions=["clipboard-read", "clipboard-write"], **options)

    # announcement and hints are read once
    expect(page.locator(".announcement strong")).to_be_visible()
    page.locator("[data-dismiss]").click()
    expect(page.locator("#announcements")).to_have_count(0)
    page.locator("[data-tips-read]").click()
    expect(page.locator("#tips")).to_have_count(0)
    page.reload()
    expect(page.locator("#announcements, #tips")).to_have_count(0)

    # an answer is copied with its sources, and kept as a file of each kind
    question = f"{words.question} ({options['width']})"
    asked(page, question)
    page.locator("[data-copy-sources]").click()
    expect(page.locator("#toasts .toast")).to_be_visible()
    assert sources in clipboard(page)
    assert re.search(r"\[1\] \S", clipboard(page))
    for kind in ("docx", "pdf", "md"):
        page.locator("[data-menu=export-menu]").click()
        with page.expect_download() as saved:
            page.locator(f"#export-menu [data-kind={kind}]").click()
        assert saved.value.suggested_filename.endswith(f".{kind}")

    # a source says when it was reviewed, and is reported as wrong
    page.locator(".report .cite").first.click()
    panel = page.locator("#evidence")
    expect(panel).to_contain_text(re.compile("reviewed on|复核"))
    panel.locator("[data-wrong-source]").click()
    expect(page.locator("#vote-comment")).to_have_value(re.compile(r"\[\d\]"))
    expect(page.locator("#vote input:checked")).to_have_value("bad_source")
    with page.expect_response(re.compile("/api/v1/feedback")):
        page.locator("#vote [type=submit]").click()

    def stored() -> tuple[str, bool]:
        vote = Vote.objects.get(message__question=question)
        return vote.vote, Signal.objects.filter(message=vote.message_id, kind="wrong_source").exists()

    assert beside(stored) == ("down", True)

    # the same question again comes from the cache, and fresh where that is wanted
    page.goto(f"{live_site.url}/")
    asked(page, question)
    expect(page.locator(".turn-cached")).to_be_visible()
    page.locator("[data-ask-fresh]").click()
    expect(page.locator(".versions")).to_contain_text("2 / 2")
    expect(page.locator(".turn")).to_have_attribute("data-state", "done")
    expect(page.locator(".turn-cached")).to_have_count(0)

    # a long conversation shows its end, the rest when it is wanted, and what was summed up
    page.goto(f"{live_site.url}/c/{news}")
    expect(page.locator(".turn")).to_have_count(30)
    page.locator("[data-earlier]").click()
    expect(page.locator(".turn")).to_have_count(TURNS)
    page.locator(".recap summary").click()
    expect(page.locator(".recap-text")).to_contain_text("T_mod was discussed.")


@pytest.mark.parametrize(
    ("scheme", "options"),
    [
        pytest.param("dark", {"width": 390, "height": 844, "locale": "en-GB"}, marks=pytest.mark.full),
        ("light", {"width": 1440, "locale": "zh-CN"}),
    ],
)
def test_axe_finds_nothing_in_what_the_chat_opens(open_page, live_site, news, picture, scheme, options):
    words = Chinese if options["locale"] == "zh-CN" else English
    live_site.llm.default = Reply(texts=words.pieces)
    page = open_page(live_site.reader, bypass_csp=True, color_scheme=scheme, **options)
    faults = faults_of(page, "the first page")
    page.locator("[data-dismiss]").click()
    page.locator("#sets-button").click()
    faults += faults_of(page, "the chooser")
    page.keyboard.press("Escape")
    page.locator("#question").fill("/")
    expect(page.locator("#suggest [role=option]").first).to_be_visible()
    faults += faults_of(page, "commands")
    page.locator("#question").fill("")
    page.set_viewport_size({"width": options["width"], "height": 900})
    asked(page, words.question)
    picture(page, f"chat-{options['width']}-{scheme}.png", colours=64)
    for name, opener in (
        ("the panel of a source", ".report .cite"),
        ("how it was found", ".found-summary"),
        ("ratings", ".rate"),
        ("what was wrong", "[data-vote=down]"),
    ):
        page.locator(opener).first.click()
        if name == "the panel of a source":
            expect(page.locator("#evidence .evidence-title")).to_be_visible()
        page.wait_for_function("document.getAnimations().length === 0")
        faults += faults_of(page, name)
        page.keyboard.press("Escape")
    for address in ("profile", "sets", "inbox"):
        page.goto(f"{live_site.url}/{address}")
        faults += faults_of(page, address)

    assert faults == [], json.dumps(faults, indent=1)
