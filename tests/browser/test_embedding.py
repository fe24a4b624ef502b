"""The chat on a page of another origin, in a real browser: a portal on `localhost`, the site on `127.0.0.1`."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Frame, Page, expect

from accounts.models import User
from chat.embeds.sessions import sessions_end_in
from chat.models import Conversation, Embed
from feedback.models import Vote
from knowledge.models import KnowledgeSet
from ragsite.embedded.processes import wait_until
from tests.browser.conftest import FLAGS
from tests.browser.content import Chinese, English
from tests.browser.test_admin_pages import AXE, CHECK, RULES, faults_of
from tests.chat.embeds.signing import make_embed, token_for
from tests.scripted_llm import Reply

pytestmark = [
    *(pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)),
    pytest.mark.usefixtures("fresh_script"),
]
NO_THIRD_PARTY_COOKIES = "--test-third-party-cookie-phaseout"


@dataclass
class Portal:
    """A page of somebody else's: its server signs for whoever is signed in there (`person`)."""

    site: str
    person: str = "chen"
    lang: str = "en"
    attributes: str = 'data-token-url="/chat-token"'
    embed: Any = None
    secret: str = ""
    url: str = ""
    tokens: int = 0
    faults: list[str] = field(default_factory=list)

    def token(self) -> str:
        self.tokens += 1
        return token_for(self.embed, self.secret, self.person)

    def page(self) -> str:
        """Under a policy that allows neither inline scripts nor inline styles."""
        attributes = self.attributes.replace("TOKEN", self.token() if "TOKEN" in self.attributes else "")
        script = f'<script src="{self.site}/embed.js" data-embed="{self.embed.code}" {attributes} async></script>'
        return (
            f'<!doctype html><html lang="{self.lang}"><title>Portal</title><meta name="viewport" '
            f'content="width=device-width"><h1>Portal</h1><p><a href="/other">Another page</a></p>{script}</html>'
        )

    def policy(self) -> str:
        return f"default-src 'none'; script-src {self.site}; frame-src {self.site}; connect-src 'self'"


@contextmanager
def serving_portal(portal: Portal) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_token = self.path == "/chat-token"
            text = json.dumps({"token": portal.token()}) if is_token else portal.page()
            self.send_response(200)
            self.send_header("Content-Type", "application/json" if is_token else "text/html; charset=utf-8")
            self.send_header("Content-Security-Policy", portal.policy())
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://localhost:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def portal(live_site: Any, beside: Any) -> Iterator[Portal]:
    """A portal whose origin is named, with a chat of the 3GPP specifications."""
    page = Portal(site=live_site.url)

    def make() -> tuple[Embed, str]:
        Embed.objects.all().delete()
        admin = User.objects.get(username="lin")
        values = {"origins": [page.url], "title": "Ask the standards", "title_zh": "标准问答"}
        return make_embed(admin, KnowledgeSet.objects.get(code="3gpp"), **values)

    with serving_portal(page) as page.url:
        page.embed, page.secret = beside(make)
        yield page


def chat_of(page: Page) -> Frame:
    """Open the chat and wait until it can be used."""
    page.get_by_role("button", name=re.compile("Open the chat|打开问答")).click()
    frame = page.frame_locator("iframe")
    expect(frame.locator("#question")).to_be_enabled()
    return next(one for one in page.frames if "/embed/" in one.url)


def asked(frame: Frame, question: str = English.question) -> None:
    frame.locator("#question").fill(question)
    frame.locator("#question").press("Enter")
    expect(frame.locator(".turn").last).to_have_attribute("data-state", "done")


