"""A reviewer mends a case in a browser: mark, publish the answer, test again, a reader gets it, undo (D22, D36)."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.content import English

pytestmark = [pytest.mark.browser, pytest.mark.first, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]

CASES = "/admin/feedback/badcase/"
RIGHT = "Ten preamble attempts, then radio link failure."
COMPLAIN = """async (query) => {
    const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
    const send = (path, body) => fetch(path, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-CSRFToken": token },
        body: JSON.stringify(body),
    });
    const answer = await (await send("/api/v1/rag/generate", { query })).json();
    const vote = await send("/api/v1/feedback", { message_id: answer.message_id, vote: "down", comment: "wrong" });
    return vote.status;
}"""


def case_opened(page: Page, live_site: Any) -> None:
    """Somebody complains about an answer, and the reviewer opens the case."""
    page.goto(f"{live_site.url}/admin/knowledge/document/upload/")  # a page with a token for forms
    assert page.evaluate(COMPLAIN, English.question) == 201
    page.goto(f"{live_site.url}{CASES}")
    page.locator("#result_list tbody a").first.click()
    expect(page.locator(".case-remedies")).to_be_visible()


def test_a_case_is_marked_mended_tested_and_undone_by_keyboard(open_page, live_site):
    page = open_page()
    case_opened(page, live_site)

    case = page.url
    page.locator("[data-mark]").first.click()
    page.locator("[name=right_answer]").fill(RIGHT)
    page.locator("[name=accepted]").fill("Ten preamble attempts")
    page.get_by_role("button", name="Save and diagnose").click()
    approve = page.locator(".case-remedies form", has=page.locator("input[value=approve]"))
    expect(approve).to_be_visible()
    if not approve.locator("details[open]").count():
        approve.locator("summary").click()
    approve.locator("[name=answer]").press("Escape")
    approve.get_by_role("button").click()
    expect(page.get_by_text("Test the question again")).to_be_visible()

    page.locator("body").press("t")
    expect(page.locator("#again-title")).to_have_text("Answered now")
    expect(page.locator("#again")).to_contain_text(RIGHT)

    reader = open_page(live_site.reader)
    reader.locator("textarea").first.fill(English.question.lower())
    reader.locator("textarea").first.press("Enter")
    expect(reader.locator(".turn-approved")).to_contain_text("Lin")
    expect(reader.locator(".report")).to_contain_text(RIGHT)

    page.goto(f"{live_site.url}{CASES}report/")
    expect(page.get_by_role("heading", name="Recommendations")).to_be_visible()
    page.goto(case)
    page.locator("body").press("z")
    expect(page.locator(".case-remedies")).to_contain_text("Undone")
