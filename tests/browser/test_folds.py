"""What is folded in the admin is opened by keyboard, found by the search, and stays as it was left."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]


def test_the_advanced_pages_and_settings_are_one_key_away(open_page, live_site):
    page = open_page(width=1280, at="/admin/")
    menu = page.locator("#nav-sidebar-apps")
    lexicon = menu.get_by_role("link", name="Lexicon")
    expect(menu.get_by_role("link", name="Documents", exact=True)).to_be_visible()
    expect(lexicon).to_be_hidden()

    menu.get_by_text("Advanced", exact=True).focus()
    page.keyboard.press("Enter")
    expect(lexicon).to_be_visible()
    page.reload()
    expect(lexicon).to_be_visible()
    menu.get_by_text("Advanced", exact=True).focus()
    page.keyboard.press("Space")
    expect(lexicon).to_be_hidden()
    page.goto(f"{live_site.url}/admin/knowledge/document/")
    expect(lexicon).to_be_hidden()

    page.goto(f"{live_site.url}/admin/knowledge/knowledgeset/site-options/")
    everyday, advanced = page.get_by_label("Passages returned"), page.get_by_label("Candidates for reranking")
    expect(everyday).to_be_visible()
    expect(advanced).to_be_hidden()
    page.get_by_placeholder("Find a setting").fill("for reranking")
    expect(advanced).to_be_visible()
    expect(everyday).to_be_hidden()
    page.get_by_placeholder("Find a setting").fill("passages returned")
    expect(everyday).to_be_visible()
    expect(advanced).to_be_hidden()
    page.get_by_placeholder("Find a setting").fill("")
    expect(advanced).to_be_hidden()
    page.locator("#group-retrieval summary").focus()
    page.keyboard.press("Enter")
    expect(advanced).to_be_visible()
    page.reload()
    expect(advanced).to_be_visible()
