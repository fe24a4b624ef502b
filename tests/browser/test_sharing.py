"""A link to an answer is made in the chat, opened by a colleague and revoked, in a real browser."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.content import English
from tests.scripted_llm import Reply

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]


def test_a_link_is_made_opened_by_a_colleague_and_revoked(open_page, live_site):
    live_site.llm.default = Reply(texts=English.pieces)
    page = open_page(live_site.reader)
    page.locator("#question").fill(English.question)
    page.locator("#question").press("Enter")
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done")
    page.get_by_role("button", name="Share with colleagues").click()
    page.get_by_role("button", name="Create link").click()
    expect(page.locator("#share-link")).to_have_value(re.compile("/shared/"))
    link = page.locator("#share-link").input_value()

    colleague = open_page(live_site.chinese)
    colleague.goto(link)
    expect(colleague.locator(".shared-turn .question")).to_have_text(English.question)
    colleague.locator(".shared-turn .cite").first.click()
    expect(colleague).to_have_url(re.compile("#source-"))

    page.goto(f"{live_site.url}/shared")
    page.get_by_role("button", name="Revoke").first.click()
    expect(page.get_by_text("The link was revoked.")).to_be_visible()
    colleague.reload()
    expect(colleague.locator(".shared-turn")).to_have_count(0)
