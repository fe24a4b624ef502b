"""New versions by upload, edited passages and the guided page of a set, by a person's means."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from knowledge.models import Document
from tests.scripted_llm import Reply

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]

UPLOAD = "/admin/knowledge/document/upload/"
POLICY = "# Leave policy of Ravensburg\n\nEmployees have {days} days of leave a year in Ravensburg.\n"


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def choose(page: Page, control: Locator, *files: Path) -> None:
    """Files by the picker that the control opens."""
    with page.expect_file_chooser() as chooser:
        control.click()
    chooser.value.set_files(list(files))


def row(page: Page, name: str) -> Locator:
    return page.locator("#live-recent .rs-item", has_text=name)


def versions_of(name: str) -> list[tuple[str, int]]:
    rows = Document.objects.filter(versions__file_name__startswith=name).distinct().order_by("pk")
    return [(document.title, document.versions.count()) for document in rows]


def test_a_known_name_is_asked_about_before_anything_is_sent(open_page: Any, beside: Any, tmp_path: Path) -> None:
    page = open_page(at=UPLOAD)
    page.get_by_label("3GPP specifications").check()
    drop = page.locator("[data-drop]")
    choose(page, drop, written(tmp_path, "leave.md", POLICY.format(days=20)))
    expect(row(page, "leave.md")).to_have_attribute("data-state", "live")

    newer = written(tmp_path, "leave.md", POLICY.format(days=30))
    near = written(tmp_path, "leave (1).md", POLICY.format(days=40))
    fresh = written(tmp_path, "travel.md", "# Travel\n\nTrains are booked by the desk.")
    choose(page, drop, newer, near, fresh)
    expect(row(page, "travel.md")).to_have_attribute("data-state", "live")
    expect(page.locator("[data-questions]")).to_be_visible()
    known, alike = page.get_by_label("Choose for leave.md"), page.get_by_label("Choose for leave (1).md")
    expect(known.locator("option:checked")).to_have_text(re.compile("New version of “Leave policy of Ravensburg”"))
    expect(alike.locator("option:checked")).to_have_text("Another document")
    page.get_by_role("button", name="All are other documents").click()
    expect(known.locator("option:checked")).to_have_text("Another document")
    page.get_by_role("button", name="All are new versions").click()
    expect(alike.locator("option:checked")).to_have_text(re.compile("New version of"))
    alike.select_option("Another document")
    assert beside(lambda: versions_of("leave")) == [("Leave policy of Ravensburg", 1)]
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(page.locator("[data-questions]")).to_be_hidden()
    expect(row(page, "leave (1).md")).to_have_attribute("data-state", "live")
    expect(row(page, "leave.md")).to_have_count(2)
    expect(row(page, "leave.md").first).to_have_attribute("data-state", "live")
    title = "Leave policy of Ravensburg"
    assert beside(lambda: versions_of("leave")) == [(title, 2), (title, 1)]

    row(page, "leave.md").first.locator(".rs-item-name a").click()
    page.get_by_role("link", name="Upload new version").click()
    choose(page, page.locator(".rs-drop"), written(tmp_path, "leave final.md", POLICY.format(days=50)))
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.get_by_text("The new version is being processed")).to_be_visible()
    page.get_by_role("link", name="Versions").click()
    expect(page.locator("tbody tr")).to_have_count(3)


def test_an_edited_passage_says_so_in_the_chat(open_page: Any, live_site: Any, tmp_path: Path) -> None:
    page = open_page(width=1280, height=700, at=UPLOAD)
    page.get_by_label("3GPP specifications").check()
    text = "# Warranty of Ravensburg pumps\n\nThe warranty of Ravensburg pumps lasts 12 months. It begins on delivery."
    choose(page, page.locator("[data-drop]"), written(tmp_path, "warranty.md", text))
    expect(row(page, "warranty.md")).to_have_attribute("data-state", "live")
    row(page, "warranty.md").locator(".rs-item-name a").click()
    card = page.locator(".rs-passage-card").first
    card.get_by_text("Edit", exact=True).click()
    editor = card.locator("textarea[name=text]")
    expect(editor).to_be_focused()
    expect(editor).to_be_in_viewport(ratio=0.9)
    page.keyboard.press("Escape")
    expect(card.get_by_text("Edit", exact=True)).to_be_focused()
    card.get_by_text("Edit", exact=True).click()
    editor.fill("The warranty of Ravensburg pumps lasts 9 months. It begins on delivery.")
    card.get_by_role("button", name="Save").first.click()
    expect(page.locator(".rs-passage-card .rs-edited").first).to_be_in_viewport()

    live_site.llm.default = Reply(texts=("The warranty of Ravensburg pumps lasts 9 months [1].",))
    page.goto(f"{live_site.url}/")
    page.locator("#question").fill("How long is the warranty of Ravensburg pumps?")
    page.locator("#question").press("Enter")
    turn = page.locator(".turn").last
    expect(turn).to_have_attribute("data-state", "done")
    turn.locator(".cite").first.hover()
    expect(page.locator("#tooltip")).to_contain_text("edited by the owner")
    turn.locator(".cite").first.click()
    panel = page.locator("#evidence")
    expect(panel).to_contain_text(re.compile("Edited by the owner on .*; the original document says otherwise"))
    panel.get_by_text("Show what was changed").click()
    expect(panel.locator("del").last).to_contain_text("12 months")
    expect(panel.locator("ins").last).to_contain_text("9 months")


def test_a_fault_on_the_guided_page_costs_nothing_that_was_chosen(open_page: Any, tmp_path: Path) -> None:
    page = open_page(at="/admin/knowledge/knowledgeset/setup/")
    page.locator("#id_name").fill("Boilers of Ravensburg")
    page.locator("#id_code").fill("3gpp")
    page.get_by_role("searchbox", name="Other owners").click()
    page.keyboard.type("may")
    page.get_by_role("option", name=re.compile("maya")).click()
    choose(page, page.locator(".rs-drop"), written(tmp_path, "boiler.md", "# Boiler\n\nIt heats at 7 bar."))
    page.get_by_role("button", name="Create the knowledge set").click()

    fault = page.get_by_role("alert")
    expect(fault).to_have_text("Another knowledge set has this code.")
    expect(page.locator("#id_code")).to_be_focused()
    expect(page.locator("[data-names] li")).to_have_text(["boiler.md"])
    page.locator("#id_code").fill("boilers-of-ravensburg")
    page.get_by_role("button", name="Create the knowledge set").click()
    expect(page.get_by_text("1 file is being processed.")).to_be_visible()
    expect(page.locator("#id_owners option:checked")).to_have_text([re.compile("lin|maya"), re.compile("lin|maya")])
