"""Answering again, editing an earlier question, and paging between the versions, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.browser.content import English
from tests.scripted_llm import Reply

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def fresh_script(live_site):
    live_site.llm.default = Reply(texts=English.pieces)


def asked(page: Page, question: str) -> None:
    page.locator("#question").fill(question)
    page.locator("#question").press("Enter")
    expect(page.locator(".turn").last.locator(".question")).to_have_text(question)
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done")


def test_versions_are_kept_and_follow_ups_belong_to_the_one_shown(open_page, live_site):
    page = open_page(live_site.reader)
    asked(page, English.question)
    asked(page, "And when does it fail?")
    first, last = page.locator(".turn").first, page.locator(".turn").last

    last.get_by_role("button", name="Answer again").click()
    page.get_by_role("menuitem", name="Shorter").click()
    expect(last.locator(".versions")).to_contain_text("2 / 2")
    expect(page.locator(".turn")).to_have_count(2)
    asked(page, "Who decides that?")

    page.locator(".turn").nth(1).get_by_role("button", name="Previous version").click()
    expect(page.locator(".turn")).to_have_count(2)
    expect(last.locator(".versions")).to_contain_text("1 / 2")
    page.reload()
    expect(last.locator(".versions")).to_contain_text("1 / 2")
    last.get_by_role("button", name="Next version").click()
    expect(page.locator(".turn")).to_have_count(3)

    first.get_by_role("button", name="Edit the question").click()
    expect(page.locator("#editing")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#editing")).to_be_hidden()
    first.get_by_role("button", name="Edit the question").click()
    asked(page, "What is session management for?")
    expect(page.locator(".turn")).to_have_count(1)
    expect(first.locator(".versions")).to_contain_text("2 / 2")
    first.get_by_role("button", name="Previous version").click()
    expect(page.locator(".turn")).to_have_count(3)


@pytest.mark.full
def test_another_tab_shows_the_version_too(open_page, live_site):
    page = open_page(live_site.reader)
    asked(page, English.question)
    other = page.context.new_page()
    other.goto(page.url)

    page.locator(".turn").get_by_role("button", name="Answer again").click()
    page.get_by_role("menuitem", name="Closer to the sources").click()

    expect(page.locator(".versions")).to_contain_text("2 / 2")
    expect(other.locator(".versions")).to_contain_text("2 / 2")
    expect(other.locator(".turn")).to_have_count(1)
    expect(other.locator(".turn")).to_have_attribute("data-state", "done")
