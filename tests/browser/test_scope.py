"""Where a question searches: chosen, shown, kept or not, and reached from the list of sets; conversations by Enter."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.content import English
from tests.browser.test_composer import asked

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("fresh_script"),
]
OFF_TOPIC = "Who won the football world cup in 2018?"


def choose(page: Page, *names: str) -> None:
    page.locator("#sets-button").click()
    for name in names:
        page.locator("#scope-sets .choice", has_text=name).click()


def test_a_choice_of_sets_is_shown_refused_in_widened_and_kept_only_where_it_is_pinned(open_page, live_site):
    page = open_page(live_site.reader)
    label = page.locator("#sets-label")
    expect(label).to_have_text("All knowledge sets")
    choose(page, "测试")
    page.keyboard.press("Escape")
    expect(page.locator("#set-chips .chip")).to_have_text("Set: 测试")

    asked(page, OFF_TOPIC)
    turn = page.locator(".turn").last
    expect(turn.locator(".turn-asked-in")).to_have_count(0)  # the notice says it
    expect(turn.locator(".notice")).to_contain_text("Searched only in: 测试.")
    turn.get_by_role("button", name="Search all knowledge sets").click()
    expect(page.locator(".turn .versions .number")).to_contain_text("2 / 2")
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done")
    expect(page.locator(".turn-asked-in")).to_have_count(0)
    expect(label).to_have_text("All knowledge sets")

    choose(page, "测试")
    page.keyboard.press("Escape")
    page.get_by_role("link", name="New chat").first.click()
    expect(label).to_have_text("All knowledge sets")
    choose(page, "测试")
    page.get_by_label("Use this choice for new chats, too").check()
    page.goto(live_site.url)
    expect(label).to_have_text("测试")
    choose(page, "3GPP specifications", "基站产品")  # now all that may be read are chosen
    expect(label).to_have_text("All knowledge sets")
    expect(page.locator("#set-chips")).to_be_hidden()


def test_a_set_leads_to_its_documents_and_to_a_question_in_it(open_page, live_site):
    page = open_page(live_site.reader, width=390, at="/sets")

    page.get_by_role("link", name="3GPP specifications").click()
    document = page.locator(".lines .line").first
    expect(document).to_contain_text("Searchable")
    document.get_by_role("link").click()
    expect(page.locator(".document-chunk").first).to_be_visible()
    page.go_back()
    page.get_by_role("link", name="Ask in this knowledge set").click()
    expect(page.locator("#set-chips .chip")).to_have_text("Set: 3GPP specifications")
    asked(page, English.question)

    expect(page.locator(".turn-asked-in")).to_have_text("Searched in: 3GPP specifications")


def test_enter_opens_the_first_conversation_found_and_arrows_move(open_page):
    page = open_page()
    asked(page, f"{English.question} Zeppelin.")
    opened = page.url
    page.get_by_role("link", name="New chat").first.click()
    expect(page).not_to_have_url(opened)
    query = page.locator("#side-query")

    query.fill("quagga")
    query.press("Enter")
    expect(page.locator("#side-list")).to_contain_text("No conversation contains “quagga”.")
    query.fill("Zeppelin")
    expect(page.locator("#side-list .side-item")).to_have_count(1)
    query.press("ArrowDown")
    expect(page.locator("#side-list .side-item a")).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(query).to_be_focused()
    query.press("Enter")

    expect(page).to_have_url(re.compile(re.escape(opened)))
