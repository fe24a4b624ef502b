"""What is left in the chat, the profile and the frame of the administration: menus, chips, keys of the keyboard."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.content import English

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("fresh_script"),
]


def ask(page: Page, text: str = English.question) -> None:
    page.locator("#question").fill(text)
    page.locator("#question").press("Enter")
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done")


def test_sets_and_files_are_chosen_on_the_start_page(open_page, live_site, tmp_path):
    page = open_page()
    page.locator("button[data-set]").first.click()
    page.locator("#sets-button").click()
    page.locator("#sets-clear").click()
    expect(page.locator("#sets-label")).to_have_text("All knowledge sets")
    expect(page.locator("#filters-groups")).to_be_visible()
    page.locator("#filters-tags .choice", has_text="N4").locator("input").check()
    page.locator("#filters-clear").click()
    expect(page.locator("#filters-clear")).to_be_hidden()
    page.locator("#chooser [data-close]").click()
    expect(page.locator("#chooser")).to_be_hidden()

    file = Path(tmp_path / "vane.md")
    file.write_text("# Vane\n\nThe vane turns with the wind.", encoding="utf-8")
    with page.expect_file_chooser() as chooser:
        page.locator("#attach").click()
    chooser.value.set_files(file)
    expect(page.locator("#attached > li[data-state=ready]")).to_contain_text("vane")


def test_an_answer_is_shared_rated_edited_and_asked_again(open_page, live_site):
    page = open_page(height=500)
    ask(page)
    turn = page.locator(".turn").last
    turn.locator("[data-share]").click()
    page.locator("#share-make").click()
    expect(page.locator("#share-link")).to_have_value(re.compile("/shared/|/s/|http"))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#share-copy").click()
    page.locator("#share-dialog button[type=submit]").click()
    expect(page.locator("#share-dialog")).to_be_hidden()

    turn.locator("[data-menu=rate-menu]").click()
    page.locator("#rate-menu [data-rate]").first.click()
    turn.locator("[data-vote=down]").click()
    page.locator("#vote [data-close]").click()
    expect(page.locator("#vote")).to_be_hidden()
    turn.locator("[data-edit-question]").click()
    expect(page.locator("#editing")).to_be_visible()
    page.locator("#editing-cancel").click()
    expect(page.locator("#editing")).to_be_hidden()
    turn.locator("[data-menu=again-menu]").click()
    page.locator("#again-menu [data-again]").first.click()
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done")

    page.locator(".turn").first.hover()
    page.mouse.wheel(0, -4000)
    page.locator("#to-end").click()
    expect(page.locator("#to-end")).to_be_hidden()

    page.goto(f"{live_site.url}/shared")
    page.locator("form[action$='/revoke'] button").first.click()
    expect(page.get_by_text("The link was revoked.")).to_be_visible()

    asker = open_page("wang", at="/sets")
    entry = asker.locator("main li", has_text="微波产品内部资料")
    entry.locator("summary").click()
    entry.locator("[name=reason]").fill("A mast")
    entry.locator("button[type=submit]").click()
    expect(asker.get_by_role("status")).to_be_visible()
    page.goto(f"{live_site.url}/inbox")
    page.locator("form[action$='/inbox/read'] button").click()
    expect(page.locator("main li[data-unread]")).to_have_count(0)
    entry.get_by_role("button", name="Withdraw").click()
    expect(entry.locator("summary")).to_be_visible()


@pytest.mark.full
def test_a_conversation_is_pinned_renamed_moved_archived_and_deleted(open_page, live_site):
    page = open_page()
    ask(page)
    item = page.locator(".side-item:has(a[aria-current]) [data-menu=conversation-menu]")
    for value in ("", "move"):
        item.click()
        page.locator("#conversation-menu [data-action=move]").click()
        page.locator("#folder-name").fill("Masts")
        page.locator(f"#folder-dialog button[value='{value}']").click()
        expect(page.locator("#folder-dialog")).to_be_hidden()
    expect(page.locator("#side-list")).to_contain_text("Masts")
    for action in ("pin", "rename"):
        item.click()
        page.locator(f"#conversation-menu [data-action={action}]").click()
    page.locator(".side-rename").fill("Guyed masts")
    page.locator(".side-rename").press("Enter")
    expect(page.locator(".side-item", has_text="Guyed masts")).to_be_visible()
    item.click()
    page.locator("#conversation-menu [data-action=archive]").click()
    page.locator("#side-list [data-archive='1']").click()
    page.locator("#side-list [data-menu=conversation-menu]").first.click()
    page.locator("#conversation-menu [data-action=delete]").click()
    page.wait_for_url(f"{live_site.url}/")
    expect(page.locator(".side-item", has_text="Guyed masts")).to_have_count(0)


def test_the_menu_of_the_person_changes_appearance_and_language_and_signs_out(open_page, live_site):
    page = open_page("chen", by_page=True)
    menu = page.locator("[data-menu=profile-menu]")
    menu.click()
    page.locator("#shortcuts-open").click()
    page.locator("#shortcuts form button").click()
    expect(page.locator("#shortcuts")).to_be_hidden()
    for theme in ("dark", "light", "auto"):
        if page.locator("#profile-menu").is_hidden():
            menu.click()
        page.locator(f"#profile-menu [data-theme-choices] [value={theme}]").click()
        expect(page.locator(f"#profile-menu [data-theme-choices] [value={theme}]")).to_have_attribute(
            "aria-pressed", "true"
        )
    for code in ("zh-hans", "en"):
        if page.locator("#profile-menu").is_hidden():
            menu.click()
        page.locator(f"#profile-menu [name=language][value={code}]").click()
        expect(page.locator("html")).to_have_attribute("lang", re.compile(code[:2]))
    page.keyboard.press("/")
    expect(page.locator("#question")).to_be_focused()
    page.locator("[data-menu=profile-menu]").click()
    page.locator("form[action$='/sign-out'] button").click()
    page.wait_for_url("**/sign-in**")


def test_the_side_bar_opens_and_closes_on_a_telephone(open_page, live_site):
    page = open_page(width=390)
    page.locator("#side-open").click()
    expect(page.locator("#side-close")).to_be_visible()
    page.locator("#side-close").click()
    expect(page.locator("#side-open")).to_have_attribute("aria-expanded", "false")
    page.locator("button[data-tips-read]:visible").click()
    expect(page.locator("button[data-tips-read]:visible")).to_have_count(0)


def test_the_profile_is_saved_a_key_made_and_revoked(open_page, live_site):
    page = open_page("wang", at="/profile")
    for theme in ("dark", "light", "auto"):
        page.locator(f"main [data-theme-choices] [value={theme}]").click()
    for code in ("zh-hans", "en"):
        page.locator(f"main [name=language][value={code}]").click()
        expect(page.locator("html")).to_have_attribute("lang", re.compile(code[:2]))
    page.locator("#id_department").fill("Towers")
    page.locator("form[action$='/profile'] button[type=submit]").click()
    expect(page.locator("#id_department")).to_have_value("Towers")
    page.locator("#id_name").fill("reader")
    page.locator("form[action$='/profile/keys#new-key'] [name=scopes]").first.check()
    page.locator("form[action$='/profile/keys#new-key'] button[type=submit]").click()
    expect(page.locator("#secret")).to_be_visible()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("[data-copy='#secret']").click()
    page.goto(f"{live_site.url}/profile")
    page.locator("form[action$='/revoke'] button").click()
    page.locator("#confirm button[value='']").click()
    page.locator("form[action$='/revoke'] button").click()
    page.locator("#confirm-yes").click()
    expect(page.locator("form[action$='/revoke'] button")).to_have_count(0)

    open_page("wang", by_page=True)
    page.reload()
    page.locator("form[action*='/sessions/'] button", has_text="everywhere else").click()
    expect(page.locator("form[action*='/sessions/'] button")).to_have_count(0)


def test_the_frame_of_the_administration_changes_appearance_and_language_and_signs_out(open_page, live_site):
    page = open_page("lin", by_page=True)
    page.goto(f"{live_site.url}/admin/")

    def open_menu() -> None:
        page.locator("#nav-sidebar [x-data*=openUserLinks] > div").last.click()

    for code in ("zh-hans", "en"):
        open_menu()
        page.locator(f"form:has([name=language][value={code}]) button:visible").click()
        expect(page.locator("html")).to_have_attribute("lang", re.compile(code[:2]))
    open_menu()
    page.locator("#nav-sidebar [x-on\\:click*=\"'dark'\"]").first.click()
    expect(page.locator("html")).to_have_class(re.compile("dark"))
    if page.locator("#logout-form button").is_hidden():
        open_menu()
    page.locator("#logout-form button").click()
    page.goto(f"{live_site.url}/")
    expect(page).to_have_url(re.compile("/sign-in"))
