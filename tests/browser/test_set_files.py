"""A knowledge set is exported on its page, and comes back as another one."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from knowledge.models import KnowledgeSet

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]

WAIT = 120_000  # ms; workers share the machine with the browser


def set_number(code: str) -> int:
    return KnowledgeSet.objects.get(code=code).pk


def documents(code: str) -> int:
    return KnowledgeSet.objects.get(code=code).documents.count()


def finished(page: Page, words: str) -> None:
    expect(page.get_by_text(words).first).to_be_visible(timeout=WAIT)


@pytest.mark.full
def test_a_set_is_exported_downloaded_offered_confirmed_and_its_files_deleted(open_page, live_site, beside, tmp_path):
    page = open_page()
    page.goto(f"{live_site.url}/admin/knowledge/knowledgeset/{beside(set_number, '3gpp')}/export/")
    page.get_by_role("button", name="Export", exact=True).click()
    link = page.get_by_role("link", name="Download", exact=True)
    expect(link).to_be_visible(timeout=WAIT)
    with page.expect_download() as download:
        link.click()
    path = tmp_path / "3gpp.set.zip"
    download.value.save_as(path)

    page.goto(f"{live_site.url}/admin/knowledge/knowledgeset/import/")
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_role("button", name="Continue", exact=True).click()
    expect(page.get_by_text("Same embedding model: taken over")).to_be_visible()
    page.locator("input[name=code]").fill("3gpp-again")
    page.get_by_role("button", name="Import", exact=True).click()
    finished(page, "Finished")
    assert beside(documents, "3gpp-again") == beside(documents, "3gpp")

    page.goto(f"{live_site.url}/admin/knowledge/knowledgeset/import/")
    page.get_by_role("button", name="Delete 3gpp.set.zip").click()
    expect(page.get_by_text("The file was deleted.")).to_be_visible()
    page.goto(f"{live_site.url}/admin/knowledge/knowledgeset/{beside(set_number, '3gpp')}/export/")
    page.get_by_role("button", name="Delete 3gpp.set.zip").click()
    expect(page.get_by_text("No files yet.")).to_be_visible()
