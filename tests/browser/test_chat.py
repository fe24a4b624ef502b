"""Asking, reading, checking and judging in a real browser."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.content import Chinese, English
from tests.scripted_llm import Reply

pytestmark = [
    *(pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)),
    pytest.mark.usefixtures("fresh_script"),
]


def ask(page: Page, question: str = English.question) -> None:
    page.locator("#question").fill(question)
    page.locator("#question").press("Enter")


def asked(page: Page, question: str = English.question) -> None:
    """Ask and wait for the finished turn."""
    ask(page, question)
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done")


def top_of(page: Page, selector: str) -> float:
    return page.locator(selector).first.bounding_box()["y"]


def test_a_report_grows_block_by_block_and_survives_a_reload(open_page, live_site):
    live_site.llm.default = Reply(texts=English.pieces, hold_before=3)
    page = open_page()

    ask(page, f"{English.question} Step by step, please.")

    expect(page.locator(".report h2")).to_have_text("Result")
    expect(page.locator("#stop")).to_be_visible()
    expect(page.locator(".stages")).to_contain_text("writing")
    expect(page).to_have_url(re.compile(r"/c/[0-9a-f-]{36}$"))
    page.reload()
    expect(page.locator(".report h2")).to_have_text("Result")
    expect(page.locator(".turn")).to_have_attribute("data-state", "running")

    live_site.llm.release.set()

    expect(page.locator(".turn")).to_have_attribute("data-state", "done")
    expect(page.locator(".report pre")).to_contain_text("SET SESSIONTIMER")
    expect(page.locator("#send")).to_be_visible()
    expect(page.locator(".side-item[data-current]")).to_have_count(1)


def test_stopping_keeps_what_was_written(open_page, live_site):
    live_site.llm.default = Reply(texts=English.pieces, hold_before=3)
    page = open_page()
    ask(page, f"{English.question} And stop.")
    expect(page.locator(".report h2")).to_have_text("Result")

    page.locator("#stop").click()

    expect(page.locator(".turn")).to_have_attribute("data-state", "stopped")
    expect(page.locator(".report h2")).to_have_text("Result")
    expect(page.locator("#question")).to_be_focused()


def test_a_citation_opens_its_source_beside_the_report_which_does_not_move(open_page):
    page = open_page()
    asked(page)
    chip = page.locator(".report .cite").first
    chip.scroll_into_view_if_needed()
    before = top_of(page, ".report .cite")

    chip.click()

    expect(page.locator("#evidence .evidence-title")).to_be_visible()
    expect(page.locator("#evidence .evidence-count")).to_contain_text("of")
    assert top_of(page, ".report .cite") == before
    page.keyboard.press("Escape")
    expect(page.locator("#evidence")).to_be_hidden()


def test_the_page_of_a_pdf_is_shown_with_its_passage(open_page):
    page = open_page()
    asked(page)

    page.locator(".source", has_text="Session management").first.click()

    picture = page.locator(".page-picture img").first
    picture.scroll_into_view_if_needed()
    expect(picture).to_have_js_property("complete", True)
    assert picture.evaluate("image => image.naturalWidth") > 800
    expect(page.locator("#evidence mark").first).to_be_visible()

    picture.click()
    zoom = page.locator("#page-zoom")
    expect(zoom.locator("img")).to_have_js_property("complete", True)
    fitted = zoom.locator("img").evaluate("image => image.clientWidth")
    assert fitted > picture.evaluate("image => image.clientWidth") * 1.8
    zoom.locator("img").click()
    assert zoom.locator("img").evaluate("image => image.clientWidth") > fitted
    zoom.get_by_role("button", name="Close").click()
    expect(zoom).to_be_hidden()
    expect(page.locator("#evidence")).to_be_visible()


def test_sources_are_walked_through_by_keyboard(open_page):
    page = open_page()
    asked(page)
    page.locator(".report .cite").first.focus()
    page.keyboard.press("Enter")
    first = page.locator("#evidence .evidence-body")
    expect(first).to_have_attribute("data-number", re.compile(r"\d"))
    number = int(first.get_attribute("data-number"))
    key, other = ("[", number - 1) if number > 1 else ("]", number + 1)

    page.keyboard.press(key)

    expect(page.locator("#evidence .evidence-body")).to_have_attribute("data-number", str(other))


def feedback_is_stored(response):
    return response.url.endswith("/api/v1/feedback") and response.status == 201


def test_a_vote_down_counts_when_it_is_sent_and_a_change_keeps_what_was_said(open_page):
    page = open_page()
    asked(page)
    sent = []
    page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/feedback") else None)
    down, up = page.locator("[data-vote=down]").last, page.locator("[data-vote=up]").last

    for withdraw in ("Escape", "Cancel"):
        down.click()
        page.locator("#vote .pill", has_text="Outdated").click()
        if withdraw == "Escape":
            page.keyboard.press("Escape")
        else:
            page.locator("#vote [data-close]").click()
        expect(page.locator("#vote")).to_be_hidden()
        expect(down).to_have_attribute("aria-pressed", "false")
    assert not sent

    down.click()
    page.locator("#vote .pill", has_text="Outdated").click()
    page.locator("#vote-comment").fill("The timer was changed in release 17.")
    with page.expect_response(feedback_is_stored) as answer:
        page.locator("#vote [type=submit]").click()
    assert answer.value.json()["reasons"] == ["outdated"]
    with page.expect_response(feedback_is_stored) as answer:
        up.click()
    assert answer.value.json()["comment"] == "The timer was changed in release 17."

    page.reload()
    expect(up).to_have_attribute("aria-pressed", "true")
    down.click()
    expect(page.locator("#vote-comment")).to_have_value("The timer was changed in release 17.")
    expect(page.locator("#vote input:checked")).to_have_value("outdated")


def test_an_answer_is_rated_and_a_poor_rating_asks_what_was_wrong(open_page):
    page = open_page()
    asked(page)
    rate, down = page.locator(".rate").last, page.locator("[data-vote=down]").last

    rate.click()
    with page.expect_response(feedback_is_stored) as answer:
        page.locator("[data-rate='4']").click()
    assert (answer.value.json()["vote"], answer.value.json()["rating"]) == ("up", 4)
    expect(page.locator("[data-vote=up]").last).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#vote")).to_be_hidden()

    rate.focus()
    page.keyboard.press("Enter")
    expect(page.locator("[data-rate='4']")).to_have_attribute("aria-checked", "true")
    page.keyboard.press("ArrowUp")
    with page.expect_response(feedback_is_stored) as answer:
        page.keyboard.press("Enter")  # from the first one upwards: the last one
    assert (answer.value.json()["vote"], answer.value.json()["rating"]) == ("down", 1)
    expect(down).to_have_attribute("aria-pressed", "true")
    page.locator("#vote .pill", has_text="Outdated").click()
    with page.expect_response(feedback_is_stored) as answer:
        page.locator("#vote [type=submit]").click()
    assert (answer.value.json()["reasons"], answer.value.json()["rating"]) == (["outdated"], 1)

    page.reload()
    expect(page.locator(".rate-number").last).to_have_text("1")


def test_a_question_is_not_sent_while_the_input_method_composes(open_page):
    page = open_page()
    field = page.locator("#question")
    field.fill("切换")

    field.dispatch_event("keydown", {"key": "Enter", "isComposing": True, "bubbles": True})

    expect(field).to_have_value("切换")
    expect(page.locator(".turn")).to_have_count(0)


def test_a_set_without_access_is_shown_but_cannot_be_chosen(open_page, live_site):
    page = open_page(live_site.reader)

    page.locator("#sets-button").click()

    locked = page.locator("#chooser .choice[data-locked]")
    expect(locked).to_have_count(1)
    expect(locked).to_contain_text("微波产品内部资料")
    expect(locked.locator("input")).to_have_count(0)


def test_the_chosen_sets_belong_to_the_conversation(open_page):
    page = open_page()
    asked(page)
    page.locator("#sets-button").click()
    with page.expect_response(lambda r: r.url.endswith("/sets") and r.status == 204):
        page.locator("#scope-sets .choice", has_text="测试").click()
    page.keyboard.press("Escape")

    page.evaluate("localStorage.clear()")
    page.reload()

    expect(page.locator("#sets-label")).to_have_text("测试")


def test_deleting_a_conversation_can_be_undone(open_page):
    page = open_page()
    asked(page)
    row = page.locator(".side-item[data-current]")
    row.hover()
    row.locator(".icon-button").click()
    page.clock.install()
    page.clock.pause_at(datetime.now(UTC) + timedelta(minutes=1))  # a busy machine may take longer than the message
    page.locator("[data-action=delete]").click()
    expect(row).to_be_hidden()

    page.get_by_role("button", name="Undo").click()

    expect(row).to_be_visible()
    page.reload()
    expect(page.locator(".side-item[data-current]")).to_be_visible()


def test_the_page_reads_in_chinese(open_page, live_site, picture):
    live_site.llm.default = Reply(texts=Chinese.pieces)
    page = open_page(live_site.chinese, locale="zh-CN", color_scheme="dark")
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")

    asked(page, Chinese.question)

    expect(page.locator(".report").last).to_have_attribute("lang", "zh-Hans")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert set(re.findall(r"[A-Za-z]{2,}", page.locator("body").inner_text())) <= {
        "Ragsite",
        "Ctrl",
        "Enter",
        "Shift",
        "ALM",
        "CPU",
    }
    picture(page, "chat-dark.png")


def test_at_390_pixels_side_bar_and_evidence_are_sheets(open_page, picture):
    page = open_page(width=390, height=844, has_touch=True)
    asked(page)
    page.locator("#main").evaluate("main => { main.scrollTop = 0; }")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    picture(page, "chat-390.png")

    page.locator("#side-open").click()
    expect(page.locator("#side")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#side")).to_be_hidden()
    page.locator(".report .cite").first.click()

    expect(page.locator("#evidence")).to_be_visible()
    assert page.locator("#evidence").bounding_box()["width"] == 390


def test_the_theme_is_kept_and_applied_before_the_first_paint(open_page, live_site):
    page = open_page(color_scheme="light")
    page.locator(".profile-button").click()
    page.locator("#profile-menu [value=dark]").click()

    page.goto(live_site.url, wait_until="commit")
    page.wait_for_function("document.body")

    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"

    page.goto(f"{live_site.url}/admin/")
    expect(page.locator("html")).to_have_class("dark")
    page.keyboard.press("Control+e")
    expect(page.locator("html")).to_have_class("light")
    page.goto(live_site.url)
    expect(page.locator("html")).to_have_attribute("data-theme", "light")


def test_the_picture_of_the_readme(open_page, live_site, picture):
    page = open_page(live_site.author, color_scheme="light", device_scale_factor=1.5)
    asked(page)
    page.locator("#main").evaluate("main => { main.scrollTop = 0; }")

    page.locator(".source", has_text="Session management").first.dispatch_event("click")

    expect(page.locator("#evidence mark").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert picture(page, "chat-light.png").stat().st_size > 50_000


def test_an_example_is_asked_at_once(open_page, live_site):
    page = open_page(live_site.reader)

    page.locator(".example").first.click()

    expect(page.locator(".turn .question")).to_have_text(English.question)
    expect(page.locator(".turn")).to_have_attribute("data-state", "done")


def test_a_long_answer_is_read_from_its_beginning(open_page, live_site):
    live_site.llm.default = Reply(texts=tuple(f"Line {number} of a long answer [1].\n\n" for number in range(60)))
    page = open_page()

    asked(page, f"{English.question} At length, please.")

    assert page.locator("#main").evaluate("main => main.scrollHeight > 2 * main.clientHeight")
    expect(page.locator(".turn .question")).to_be_in_viewport()
    page.locator("#to-end").click()
    expect(page.locator(".turn-actions")).to_be_in_viewport()


def test_in_a_wide_window_the_sources_stand_beside_the_report_and_in_a_narrow_one_below(open_page):
    page = open_page()
    asked(page)
    report, sources = page.locator(".turn .report").last, page.locator(".turn-sources").last

    wide = (report.bounding_box(), sources.bounding_box())
    assert wide[1]["x"] > wide[0]["x"] + wide[0]["width"]
    assert abs(wide[1]["y"] - page.locator(".turn .question").last.bounding_box()["y"]) < 40
    assert page.evaluate("document.querySelector('#main').scrollWidth <= document.querySelector('#main').clientWidth")

    page.locator(".report .cite").first.click()
    expect(page.locator("#evidence .evidence-title")).to_be_visible()
    expect(sources).not_to_be_visible()
    assert report.bounding_box()["x"] == wide[0]["x"]
    page.keyboard.press("Escape")
    expect(sources).to_be_visible()

    page.set_viewport_size({"width": 390, "height": 844})
    narrow = (report.bounding_box(), sources.bounding_box())
    assert narrow[1]["y"] >= narrow[0]["y"] + narrow[0]["height"]


def test_a_long_wait_counts_its_seconds(open_page, live_site):
    live_site.llm.default = Reply(texts=("A text that waits.\n\n", *English.pieces), hold_before=1)
    page = open_page()
    ask(page, "How long does a session modification wait until it is counted?")

    expect(page.locator(".turn .stages-time")).to_have_text(re.compile(r"^([3-9]|\d\d) sec$"))
    live_site.llm.release.set()
    expect(page.locator(".turn")).to_have_attribute("data-state", "done")
    expect(page.locator(".turn .stages-time")).to_have_count(0)


@pytest.mark.parametrize(
    ("locale", "scheme", "width", "words"),
    [
        ("en-US", "light", 1280, (r"Thinking, \d+ sec", r"Thought for \d+ sec")),
        ("zh-CN", "dark", 390, (r"正在思考，\d+秒", r"思考了 \d+秒")),
    ],
)
def test_what_a_model_thinks_is_a_closed_line_with_its_seconds(open_page, live_site, locale, scheme, width, words):
    thoughts = ("The user wants a number. ", "<b>Four</b> " + "steps, I suppose. " * 30)
    live_site.llm.default = Reply(thoughts=thoughts, texts=English.pieces, hold_before=0)
    user = live_site.chinese if locale == "zh-CN" else live_site.author
    page = open_page(user, locale=locale, color_scheme=scheme, width=width, height=844)
    ask(page, f"{English.question} Think about it ({locale}).")

    line = page.locator(".turn .thinking")
    expect(line.locator("summary")).to_have_text(re.compile(words[0]))
    expect(line.locator(".thinking-text")).to_be_hidden()
    page.reload()
    expect(line.locator("summary")).to_have_text(re.compile(words[0]))
    line.locator("summary").click()
    expect(line.locator(".thinking-text")).to_contain_text("The user wants a number. <b>Four</b> steps")
    assert page.evaluate("document.documentElement.scrollWidth") <= width

    live_site.llm.release.set()
    expect(page.locator(".turn")).to_have_attribute("data-state", "done")
    expect(line.locator("summary")).to_have_text(re.compile(words[1]))
    expect(line.locator(".thinking-text")).to_be_visible()
    expect(page.locator(".turn .report")).not_to_contain_text("The user wants a number")
    page.locator(".found-summary").click()
    expect(page.locator(".found-steps")).to_contain_text("思考" if locale == "zh-CN" else "Think")

    page.reload()
    expect(page.locator(".turn .report h2").first).to_be_visible()
    expect(page.locator(".turn .thinking")).to_have_count(0)


def test_on_a_telephone_nothing_covers_what_opens_and_long_names_wrap(open_page, live_site):
    page = open_page(width=390, height=844, has_touch=True)
    asked(page)
    page.locator(".found-summary").last.click()
    found, dock = page.locator(".found").last.bounding_box(), page.locator(".dock").bounding_box()
    assert found["y"] + found["height"] <= dock["y"] + 1

    page.locator("#main").evaluate("main => { main.scrollTop = 0; }")
    expect(page.locator("#to-end")).to_be_visible()
    button, dock = page.locator("#to-end").bounding_box(), page.locator(".dock").bounding_box()
    assert button["y"] >= dock["y"] + 16  # the text has faded there

    page.locator(".report .cite").first.click()
    address = page.locator("#evidence a[href*='/documents/'][href*='chunk=']").first.get_attribute("href")
    page.goto(f"{live_site.url}{address}")
    page.locator(".page-body > h1").evaluate("title => { title.textContent = 'a_name_'.repeat(30); }")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_what_an_underline_means_is_told_on_touch(open_page, live_site):
    claim = "Every session modification is confirmed by the billing department within two days [1].\n\n"
    live_site.llm.default = Reply(texts=("A session modification may be rejected with cause 65 [2].\n\n", claim))
    page = open_page(width=390, height=844, has_touch=True)
    asked(page, "Who confirms a session modification of the user plane?")

    marked = page.locator(".report .support:is(.weak, .unsupported)").last
    expect(page.locator(".turn .legend").last).to_be_visible()
    marked.tap()
    expect(page.locator("#tooltip")).to_be_visible()
    expect(page.locator("#tooltip")).to_contain_text("sources")