def test_a_question_is_answered_with_its_source_for_the_person_of_the_page(open_page, live_site, portal, beside):
    page = open_page(live_site.admin)  # signed in on the site itself as somebody else
    page.goto(portal.url)

    frame = chat_of(page)
    expect(frame.locator("#person")).to_contain_text("chen")
    expect(frame.locator("#question")).to_be_focused()
    asked(frame)
    frame.locator(".turn-sources [data-cite]").first.click()
    expect(frame.locator("#evidence .evidence-title")).to_be_visible()
    expect(frame.locator("#evidence .passage")).to_contain_text("T_mod")
    page.keyboard.press("Escape")
    expect(frame.locator("#evidence")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator("iframe")).to_be_hidden()
    expect(page.get_by_role("button", name="Open the chat")).to_be_focused()

    row = beside(lambda: Conversation.objects.select_related("user", "embed").get(embed__isnull=False))
    assert (row.user.username, row.embed.name) == ("chen", "Portal")
    own = open_page(live_site.reader)
    expect(own.locator(".side-item", has_text="Portal")).to_be_visible()


def test_a_file_is_asked_about_and_an_answer_is_judged_in_the_frame(open_page, live_site, portal, beside):
    live_site.llm.default = Reply(texts=("The daily allowance is 34 euros [1].",))
    page = open_page(None)
    page.goto(portal.url)
    frame = chat_of(page)

    text = b"The daily allowance for Ravensburg is 34 euros. Receipts are sent to the travel desk within ten days."
    file = {"name": "travel.md", "mimeType": "text/markdown", "buffer": text}
    frame.locator("#attach-input").set_input_files(file)
    expect(frame.locator("#attached > li")).to_have_attribute("data-state", "ready")
    asked(frame, "How high is the daily allowance for Ravensburg?")
    turn = frame.locator(".turn").last
    expect(turn.locator(".question-files")).to_contain_text("travel.md")
    turn.locator(".cite").first.click()
    expect(frame.locator("#evidence mark").first).to_contain_text("34 euros")
    page.keyboard.press("Escape")
    turn.get_by_role("button", name="Not helpful").click()
    frame.locator("#vote-comment").fill("In which currency?")
    frame.get_by_role("button", name="Send").click()
    expect(frame.locator("#toasts")).to_contain_text("A reviewer will look at it")

    vote = beside(lambda: Vote.objects.select_related("user").get(comment="In which currency?"))
    assert (vote.user.username, vote.vote) == ("chen", "down")
    page.reload()
    frame = chat_of(page)
    expect(frame.locator("#attached > li")).to_have_attribute("data-state", "ready")
    expect(frame.locator("[data-vote=down]")).to_have_attribute("aria-pressed", "true")


def test_on_a_telephone_the_focus_stays_in_the_chat(open_page, portal):
    page = open_page(None, width=390, height=800)
    page.goto(portal.url)
    frame = chat_of(page)
    for key in ("Tab", "Shift+Tab"):
        for _ in range(9):  # more than the frame has
            page.keyboard.press(key)
        assert page.evaluate("document.activeElement.shadowRoot?.activeElement?.localName") == "iframe"
        assert frame.evaluate("document.hasFocus() && document.activeElement !== document.body")
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Open the chat")).to_be_focused()


def test_the_conversation_goes_on_on_the_next_page_and_not_for_the_next_person(open_page, portal):
    page = open_page(None)
    page.goto(portal.url)
    asked(chat_of(page))

    page.get_by_role("link", name="Another page").click()
    frame = chat_of(page)
    expect(frame.locator(".turn .question")).to_have_text(English.question)
    portal.person = "maya"
    page.reload()
    frame = chat_of(page)

    expect(frame.locator("#person")).to_contain_text("Maya")
    expect(frame.locator(".turn")).to_have_count(0)


def test_without_third_party_cookies_the_chat_works_and_sets_none(browser, portal):
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    other = browser.browser_type.launch(executable_path=chromium, args=[*FLAGS, NO_THIRD_PARTY_COOKIES])
    try:
        context = other.new_context()
        page = context.new_page()
        page.goto(portal.url)
        frame = chat_of(page)
        asked(frame)
        expect(frame.locator(".turn .report")).to_contain_text("2 s")
        assert context.cookies() == []
    finally:
        other.close()


def test_a_token_in_the_page_opens_one_chat(open_page, portal):
    portal.attributes = 'data-token="TOKEN"'
    page = open_page(None)
    page.goto(portal.url)

    asked(chat_of(page))

    assert portal.tokens == 1


