"""What trust in the chat rests on: claims lead to their words, nothing typed is lost, tabs agree."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PASSWORD
from tests.browser.content import English
from tests.scripted_llm import Reply

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def fresh_script(live_site):
    live_site.llm.default = Reply(texts=English.pieces)
    yield
    live_site.llm.release.set()


def ask(page: Page, question: str) -> None:
    page.locator("#question").fill(question)
    page.locator("#question").press("Enter")
    expect(page.locator(".turn .question").last).to_have_text(question)
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done")


def test_each_marker_shows_its_own_words_in_text_and_picture_and_its_source_on_hover(open_page):
    page = open_page()
    ask(page, English.question)
    of_pdf = page.locator(".source", has_text="Session management").first.get_attribute("data-cite")
    chips = page.locator(f'.report .cite[data-cite="{of_pdf}"]')
    marked = []

    for number in range(2):
        chips.nth(number).hover()
        tooltip = page.locator("#tooltip")
        expect(tooltip).to_contain_text("Session management")
        expect(tooltip.locator(".tooltip-excerpt")).to_contain_text(re.compile(r"\w{4}"))
        chips.nth(number).click()
        expect(page.locator("#evidence .passage mark").first).to_be_in_viewport()
        picture = page.locator("#evidence .page-picture img").first
        expect(picture).to_be_in_viewport()
        assert "marks=" in picture.get_attribute("src")
        expect(page.locator(".report .cite[aria-expanded]")).to_have_count(1)
        marked.append(page.locator("#evidence .passage mark").all_inner_texts())
        page.keyboard.press("Escape")
    assert marked[0] != marked[1]


def test_a_session_that_ends_keeps_the_typed_question_and_says_what_happened(open_page, live_site):
    page = open_page(width=390, height=844)
    page.context.clear_cookies(name="sessionid")
    page.locator("#question").fill("What was I about to ask?")
    page.locator("#question").press("Enter")

    page.wait_for_url(re.compile("/sign-in"))
    expect(page.get_by_text("Your session has expired")).to_be_visible()
    page.locator("#id_username").fill(live_site.admin)
    page.locator("#id_password").fill(PASSWORD)
    page.locator("#id_password").press("Enter")

    expect(page.locator("#question")).to_have_value("What was I about to ask?")


def test_two_tabs_show_the_same_turns_in_one_order_and_the_same_vote(open_page):
    page = open_page()
    ask(page, English.question)
    other = page.context.new_page()
    other.goto(page.url)
    ask(page, f"{English.question} In the first tab.")
    expect(other.locator(".turn[data-state=done]")).to_have_count(2)

    ask(other, f"{English.question} In the second tab.")
    expect(page.locator(".turn[data-state=done]")).to_have_count(3)
    assert page.locator(".question").all_inner_texts() == other.locator(".question").all_inner_texts()
    page.locator("[data-vote=up]").last.click()
    expect(other.locator("[data-vote=up]").last).to_have_attribute("aria-pressed", "true")
