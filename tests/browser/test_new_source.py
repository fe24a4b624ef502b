"""The form of a new source: the system is chosen by click, by keys and without scripts; its fields follow."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]

ADD = "/admin/knowledge/source/add/"


def names(page: Page) -> set[str]:
    """The fields that are shown."""
    return set(page.locator("#source_form [name]:visible").evaluate_all("fields => fields.map((field) => field.name)"))


def test_a_system_is_chosen_and_only_its_fields_are_shown(open_page, live_site):
    page = open_page(at=ADD)
    expect(page.locator("select[name=kind]")).to_be_hidden()
    assert {"name", "location", "sets"} <= names(page)
    assert not {"login", "secret", "webhook_secret", "git_branch", "redmine_projects"} & names(page)

    page.get_by_role("radio", name="Redmine").check()
    assert {"location", "login", "secret", "redmine_projects"} <= names(page)
    assert "webhook_secret" not in names(page)

    page.get_by_role("radio", name="Folder", exact=False).first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="Web pages")).to_be_checked()
    expect(page.locator("select[name=kind]")).to_have_value("url")
    assert "redmine_projects" not in names(page)

    page.get_by_role("radio", name="Webhook").check()
    assert not {"location", "schedule", "login"} & names(page)
    assert "secret" in names(page)


def test_a_source_is_added_after_what_was_missing_is_said(open_page, live_site):
    page = open_page(at=ADD)
    page.get_by_role("radio", name="Web pages").check()
    page.locator("[name=name]").fill("manual")

    page.locator("[name=_save]:visible").click()

    expect(page.locator(".field-location")).to_contain_text("Enter the location.")
    expect(page.locator(".field-sets")).to_contain_text("Choose a knowledge set")
    expect(page.get_by_role("radio", name="Web pages")).to_be_checked()
    page.locator("[name=location]").fill("https://www.example.com/manual")
    page.get_by_label("3GPP specifications").check()
    page.locator("[name=_save]:visible").click()
    page.wait_for_url("**/change/")
    expect(page.get_by_role("button", name="Sync now")).to_be_visible()
    expect(page.get_by_role("button", name="Test", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="3GPP specifications")).to_be_visible()


def test_without_scripts_the_system_is_a_select(open_page, live_site):
    page = open_page(at=ADD, java_script_enabled=False)

    page.locator("select[name=kind]").select_option("webhook")

    page.locator("[name=name]").fill("tickets")
    page.locator("[name=sets]").first.check()
    page.locator("[name=_save]").first.click()
    page.wait_for_url("**/change/")