def test_pages_of_other_origins_show_no_chat_and_no_broken_frame(browser, portal, beside):
    context = browser.new_context(viewport={"width": 390, "height": 800})  # the page's own button is covered
    said: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    beside(lambda: Embed.objects.update(origins=["https://elsewhere.example.com"]))

    page.goto(portal.url)
    page.get_by_role("button", name="Open the chat").click()
    expect(page.locator("iframe")).to_be_hidden()  # nothing of a frame that is refused
    page.get_by_role("button", name="Close the chat").and_(page.locator(":focus")).press("Enter")
    expect(page.get_by_role("button", name="Open the chat")).to_be_focused()
    page.get_by_role("button", name="Open the chat").click()

    expect(page.get_by_role("alert")).to_contain_text("cannot be shown on this page")
    assert any("frame-ancestors" in text for text in said)
    assert portal.tokens == 0  # the token never left the page
    context.close()


def test_who_may_not_enter_is_told_so(open_page, portal):
    portal.person = "nobody"
    page = open_page(None)
    page.goto(portal.url)

    page.get_by_role("button", name="Open the chat").click()

    frame = page.frame_locator("iframe")
    expect(frame.locator("#barrier")).to_contain_text("cannot use this chat")
    expect(frame.locator("#question")).to_be_disabled()


def test_a_chat_goes_on_with_a_new_token_when_its_session_ends(open_page, portal, beside, live_site):
    page = open_page(None)
    page.goto(portal.url)
    frame = chat_of(page)
    asked(frame)
    frame.evaluate("window.testBefore = Date.now; Date.now = () => window.testBefore() + 60000")  # not a quick end
    before = portal.tokens

    beside(lambda: sessions_end_in(portal.embed))
    assert wait_until(lambda: portal.tokens > before, seconds=30)  # the socket was closed, and the page was asked
    expect(frame.locator("#main[data-open]")).to_be_visible()
    asked(frame, "How long does T_mod wait?")

    expect(frame.locator(".turn")).to_have_count(2)


@pytest.mark.parametrize("width", [1280, 390])
def test_chinese_dark_and_narrow_without_a_fault_that_axe_finds(open_page, live_site, portal, picture, width):
    portal.lang = "zh-CN"
    live_site.llm.default = Reply(texts=Chinese.pieces)
    page = open_page(None, width=width, height=800, color_scheme="dark", bypass_csp=True)
    page.goto(portal.url)

    frame = chat_of(page)
    expect(frame.locator(".embed-title")).to_have_text("标准问答")
    asked(frame, Chinese.question)
    expect(frame.locator("html")).to_have_attribute("data-theme", "dark")
    box = page.locator("iframe").bounding_box()
    picture(page, f"embed-{width}.png")

    assert box is not None
    assert box["width"] == (390 if width == 390 else 418)
    assert frame.evaluate("document.documentElement.scrollWidth <= innerWidth")
    frame.evaluate(AXE)
    assert frame.evaluate(CHECK, RULES) == []


def test_an_administrator_adds_a_chat_copies_its_secret_and_tries_it(open_page, live_site, beside):
    page = open_page(live_site.admin, bypass_csp=True)
    page.goto(f"{live_site.url}/admin/chat/embed/add/")
    page.locator("#id_name").fill("Intranet")
    page.locator("#id_origins").fill("https://intranet.example.com")
    page.get_by_label("3GPP specifications").check()
    page.locator("[name=_save]:visible").first.click()
    page.get_by_role("button", name="Create a secret").click()
    expect(page.locator("#new-secret")).to_have_text(re.compile(r"^[\w-]{43}$"))
    faults = faults_of(page, "keys and script")
    page.get_by_role("button", name=re.compile("Remove key")).click()
    expect(page.get_by_text("The key was removed")).to_be_visible()
    frame = chat_of(page)
    asked(frame)
    page.goto(f"{live_site.url}/admin/chat/embed/")
    faults += faults_of(page, "embedded chats")

    expect(page.locator("#result_list")).to_contain_text("Intranet")
    assert faults == [], json.dumps(faults, indent=1)
