"""What comes in between while people type, choose or read, in a real browser."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.content import English
from tests.scripted_llm import Reply

pytestmark = [
    *(pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)),
    pytest.mark.usefixtures("fresh_script"),
]

FOLLOW_UP = "What is a session deletion?"
PDF = "Session management between control and user plane"


def ask(page: Page, question: str = English.question) -> None:
    page.locator("#question").fill(question)
    page.locator("#question").press("Enter")
    expect(page.locator(".turn .question").last).to_have_text(question)


def asked(page: Page, question: str = English.question) -> None:
    ask(page, question)
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done")


def menu_of(page: Page, row) -> None:
    row.hover()
    row.locator(".icon-button").click()


def remember_sets(page: Page, name: str) -> None:
    """As if new chats were to begin with this set alone."""
    number = page.locator(f"#chooser input[data-name='{name}']").get_attribute("value")
    page.evaluate("value => localStorage.setItem('sets-pinned', value)", json.dumps([int(number or 0)]))


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


def test_a_document_is_asked_without_the_sets_of_the_last_question(open_page, live_site):
    page = open_page()
    remember_sets(page, "测试")
    link = page.locator(".start-documents a", has_text=PDF).get_attribute("href") or ""
    number = re.sub(r"\D", "", link)
    page.goto(f"{live_site.url}/?document={number}")

    expect(page.locator("#sets-label")).to_have_text("All knowledge sets")
    asked(page)

    expect(page.locator(".turn .source").first).to_contain_text(PDF)
    page.goto(live_site.url)
    expect(page.locator("#sets-label")).to_have_text("测试")


def test_an_example_is_asked_where_it_was_checked(open_page, live_site):
    page = open_page()
    remember_sets(page, "测试")
    page.reload()
    expect(page.locator("#sets-label")).to_have_text("测试")

    page.locator(".example").first.click()

    expect(page.locator(".turn")).to_have_attribute("data-state", "done")
    expect(page.locator(".turn .source").first).to_contain_text(PDF)
    expect(page.locator("#sets-label")).to_have_text("All knowledge sets")


def test_a_source_that_is_opened_before_the_answer_is_complete_opens_when_it_is(open_page, live_site):
    live_site.llm.default = Reply(texts=English.pieces, hold_before=4)
    page = open_page()
    ask(page, f"{English.question} Opened early.")
    page.locator(".report .cite").first.click()

    panel = page.locator("#evidence")
    expect(panel).to_contain_text("The source can be opened when the answer is complete.")
    expect(panel.get_by_role("button", name="Try again")).to_be_visible()
    live_site.llm.release.set()

    expect(page.locator(".turn")).to_have_attribute("data-state", "done")
    expect(panel.locator(".evidence-title")).to_be_visible()
    expect(page.locator(".report .cite[aria-expanded=true]")).to_have_count(1)


def test_what_is_sent_after_the_session_has_ended_is_not_taken_for_done(open_page):
    page = open_page()
    asked(page)
    row = page.locator(".side-item[data-current]")
    menu_of(page, row)
    page.locator("[data-action=rename]").click()
    page.context.clear_cookies(name="sessionid")
    page.locator(".side-rename").fill("A name that nobody stored")
    page.keyboard.press("Enter")

    page.wait_for_url(re.compile("/sign-in.*expired"))


def test_a_vote_counts_though_another_branch_is_shown_meanwhile(open_page, live_site):
    page = open_page(live_site.reader)
    asked(page)
    page.locator(".turn").get_by_role("button", name="Answer again").click()
    page.get_by_role("menuitem", name="Shorter").click()
    expect(page.locator(".versions")).to_contain_text("2 / 2")
    expect(page.locator(".turn")).to_have_attribute("data-state", "done")
    other = page.context.new_page()
    other.goto(page.url)
    page.locator("[data-vote=down]").click()
    page.locator("#vote-comment").fill("Too short.")

    other.get_by_role("button", name="Previous version").click()
    expect(page.locator(".versions")).to_contain_text("1 / 2")
    with page.expect_response(lambda response: response.url.endswith("/api/v1/feedback")) as sent:
        page.locator("#vote [type=submit]").click()

    assert sent.value.json()["comment"] == "Too short."
    with page.expect_response(lambda response: response.url.endswith("/api/v1/feedback")):
        page.locator("[data-vote=up]").click()


@pytest.fixture
def suggesting(open_page, live_site) -> Page:
    """A finished answer with a suggestion below it."""
    page = open_page(live_site.reader)
    button = f'<button class="follow-up" type="button" data-example="{FOLLOW_UP}">{FOLLOW_UP}</button>'
    html = f'<section class="follow-ups">{button}</section>'
    page.route("**/follow-ups", lambda route: route.fulfill(body=html, content_type="text/html"))
    asked(page)
    expect(page.locator(".follow-up")).to_be_visible()
    return page


def test_a_suggestion_leaves_the_draft_in_the_field(suggesting):
    suggesting.locator("#question").fill("Half of a questi")

    suggesting.locator(".follow-up").click()

    expect(suggesting.locator(".turn .question").last).to_have_text(FOLLOW_UP)
    expect(suggesting.locator("#question")).to_have_value("Half of a questi")


def test_a_suggestion_is_no_version_of_the_question_that_is_edited(suggesting):
    suggesting.get_by_role("button", name="Edit the question").click()
    suggesting.locator(".follow-up").click()

    expect(suggesting.locator(".turn .question")).to_have_text([English.question, FOLLOW_UP])
    expect(suggesting.locator("#editing")).to_be_hidden()
    expect(suggesting.locator("#question")).to_have_value("")
    expect(suggesting.locator(".turn").last).to_have_attribute("data-state", "done")

    suggesting.locator(".turn").first.get_by_role("button", name="Edit the question").click()
    suggesting.locator("#question").fill("In other words")
    suggesting.locator(".follow-up").click()
    expect(suggesting.locator(".turn")).to_have_count(3)
    expect(suggesting.locator("#question")).to_have_value("In other words")


def test_the_end_of_an_answer_is_announced_and_leaves_the_focus_on_its_citation(open_page, live_site):
    live_site.llm.default = Reply(texts=English.pieces, hold_before=4)
    page = open_page()
    ask(page, f"{English.question} With a screen reader.")
    chip = page.locator(".report .cite").first
    expect(chip).to_be_visible()
    page.locator("#question").press("Shift+Tab")
    chip.focus()
    live_site.llm.release.set()

    expect(page.locator(".turn")).to_have_attribute("data-state", "done")
    expect(page.locator("#announce")).to_have_text(re.compile(r"^The answer is complete\. Sources: [12]$"))
    expect(page.locator(".report .cite").first).to_be_focused()


def test_escape_hides_the_tooltip_before_it_stops_the_answer(open_page, live_site):
    live_site.llm.default = Reply(texts=English.pieces, hold_before=4)
    page = open_page()
    ask(page, f"{English.question} Do not stop.")
    page.locator(".report .cite").first.hover()
    expect(page.locator("#tooltip")).to_be_visible()

    page.keyboard.press("Escape")

    expect(page.locator("#tooltip")).to_be_hidden()
    live_site.llm.release.set()
    expect(page.locator(".turn")).to_have_attribute("data-state", "done")


def test_the_list_of_conversations_waits_for_a_new_name_and_keeps_menu_and_focus(open_page, live_site):
    page = open_page()
    asked(page, f"{English.question} An earlier conversation.")
    page.goto(live_site.url)
    for number, held in enumerate(("rename", "menu", "focus")):
        live_site.llm.release.clear()
        live_site.llm.default = Reply(texts=English.pieces, hold_before=4)
        ask(page, f"{English.question} Meanwhile {number}.")
        expect(page.locator(".report").last).to_contain_text("cause 65")
        row = page.locator(".side-item", has_text="session modification").last
        link = row.locator("a")
        if held != "focus":
            menu_of(page, row)
        if held == "rename":
            page.locator("[data-action=rename]").click()
            page.locator(".side-rename").fill("Half a na")
        elif held == "focus":
            link.focus()
        with page.expect_response(re.compile("/conversations")):
            live_site.llm.release.set()
        expect(page.locator(".turn").last).to_have_attribute("data-state", "done")
        expect(page.locator(".side-item .side-running")).to_have_count(0 if held != "rename" else 1)
        if held == "rename":
            expect(page.locator(".side-rename")).to_have_value("Half a na")
            page.locator(".side-rename").press("Escape")
            expect(page.locator(".side-item .side-running")).to_have_count(0)
        elif held == "menu":
            page.locator("[data-action=rename]").click()
            expect(page.locator(".side-rename")).to_be_focused()
            page.keyboard.press("Escape")
        else:
            expect(link).to_be_focused()


def test_the_list_shows_what_was_searched_for_last(open_page):
    page = open_page()
    page.evaluate("""() => {
        const real = window.fetch;
        window.fetch = async (url, options) => {
            const query = new URL(url, location.href).searchParams.get("q");
            if (query === null) return real(url, options);
            if (query === "a") {
                document.body.dataset.waits = "";
                await new Promise((resolve) => (window.answerFirst = resolve));
            }
            return new Response(`<p class="side-empty">found for ${query}</p>`);
        };
    }""")
    page.locator("#side-query").fill("a")
    expect(page.locator("body[data-waits]")).to_have_count(1)
    page.locator("#side-query").fill("ab")
    expect(page.locator("#side-list")).to_have_text("found for ab")

    page.evaluate("window.answerFirst()")
    page.evaluate("new Promise((resolve) => setTimeout(resolve))")

    expect(page.locator("#side-list")).to_have_text("found for ab")
