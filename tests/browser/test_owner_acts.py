"""What owners do with documents, passages, sets, sources and settings, one button after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from knowledge.models import Document, KnowledgeSet

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]

LIST = "/admin/knowledge/document/?hands=all"


def row(page: Page, title: str) -> Locator:
    return page.locator("#result_list tbody tr", has_text=title)


def run_on(page: Page, url: str, action: str, title: str) -> None:
    """Open the list, tick the box of the row, choose the action and run it."""
    page.goto(url)
    row(page, title).first.locator("input.action-select").check()
    page.locator("select[name=action]:visible").select_option(action)
    page.get_by_role("button", name="Run", exact=True).click()


def confirm(page: Page, button: str) -> None:
    """Press the button of the page that asks about the chosen documents, which then gives way."""
    page.get_by_role("button", name=button, exact=True).click()
    expect(page.locator("input[name=ids]")).to_have_count(0)


def choose_set(page: Page, field: str, words: str) -> None:
    choices = page.locator(f"select[name={field}]")
    choices.select_option(choices.locator("option", has_text=words).get_attribute("value"))


def titles() -> list[str]:
    return list(
        Document.objects.filter(sets__code="3gpp", state=Document.State.LIVE)
        .order_by("pk")
        .values_list("title", flat=True)
    )


def set_number() -> int:
    return KnowledgeSet.objects.get(code="3gpp").pk


@pytest.mark.full
def test_documents_are_chosen_in_the_list_and_moved_weighed_rebuilt_and_deleted(open_page, live_site, beside):
    page, title = open_page(), beside(titles)[0]
    url = f"{live_site.url}{LIST}"

    for action, answer in (
        ("retry_selected", "0 documents are being retried."),
        ("rebuild_selected", "1 document is being re-processed."),
    ):
        run_on(page, url, action, title)
        expect(page.get_by_text(answer)).to_be_visible()
    run_on(page, url, "weigh_selected", title)
    page.locator("[name=weight]").fill("1.5")
    confirm(page, "Save")
    run_on(page, url, "review_selected", title)
    page.locator("[name=review_by]").fill("2031-05-04")
    confirm(page, "Save")

    run_on(page, url, "copy_selected", title)
    choose_set(page, "to_set", "测试")
    confirm(page, "Add 1 document")
    run_on(page, url, "move_selected", title)
    choose_set(page, "from_set", "测试")
    choose_set(page, "to_set", "基站产品")
    confirm(page, "Move 1 document")
    run_on(page, url, "remove_selected", title)
    choose_set(page, "from_set", "基站产品")
    confirm(page, "Remove 1 document")

    run_on(page, url, "delete_selected", title)
    page.get_by_role("button", name="Delete 1 document").click()
    expect(page.get_by_text("1 document was deleted.")).to_be_visible()
    page.goto(url)
    expect(row(page, title)).to_have_count(0)


def test_a_document_is_edited_its_passages_corrected_and_it_is_deleted(open_page, live_site, beside):
    page, listed = open_page(), beside(titles)
    title, other = listed[-1], listed[0]
    page.goto(f"{live_site.url}{LIST}")
    row(page, title).locator("a", has_text=title).first.click()
    page.wait_for_url("**/change/**")
    base = page.url.partition("/change/")[0]

    passage = page.locator(".rs-passage-card").first
    passage.get_by_text("Questions", exact=True).click()
    passage.locator("[name=questions]").fill("What opens first?")
    passage.locator("form[action$='/questions/'] button").click()
    expect(page.locator(".rs-passage-card").first).to_contain_text("What opens first?")
    passage = page.locator(".rs-passage-card").first
    passage.locator("[data-show]").click()
    passage.get_by_text("Edit", exact=True).click()
    passage.locator("[name=text]").fill("The first passage was **corrected** by hand.")
    passage.locator("[data-preview-button]").click()
    passage.locator("form[action$='/replace/'] button:not([type=button])").click()
    expect(page.locator(".rs-passage-card").first).to_contain_text("corrected by hand")
    page.locator(".rs-passage-card").first.get_by_role("button", name="Exclude from search").click()
    expect(page.locator(".rs-passage-card").first).to_contain_text("excluded from search")

    page.goto(f"{base}/relations/")
    page.locator("[name=kind]").select_option("links")
    page.locator("[name=other]").fill(other)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("The documents were related.")).to_be_visible()
    page.get_by_role("button", name=f"Remove: links to {other}").click()
    expect(page.get_by_text("The relation was removed.")).to_be_visible()

    page.goto(f"{base}/edit/")
    page.locator("[name=title]").fill("A title typed by hand")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("The document was changed.")).to_be_visible()
    page.goto(f"{base}/change/")
    page.locator("[formaction$='/rebuild/']").first.click()
    expect(page.get_by_text("The document is being re-processed")).to_be_visible()

    page.goto(f"{base}/delete/")
    page.get_by_role("button", name="Delete 1 document").click()
    page.wait_for_url(re.compile(r"/admin/knowledge/document/(\?|$)"))  # the list, not the start page
    expect(row(page, "A title typed by hand")).to_have_count(0)
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.get_by_text("1 document is being restored.")).to_be_visible()
    expect(row(page, "A title typed by hand")).to_have_count(1)


def test_a_file_of_a_known_name_is_not_uploaded_after_all(open_page, tmp_path):
    page = open_page(at="/admin/knowledge/document/upload/")
    page.get_by_label("3GPP specifications").check()
    file = tmp_path / "beacon.md"
    for word in ("flashes", "turns"):
        file.write_text(f"# Beacon\n\nThe beacon {word} every ten seconds.", encoding="utf-8")
        with page.expect_file_chooser() as chooser:
            page.locator("[data-drop]").click()
        chooser.value.set_files(file)
        if word == "flashes":
            expect(page.locator("#live-recent .rs-item[data-state=live]", has_text="beacon").first).to_be_visible()
    page.locator("[data-go=cancel]").click()
    expect(page.locator("[data-files] .rs-item")).to_have_count(0)

    with page.expect_file_chooser() as folder:
        page.locator("[data-folder]").click()
    assert folder.value.is_multiple()


def test_sets_and_settings_are_set_up_changed_and_rebuilt(open_page, live_site, beside, tmp_path):
    page, number = open_page(), beside(set_number)
    sets = f"{live_site.url}/admin/knowledge/knowledgeset"

    page.goto(f"{sets}/setup/")
    page.locator("#id_name").fill("Lighthouses")
    page.locator("#id_code").fill("lighthouses")
    file = Path(tmp_path / "lantern.md")
    file.write_text("# Lantern\n\nThe lantern is lit at dusk.", encoding="utf-8")
    with page.expect_file_chooser() as chooser:
        page.locator("label:has(input[name=uploads])").last.click()
    chooser.value.set_files(file)
    page.get_by_role("button", name="Create the knowledge set").click()
    expect(page.get_by_text("1 file is being processed.")).to_be_visible()

    for address in (f"{sets}/site-options/", f"{sets}/{number}/options/"):
        page.goto(address)
        page.locator(".rs-sticky button.rs-primary").click()
        page.wait_for_url("**options/**")
    page.goto(f"{sets}/{number}/rebuild/")
    page.get_by_role("button", name=re.compile("Re-process")).click()
    page.wait_for_url("**/admin/knowledge/**")

    page.goto(f"{live_site.url}/admin/knowledge/optionschange/import/?set={number}")
    options = Path(tmp_path / "options.json")
    options.write_text('{"format": "ragsite-options-1", "options": {"retrieval": {"min_match": 1.2}}}', "utf-8")
    with page.expect_file_chooser() as chooser:
        page.locator("label:has(input[name=file])").last.click()
    chooser.value.set_files(options)
    page.get_by_role("button", name="Preview changes").click()
    page.get_by_role("button", name="Import", exact=True).click()
    page.wait_for_url("**/options/**")


def test_a_document_is_added_to_another_set(open_page, live_site, beside):
    page, number = open_page(), beside(lambda: Document.objects.filter(sets__code="3gpp").latest("pk").pk)
    page.goto(f"{live_site.url}/admin/knowledge/document/{number}/change/?view=about")
    page.get_by_role("link", name="Add to a set").click()
    choose_set(page, "to_set", "测试")
    confirm(page, "Add 1 document")


@pytest.mark.full
def test_a_set_is_composed_of_sources(open_page, live_site, beside):
    page, number = open_page(), beside(set_number)
    url = f"{live_site.url}/admin/knowledge/source/compose/{number}/"
    for button, answer in (("Save", "are saved."), ("Save and sync", "are saved and being synchronised.")):
        page.goto(url)
        page.locator("input[type=checkbox][name$=is_chosen]").first.check()
        page.get_by_role("button", name=button, exact=True).click()
        expect(page.get_by_text(f"The sources of the set {answer}")).to_be_visible()
    expect(page.locator("input[type=checkbox][name$=is_chosen]").first).to_be_checked()


def test_the_model_of_the_environment_is_tested(open_page):
    page = open_page(at="/admin/knowledge/languagemodel/")
    page.get_by_role("button", name=re.compile("^Test ")).first.click()
    expect(page.locator("[data-part=purposes]")).to_contain_text(re.compile("Works|works|Testing|tested", re.I))


def test_model_servers_on_this_machine_are_looked_for(open_page):
    page = open_page(at="/admin/knowledge/languagemodel/")
    page.get_by_role("button", name=re.compile("this machine")).first.click()
    expect(page.get_by_role("heading", name="Model servers on this machine")).to_be_visible()
    expect(page.get_by_role("button", name="Look again")).to_be_visible()
    page.get_by_role("link", name="Back to list").click()
    expect(page.locator("[data-part=purposes]")).to_be_visible()
