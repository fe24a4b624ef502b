"""What people have typed, asked or attached is never lost, and never asked twice, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.content import English
from tests.browser.test_interruptions import ask, asked, menu_of
from tests.scripted_llm import Reply

pytestmark = [
    *(pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)),
    pytest.mark.usefixtures("fresh_script"),
]

SOCKET = re.compile("/ws/chat")


def socket_of(page: Page, handle: Callable[[WebSocketRoute, WebSocketRoute, int], None]) -> None:
    """Put `handle(page side, server side, number of the connection)` between the page and the server; loads anew."""
    opened: list[WebSocketRoute] = []

    def connected(route: WebSocketRoute) -> None:
        opened.append(route)
        handle(route, route.connect_to_server(), len(opened))

    page.route_web_socket(SOCKET, connected)
    page.reload()


def test_a_question_sent_before_the_connection_was_lost_is_asked_once(open_page, live_site):
    page = open_page(live_site.reader)
    question = "Sent once: what is cause 65?"

    def lost_after_sending(route, server, number):
        def to_server(message):
            server.send(message)
            if number == 1:
                route.close(code=1012)

        route.on_message(to_server)
        server.on_message(lambda message: route.send(message) if number > 1 else None)
        server.on_close(lambda code, reason: route.close(code=code) if number > 1 else None)

    socket_of(page, lost_after_sending)
    before = len(live_site.llm.requests)
    asked(page, question)

    expect(page.locator(".turn")).to_have_count(1)
    expect(page.locator(".side-item", has_text="Sent once")).to_have_count(1)
    asks = [one for one in live_site.llm.requests[before:] if "Sent once" in json.dumps(one.body)]
    assert len([one for one in asks if one.body.get("stream")]) == 1


def test_an_edited_question_that_is_refused_goes_back_into_the_field(open_page):
    page = open_page()

    def refusing(route, server, number):
        def to_server(message):
            if "instead_of" in message:
                route.send(json.dumps({"type": "problem", "code": "busy", "message": "Try again later."}))
            else:
                server.send(message)

        route.on_message(to_server)

    socket_of(page, refusing)
    asked(page)
    page.locator("#question").fill("Half of another questi")
    page.get_by_role("button", name="Edit the question").click()
    page.locator("#question").fill("In other words")
    page.locator("#question").press("Enter")

    expect(page.locator("#toasts")).to_contain_text("Try again later.")
    expect(page.locator("#question")).to_have_value("In other words")
    expect(page.locator("#editing")).to_be_visible()
    expect(page.locator(".turn .question")).to_have_text([English.question])
    page.keyboard.press("Escape")
    expect(page.locator("#question")).to_have_value("Half of another questi")


def test_what_is_being_written_survives_the_editing_of_another_question(open_page):
    page = open_page()
    asked(page)
    page.locator("#question").fill("Half of a questi")

    page.get_by_role("button", name="Edit the question").click()
    expect(page.locator("#question")).to_have_value(English.question)
    page.keyboard.press("Escape")
    expect(page.locator("#question")).to_have_value("Half of a questi")

    page.get_by_role("button", name="Edit the question").click()
    page.locator("#question").fill("In other words")
    page.locator("#question").press("Enter")
    expect(page.locator(".versions")).to_contain_text("2 / 2")
    expect(page.locator("#question")).to_have_value("Half of a questi")


def test_a_question_that_waits_for_the_connection_can_be_taken_back(open_page):
    page = open_page()
    page.context.set_offline(True)
    ask(page, "Is anybody there?")

    page.locator("#stop").click()

    expect(page.locator(".turn")).to_have_count(0)
    expect(page.locator("#question")).to_have_value("Is anybody there?")
    expect(page.locator("#welcome")).to_be_visible()
    expect(page.locator("#banner")).to_be_hidden()
    page.context.set_offline(False)
    asked(page)
    expect(page.locator(".turn .question")).to_have_text([English.question])


def test_a_conversation_in_which_somebody_asks_is_not_deleted(open_page):
    page = open_page()
    asked(page, f"{English.question} Keep this.")
    row = page.locator(".side-item[data-current]")
    menu_of(page, row)
    page.locator("[data-action=delete]").click()
    expect(page.locator("#toasts")).to_contain_text("was deleted")

    asked(page, "And the cause 66?")

    expect(page.locator("#toasts .toast")).to_have_count(0)
    expect(page.locator(".side-item[data-current]")).to_be_visible()
    expect(page.locator("#question")).to_be_focused()
    other = page.context.new_page()
    other.goto(page.url)
    menu_of(page, page.locator(".side-item[data-current]"))
    page.locator("[data-action=delete]").click()
    expect(page.locator("#toasts")).to_contain_text("was deleted")

    asked(other, "And the cause 68?")

    expect(page.locator("#toasts .toast")).to_have_count(0)
    page.reload()
    expect(page.locator(".turn")).to_have_count(3)


def test_what_is_in_the_field_outlives_the_deletion_of_its_conversation(open_page, live_site):
    page = open_page()
    asked(page, f"{English.question} Delete this.")
    other = page.context.new_page()
    other.goto(page.url)
    other.locator("#question").fill("A question for later")
    page.clock.install()
    menu_of(page, page.locator(".side-item[data-current]"))
    page.locator("[data-action=delete]").click()
    expect(page.locator("#toasts")).to_contain_text("was deleted")
    page.clock.fast_forward(7000)

    other.wait_for_url(f"{live_site.url}/")

    expect(other.locator("#question")).to_have_value("A question for later")


def test_the_sources_of_an_answer_come_though_the_first_look_has_failed(open_page):
    page = open_page()
    looks: list[str] = []

    def failing(route):
        looks.append(route.request.url)
        if len(looks) < 3:
            route.abort()
        else:
            route.continue_()

    page.route(re.compile(r"/messages/[0-9a-f-]{36}$"), failing)
    asked(page)

    expect(page.locator(".turn .source").first).to_be_visible()
    assert len(looks) == 3


def test_another_tab_takes_a_vote_over_and_keeps_what_is_open(open_page):
    page = open_page()
    asked(page)
    other = page.context.new_page()
    other.goto(page.url)
    other.locator(".found-summary").click()
    expect(other.locator(".found")).to_be_visible()

    page.locator("[data-vote=up]").click()

    expect(other.locator("[data-vote=up]")).to_have_attribute("aria-pressed", "true")
    expect(other.locator(".found")).to_be_visible()


def test_a_new_name_stands_at_the_top_of_every_tab(open_page):
    page = open_page()
    asked(page)
    other = page.context.new_page()
    other.goto(page.url)
    menu_of(page, page.locator(".side-item[data-current]"))
    page.locator("[data-action=rename]").click()
    page.locator(".side-rename").fill("Session causes")
    page.keyboard.press("Enter")

    for tab in (page, other):
        expect(tab.locator("#thread-title")).to_have_text("Session causes")
        expect(tab).to_have_title(re.compile("^Session causes"))


def test_a_file_waits_for_the_question_of_its_own_tab(open_page, live_site):
    live_site.llm.default = Reply(texts=("The daily allowance is 34 euros [1].",))
    page = open_page(live_site.reader)
    page.locator("#attach-input").set_input_files(
        {"name": "travel.md", "mimeType": "text/markdown", "buffer": b"The daily allowance for Ravensburg is 34 euros."}
    )
    file = page.locator("#attached > li")
    expect(file).to_have_attribute("data-state", "ready")
    other = page.context.new_page()
    other.goto(f"{live_site.url}/")

    expect(other.locator("#attached > li")).to_have_count(0)
    other.locator("#attach-input").set_input_files(
        [{"name": f"{n}.md", "mimeType": "text/markdown", "buffer": b"A file."} for n in range(11)]  # type: ignore[list-item]
    )
    expect(other.locator("#toasts")).to_contain_text("A conversation can have 10 attached files.")
    expect(other.locator("#attached > li[data-state=ready]")).to_have_count(10)
    other.reload()
    expect(other.locator("#attached > li")).to_have_count(10)
    for left in reversed(range(10)):
        other.locator("#attached > li .chip-remove").first.click()
        expect(other.locator("#attached > li")).to_have_count(left)
    asked(other)
    expect(other.locator(".question-files")).to_have_count(0)

    page.reload()
    expect(file).to_have_attribute("data-state", "ready")
    asked(page, "How high is the daily allowance for Ravensburg?")
    expect(page.locator(".question-files")).to_contain_text("travel.md")
