"""Every add and change form of the administration, typed by hand, each of its buttons pressed, and its rows deleted."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Locator, Page, expect

from accounts.models import User
from evaluation.models import GoldenSet

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]

NAMES = ("anchor", "beacon", "compass")
PASSWORD = "a pylon in the morning mist"
SHORT = ("user", "searchmodel")  # forms in the short form of the run


SAVED = re.compile(r"was changed successfully\.\s*$|Saved\. The test failed")


@dataclass(frozen=True)
class Form:
    """A form: where it is, what is typed (`{n}`: a name of the row), and what the list shows of the row."""

    address: str  # below /admin/
    fields: dict[str, str] = field(default_factory=dict)
    shown: str = "{n}"
    deletes: bool = True

    def __str__(self) -> str:
        return self.address.split("/")[1]


FORMS = (
    Form("accounts/user", {"username": "{n}", "password1": PASSWORD, "password2": PASSWORD, "tenant": "1"}),
    Form("accounts/usergroup", {"tenant": "1", "name": "{n}"}),
    Form("accounts/tenant", {"name": "{n}", "max_sets": "3"}, deletes=False),
    Form("knowledge/knowledgeset", {"name": "{n}", "code": "set-{n}", "description": "of {n}"}, deletes=False),
    Form("knowledge/attribute", {"name": "{n}", "code": "of-{n}", "choices": "red\ngreen"}),
    Form("knowledge/languagemodel", {"name": "{n}", "servers-0-url": "http://models.invalid/v1"}),
    Form("knowledge/searchmodel", {"task": "rerank", "provider": "server", "name": "{n}", "url": "http://10.0.0.9/"}),
    Form("knowledge/source", {"_card": "url", "name": "{n}", "location": "https://example.com/{n}", "sets": ""}),
    Form("knowledge/sourceplace", {"tenant": "1", "kind": "host", "location": "{n}.example.com"}),
    Form("knowledge/sourcehandler", {"name": "{n}", "code": "of-{n}", "title_template": "{title}"}),
    Form("evaluation/goldenset", {"name": "{n}", "description": "of {n}"}),
    Form("evaluation/goldencase", {"golden_set": "1", "question": "What is a {n}?", "answers": "a {n}"}),
    Form("knowledge/lexiconterm", {"text": "{n}", "synonyms": "old {n}"}),
    Form(
        "chat/announcement", {"text": "News of the {n}", "text_zh": "消息 {n}", "tenant": "1"}, shown="News of the {n}"
    ),
)


def golden_set_make() -> None:
    GoldenSet.objects.get_or_create(tenant=User.objects.get(username="lin").tenant, name="Forms")


def type_fields(page: Page, form: Form, name: str) -> None:
    """Fill the form by hand; a select gets the value, or else its first choice."""
    for key, value in form.fields.items():
        control = page.locator(f"form [name='{key}']:visible").first
        text = value.replace("{n}", name)
        if control.get_attribute("type") in ("radio", "checkbox"):
            page.locator(f"form [name='{key}'][value='{text}']" if text else f"form [name='{key}']").first.check()
            continue
        if control.evaluate("control => control.tagName") != "SELECT":
            control.fill(text)
        elif control.locator(f"option[value='{text}']").count():
            control.select_option(text)
        else:
            control.select_option(index=1)


def press(page: Page, name: str) -> None:
    page.locator(f"[name={name}]:visible").first.click()


def row_of(page: Page, form: Form, name: str) -> Locator:
    return page.locator("#result_list tbody tr, .rs-item, tr", has_text=form.shown.replace("{n}", name)).first


def run_on(page: Page, action: str, *rows: Locator) -> None:
    """Tick the boxes of the rows, choose the action and run it."""
    for row in rows:
        row.locator("input.action-select").check()
    page.locator("select[name=action]:visible").select_option(action)
    page.get_by_role("button", name="Run", exact=True).click()


def person(page: Page, name: str) -> Locator:
    return page.locator("#result_list tbody tr", has=page.get_by_role("link", name=name))


def choose_person(page: Page, name: str) -> None:
    """A plain select, or one that searches as somebody types."""
    if page.locator("select[name=user].admin-autocomplete").count():
        page.locator(".select2-selection").first.click()
        page.locator(".select2-search__field").fill(name)
        page.locator(".select2-results__option", has_text=name).first.click()
    else:
        page.locator("select[name=user]").select_option(label=name)


@pytest.mark.parametrize(
    "form", [form if str(form) in SHORT else pytest.param(form, marks=pytest.mark.full) for form in FORMS], ids=str
)
def test_a_form_is_typed_saved_in_three_ways_and_its_rows_deleted(open_page, live_site, beside, form):
    if "golden_set" in form.fields:
        beside(golden_set_make)
    page = open_page()
    base = f"{live_site.url}/admin/{form.address}/"
    page.goto(f"{base}add/")

    type_fields(page, form, NAMES[0])
    press(page, "_continue")
    page.wait_for_url("**/change/")
    press(page, "_addanother")
    page.wait_for_url("**/add/")
    type_fields(page, form, NAMES[1])
    press(page, "_addanother")
    first = next(name for name, value in form.fields.items() if "{n}" in value)
    expect(page.locator(f"form [name='{first}']")).not_to_have_value(re.compile(NAMES[1]))
    type_fields(page, form, NAMES[2])
    press(page, "_save")
    page.wait_for_url(lambda url: not url.endswith("/add/"))
    page.goto(base)  # a new user is shown again after Save, to be given rights
    for name in NAMES:
        expect(row_of(page, form, name)).to_be_visible()

    page.locator("a", has_text=form.shown.replace("{n}", NAMES[0])).first.click()
    page.wait_for_url("**/change/**")
    press(page, "_continue")
    page.wait_for_url("**/change/**")
    press(page, "_save")
    expect(page.get_by_text(SAVED).first).to_be_visible()
    page.goto(base)
    if form.deletes:
        run_on(page, "delete_selected", *(row_of(page, form, name) for name in NAMES))
        page.locator("#content form [type=submit], main form [type=submit]").last.click()
        expect(page.get_by_text("Successfully deleted 3")).to_be_visible()
        expect(row_of(page, form, NAMES[0])).to_have_count(0)


@pytest.mark.full
def test_keys_are_made_in_three_ways_shown_once_and_revoked(open_page, live_site):
    page = open_page()
    base = f"{live_site.url}/admin/accounts/apikey/"
    for name, button in zip(NAMES, ("_continue", "_addanother", "_save"), strict=True):
        page.goto(f"{base}add/")
        page.locator("[name=name]").fill(name)
        choose_person(page, "lin")
        page.locator("[name=scopes]").first.check()
        press(page, button)
        expect(page.get_by_text("cannot be shown again")).to_be_visible()

    page.goto(base)
    run_on(page, "revoke", *(page.locator("#result_list tbody tr", has_text=name) for name in NAMES))
    expect(page.get_by_text("3 keys are revoked.")).to_be_visible()


def test_people_are_signed_out_given_a_password_exported_and_erased(open_page, live_site):
    page = open_page()
    people = f"{live_site.url}/admin/accounts/user/"

    page.goto(f"{people}setup/")
    page.locator("#id_username").fill("noor")
    page.get_by_role("button", name="Create the user").click()
    expect(page.locator("main, #content").first).to_contain_text("noor")

    page.goto(people)
    run_on(page, "end_sessions", person(page, "maya"))
    expect(page.get_by_text("1 session has ended.")).to_be_visible()
    run_on(page, "remove_second_factor", person(page, "maya"))
    expect(page.get_by_text("Two-step sign-in of 0 users is off.")).to_be_visible()
    with page.expect_download() as file:
        run_on(page, "export_person", person(page, "maya"))
    assert file.value.suggested_filename.endswith(".zip")

    page.goto(people)
    person(page, "noor").locator("a").first.click()
    page.locator("a[href$='password/']").first.click()
    for name in ("password1", "password2"):
        page.locator(f"[name={name}]").fill(PASSWORD)
    page.locator("[name=password2]").press("Enter")
    expect(page.get_by_text("Password changed successfully.")).to_be_visible()

    page.goto(people)
    person(page, "noor").locator("a").first.click()
    page.get_by_role("link", name="Change roles and knowledge sets…").click()
    page.get_by_label("May create knowledge sets").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("The roles of the user were saved.")).to_be_visible()

    page.goto(people)
    run_on(page, "erase_person", person(page, "noor"))
    page.get_by_role("button", name="Erase for good").click()
    expect(page.get_by_text("1 user was erased.")).to_be_visible()
    expect(person(page, "noor")).to_have_count(0)
