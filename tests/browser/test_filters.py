"""Narrowing a question in a real browser: by mouse, by keyboard, on a phone, in Chinese."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.content import Chinese, English
from tests.scripted_llm import Reply

pytestmark = [
    *(pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)),
    pytest.mark.usefixtures("fresh_script"),
]


def open_sheet(page: Page) -> None:
    page.locator("#sets-button").click()
    expect(page.locator("#filters-groups")).to_be_visible()


def tick(page: Page, group: str, name: str) -> None:
    page.locator(f"#filters-{group} .choice", has_text=name).locator("input").check()


def chips(page: Page) -> list[str]:
    return page.locator("#filter-chips .chip > span").all_inner_texts()


def asked(page: Page, question: str) -> None:
    page.locator("#question").fill(question)
    page.locator("#question").press("Enter")
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done")


def test_chosen_filters_are_chips_that_go_with_the_question_and_stay(open_page):
    page = open_page(color_scheme="light")
    open_sheet(page)
    tick(page, "tags", "N4")
    page.locator("#filters-attribute").select_option(label="Release")
    tick(page, "attributes", "17")

    expect(page.locator("#filters-count")).to_have_text(re.compile(r"^[1-9]\d* passages? match(es)?$"))
    assert chips(page) == ["#N4", "Release: 17"]
    page.keyboard.press("Escape")
    expect(page.locator("#chooser")).to_be_hidden()
    expect(page.locator("#sets-button")).to_be_focused()
    asked(page, English.question)

    titles = page.locator(".turn .source-title").all_inner_texts()
    assert titles
    assert set(titles) == {"Session management between control and user plane"}
    page.reload()
    assert chips(page) == ["#N4", "Release: 17"]


def test_a_chip_is_removed_by_keyboard_and_the_next_question_searches_more(open_page):
    page = open_page()
    open_sheet(page)
    tick(page, "tags", "core")
    tick(page, "organisation", "基站产品")
    page.keyboard.press("Escape")
    expect(page.locator("#filter-none")).to_have_text("No passage matches these filters.")

    page.get_by_role("button", name="Remove the filter Organisation: 基站产品").focus()
    page.keyboard.press("Enter")

    expect(page.locator("#filter-none")).to_be_hidden()
    assert chips(page) == ["#core"]
    expect(page.get_by_role("button", name="Remove the filter #core")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#filter-chips")).to_be_hidden()
    expect(page.locator("#question")).to_be_focused()


def test_a_question_whose_filters_leave_nothing_is_asked_again_without_them(open_page):
    page = open_page()
    open_sheet(page)
    tick(page, "tags", "core")
    tick(page, "tags", "N4")
    page.locator("#filters-attribute").select_option(label="Release")
    page.locator("#filters-low").fill("18")
    page.locator("#filters-low").press("Tab")
    expect(page.locator("#filters-count")).to_have_text("No passage matches these filters.")
    page.keyboard.press("Escape")
    asked(page, f"{English.question} Filtered.")
    notice = page.locator(".turn .notice").last
    expect(notice).to_contain_text("No passage matches your filters")
    expect(notice).to_contain_text("Release: from 18")

    notice.get_by_role("button", name="Search without filters").click()

    expect(page.locator(".turn .versions")).to_contain_text("2 / 2")  # the first answer is kept
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done")
    expect(page.locator(".turn").last.locator(".report h2")).to_have_text("Result")
    expect(page.locator("#filter-chips")).to_be_hidden()


def test_tags_are_found_while_typing(open_page):
    page = open_page()
    open_sheet(page)

    page.locator("#scope-words").press_sequentially("n4")

    expect(page.locator("#filters-tags .choice")).to_have_count(1)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    assert chips(page) == ["#N4"]
    page.locator("#scope-words").fill("nothing like it")
    expect(page.locator("#scope-none")).to_have_text("Nothing found.")


def test_sets_and_values_are_found_in_the_same_field_and_enter_takes_the_first(open_page):
    page = open_page()
    open_sheet(page)

    page.locator("#scope-words").press_sequentially("测试")
    expect(page.locator("#scope-sets .choice:visible")).to_have_count(1)
    page.keyboard.press("Enter")

    expect(page.locator("#sets-label")).to_have_text("测试")
    page.locator("#scope-words").fill("17")
    expect(page.locator("#filters-found legend")).to_have_text("Release")
    page.locator("#filters-found .choice input").first.check()
    assert chips(page) == ["Release: 17"]


def test_the_whole_sheet_is_reached_by_keyboard(open_page):
    page = open_page()
    page.locator("#sets-button").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#scope-words")).to_be_focused()
    expect(page.locator("#filters-groups")).to_be_visible()

    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.closest('fieldset')?.id ?? document.activeElement.id"))
        if page.evaluate("document.activeElement.matches('.filters-foot button')"):
            break

    assert {f"filters-{name}" for name in ("axis", "capability", "organisation", "tags", "attributes")} <= reached
    page.keyboard.press("Enter")
    expect(page.locator("#chooser")).to_be_hidden()


@pytest.mark.parametrize("theme", [pytest.param("light", marks=pytest.mark.full), "dark"])
def test_at_390_pixels_the_filters_are_a_sheet_in_chinese(open_page, live_site, picture, theme):
    live_site.llm.default = Reply(texts=Chinese.pieces)
    page = open_page(live_site.chinese, width=390, height=844, has_touch=True, locale="zh-CN", color_scheme=theme)
    open_sheet(page)
    page.locator("#filters-attribute").select_option(label="版本")
    tick(page, "attributes", "17")
    tick(page, "tags", "告警")

    box = page.locator("#chooser").bounding_box()
    assert (box["x"], box["width"], round(box["y"] + box["height"])) == (0, 390, 844)
    expect(page.locator("#filters-count")).to_have_text(re.compile(r"\d"))
    picture(page, f"filters-390-{theme}.png")
    page.locator(".filters-foot button").click()
    asked(page, Chinese.question)

    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert chips(page) == ["#告警", "版本: 17"]
    assert set(page.locator(".turn .source-title").all_inner_texts()) == {"切换失败定位指导书"}


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.full)])
def test_the_sheet_on_a_wide_screen(open_page, live_site, picture, theme):
    page = open_page(live_site.author, color_scheme=theme)
    open_sheet(page)
    tick(page, "tags", "core")
    tick(page, "capability", "测试")
    page.locator("#filters-attribute").select_option(label="Release")
    page.locator("#filters-range").scroll_into_view_if_needed()
    expect(page.locator("#filter-none")).to_be_visible()

    picture(page, f"filters-{theme}.png")

    box = page.locator("#chooser").bounding_box()
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= page.locator("#sets-button").bounding_box()["y"]
