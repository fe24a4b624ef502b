"""What comes in between while people type, choose or read, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.content import English
from tests.scripted_llm import Reply

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def fresh_script(live_site):
    live_site.llm.default = Reply(texts=English.pieces)
    live_site.llm.release.clear()
    yield
    live_site.llm.release.set()


def ask(page: Page, question: str = English.question) -> None:
    page.locator("#question").fill(question)
    page.locator("#question").press("Enter")
    expect(page.locator(".turn .question").last).to_have_text(question)


def asked(page: Page, question: str = English.question) -> None:
    ask(page, question)
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done")


def test_the_keyboard_of_a_phone_leaves_the_open_form_with_its_text(open_page):
    page = open_page(width=390, height=844)
    asked(page)
    page.locator("[data-vote=down]").last.click()
    page.locator("#vote-comment").fill("The timer was changed.")

    page.set_viewport_size({"width": 390, "height": 420})

    page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
    assert page.evaluate("innerHeight") == 420
    expect(page.locator("#vote-comment")).to_be_in_viewport()
    expect(page.locator("#vote-comment")).to_have_value("The timer was changed.")
    page.set_viewport_size({"width": 844, "height": 390})
    expect(page.locator("#vote")).to_be_hidden()
