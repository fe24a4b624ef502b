"""The knowledge graph, walked by an owner: import, try, graph, confirm, merge, undo; wide and on a telephone."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from knowledge.models import KnowledgeSet, Mention
from ragsite.embedded.processes import wait_until
from tests.browser.conftest import INGEST_SECONDS

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("read"),  # before the browser, whose event loop keeps this thread from the database
]
HOME = "/admin/knowledge/triple/"
FACTS = b"subject,relation,object\nBelgium,leader name,Charles Michel\nCharles Michel,birth place,Namur\n"
DONE_MS = 90_000


@pytest.fixture(scope="module")
def read(live_site: Any, beside: Any) -> int:
    """The id of a set whose documents have been read for entities."""
    assert beside(lambda: wait_until(lambda: Mention.objects.exists(), seconds=INGEST_SECONDS))
    found: int = beside(lambda: KnowledgeSet.objects.get(code="3gpp").pk)
    return found


WORDS = {
    "en-GB": {"import": "Import", "confirm": "Confirm", "undone": "Undone", "same": "Same entity as this name"},
    "zh-CN": {"import": "导入", "confirm": "确认", "undone": "已撤销", "same": "与此名称为同一实体"},
}


@pytest.mark.parametrize(
    ("locale", "width", "name"),
    [
        pytest.param("en-GB", 1280, "", marks=pytest.mark.full),
        pytest.param("zh-CN", 1280, "-zh", marks=pytest.mark.full),
        pytest.param("en-GB", 390, "-390", marks=pytest.mark.full),
        ("zh-CN", 390, "-390-zh"),
    ],
)
def test_from_the_import_to_a_decision_that_is_undone(
    open_page: Any, live_site: Any, read: int, picture: Any, locale: str, width: int, name: str
) -> None:
    words = WORDS[locale]
    page: Page = open_page(locale=locale, width=width, height=1000)

    def fits() -> None:
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    page.goto(f"{live_site.url}{HOME}import/")
    page.select_option("[name=knowledge_set]", str(read))
    page.set_input_files("[name=file]", {"name": f"{locale}{width}.csv", "mimeType": "text/csv", "buffer": FACTS})
    page.get_by_role("button", name=words["import"], exact=True).click()
    expect(page.locator("#live-imports")).to_contain_text(f"{locale}{width}.csv")
    expect(page.locator("#live-imports progress")).to_have_count(0, timeout=DONE_MS)

    page.goto(f"{live_site.url}{HOME}try/?q=Who+is+the+leader+of+Belgum?")
    expect(page.locator("strong", has_text="Charles Michel").first).to_be_visible()
    fits()

    page.goto(f"{live_site.url}{HOME}graph/?name=Charles+Michel")
    expect(page.locator("svg circle")).to_have_count(3)
    fits()
    picture(page, f"graph{name}.png", colours=64)
    page.get_by_role("button", name=words["confirm"]).first.press("Enter")
    page.goto(f"{live_site.url}{HOME}decisions/")
    fits()
    page.locator("#of-triples + ul button").first.press("Enter")
    expect(page.locator("#of-triples + ul li").first).to_contain_text(words["undone"])

    page.goto(f"{live_site.url}{HOME}entities/?set={read}")
    fits()
    picture(page, f"entities{name}.png", colours=64)
    names = page.locator("tbody th a")
    other = names.nth(1).inner_text()
    names.first.click()
    page.locator("#other-name").fill(other)
    page.get_by_role("button", name=words["same"]).click()
    undo = page.locator("form.rs-inline button").first
    expect(undo).to_be_visible()
    fits()
    undo.press("Enter")
    expect(page.locator("form.rs-inline")).to_have_count(0)
