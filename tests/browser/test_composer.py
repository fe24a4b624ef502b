"""Choosing how to answer, suggestions, folders and search in a real browser; an answer that outlives its connection."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.content import English
from tests.scripted_llm import Reply

pytestmark = [
    *(pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)),
    pytest.mark.usefixtures("fresh_script"),
]


def asked(page: Page, question: str) -> None:
    page.locator("#question").fill(question)
    page.locator("#question").press("Enter")
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done")


def test_a_slash_chooses_and_the_choice_is_remembered(open_page):
    page = open_page()

    page.locator("#question").press_sequentially("/prec")
    expect(page.locator("#suggest [role=option]")).to_have_count(1)
    with page.expect_response("**/preferences"):
        page.keyboard.press("Enter")

    expect(page.locator("#question")).to_have_value("")
    expect(page.locator("#asking-label")).to_have_text("Precise")
    page.reload()
    expect(page.locator("#asking-label")).to_have_text("Precise")
    page.locator("#asking-button").click()
    with page.expect_response("**/preferences"):
        page.locator("#asking input[name=style][value='']").check()


def test_suggestions_are_taken_by_keyboard_and_never_sent_by_themselves(open_page, live_site):
    page = open_page(live_site.reader)
    page.locator("#question").press_sequentially("what is session man")
    option = page.locator("#suggest [role=option]").first
    expect(option).to_contain_text("Session management")

    page.keyboard.press("ArrowDown")
    expect(option).to_have_attribute("aria-selected", "true")
    assert page.locator("#question").get_attribute("aria-activedescendant") == "suggest-0"
    page.keyboard.press("Enter")

    expect(page.locator("#question")).to_have_value(re.compile("^what is Session management"))
    expect(page.locator("#suggest")).to_be_hidden()
    expect(page.locator(".turn")).to_have_count(0)


@pytest.mark.parametrize(("width", "locale"), [pytest.param(1280, "en-US", marks=pytest.mark.full), (390, "zh-CN")])
def test_a_conversation_is_moved_to_a_folder_found_by_its_answer_and_archived(open_page, live_site, width, locale):
    page = open_page(live_site.author, width=width, locale=locale)
    asked(page, f"{English.question} For the folder, {width}.")

    def side() -> None:
        if width < 960:
            page.locator("#side-open").click()

    def act(name: str) -> None:
        row = page.locator(".side-item").first
        row.hover()
        row.locator(".icon-button").click()
        page.locator(f"[data-action={name}]").click()

    side()
    act("move")
    page.locator("#folder-name").fill("Mine")
    page.keyboard.press("Enter")
    expect(page.locator(".side-folder")).to_contain_text("Mine")

    page.locator("#side-query").fill("SESSIONTIMER")
    place = page.locator(".side-place a").first
    expect(place.locator("mark")).to_have_text("SESSIONTIMER")
    place.click()
    expect(page).to_have_url(re.compile(r"\?turn=.*#turn-"))
    assert page.evaluate("CSS.highlights.get('found').size") > 0

    side()
    act("archive")
    expect(page.locator(".side-folder")).to_have_count(0)
    page.locator("[data-archive='1']").click()
    expect(page.locator(".side-item[data-archived=true][data-folder=Mine]").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_each_word_of_a_search_is_marked_also_across_types(open_page, live_site):
    page = open_page(live_site.author)
    asked(page, f"{English.question} For the marks.")

    page.locator("#side-query").fill("(t_mod) cause")
    place = page.locator(".side-place a").first
    expect(place.locator("mark", has_text="(T_mod)")).to_be_visible()
    place.click()

    expect(page).to_have_url(re.compile(r"\?turn=.*#turn-"))
    marked = page.evaluate("[...CSS.highlights.get('found')].map((range) => range.toString().toLowerCase())")
    assert set(marked) == {"(t_mod)", "cause"}


def test_an_answer_goes_on_in_another_tab_and_after_the_connection_broke(open_page, live_site):
    live_site.llm.default = Reply(texts=English.pieces, hold_before=3)
    page = open_page(live_site.reader)
    page.evaluate("""() => {
        const Real = window.WebSocket;
        window.WebSocket = class extends Real {
            constructor(...all) { super(...all); window.lastSocket = this; }
        };
    }""")
    page.locator("#question").fill(f"{English.question} With a bad connection.")
    page.keyboard.press("Enter")
    expect(page.locator(".report h2")).to_have_text("Result")
    expect(page).to_have_url(re.compile("/c/"))
    asked_before = len(live_site.llm.requests)

    page.evaluate("window.lastSocket.close()")
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator(".report h2")).to_have_text("Result")
    live_site.llm.release.set()

    for tab in (page, other):
        expect(tab.locator(".turn").last).to_have_attribute("data-state", "done")
        expect(tab.locator(".report pre")).to_contain_text("SET SESSIONTIMER")
    assert page.locator(".report").inner_html() == other.locator(".report").inner_html()
    assert len(live_site.llm.requests) == asked_before
