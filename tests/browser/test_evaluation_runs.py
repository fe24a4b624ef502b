"""Run, comparison, gate and publication in a real browser, in both languages (D15, D34, B8)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from knowledge.models import Document, KnowledgeSet

pytestmark = [pytest.mark.browser, pytest.mark.first, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]

DONE_MS = 120_000  # the first case loads the models
NEW = "/admin/evaluation/evaluationrun/new/"


@pytest.fixture(scope="module")
def guarded(live_site: Any, django_db_blocker: Any) -> int:
    """A set whose golden set guards it; returns the set's id."""
    with django_db_blocker.unblock():
        admin = User.objects.get(username=live_site.admin)
        home = KnowledgeSet.objects.get(code="3gpp")
        names = [f"#{pk}" for pk in Document.objects.filter(sets=home).order_by("pk").values_list("pk", flat=True)]
        rows = [
            GoldenRow(question=f"{start} T_mod?", relevant=tuple(names), key_points=("T_mod",))
            for start in ("How long does the session function wait for", "What starts", "What is the default of")
        ]
        golden = golden_import(tenant=admin.tenant, name="Sessions", rows=rows, actor=admin).golden_set
        golden.sets.set([home])
        return home.pk


def finished(page: Page, state: str) -> None:
    expect(page.locator(".run-state").first).to_have_text(state, timeout=DONE_MS)


@pytest.mark.usefixtures("guarded")
def test_from_a_run_to_the_publication_of_settings(open_page: Any, live_site: Any, guarded: int) -> None:
    page = open_page(locale="en-GB")
    page.goto(f"{live_site.url}{NEW}")
    page.select_option("[name=golden_set]", label="Sessions")
    page.select_option("[name=component]", "retrieval")
    page.check("[name=ready][value=bm25]")
    page.get_by_role("button", name="Start", exact=True).click()
    finished(page, "Finished")
    expect(page.get_by_role("heading", name="Worst cases")).to_be_visible()

    page.get_by_role("link", name="Compare", exact=True).click()
    expect(page.get_by_role("img", name=re.compile("Differences with their 95 % intervals"))).to_be_visible()
    page.get_by_role("link", name="What starts T_mod?").click()
    expect(page.locator(".run-sides > section")).to_have_count(2)
    expect(page.locator(".run-relevant").first).to_be_visible()

    page.goto(f"{live_site.url}/admin/knowledge/knowledgeset/{guarded}/options/")
    expect(page.locator("#options-gate")).to_contain_text("Sessions")
    page.locator("[name='retrieval.top_k']").fill("9")
    page.locator(".rs-sticky").get_by_role("button", name="Save").click()
    finished(page, "Passed")
    page.get_by_role("button", name="Publish", exact=True).click()
    finished(page, "Published")

    page.get_by_role("link", name="Settings of the set").click()
    expect(page.locator("[name='retrieval.top_k']")).to_have_value("9")


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize("width", [1280, 390])
def test_the_pages_are_chinese_and_fit_a_phone(open_page: Any, live_site: Any, width: int) -> None:
    page = open_page(locale="zh-CN", width=width, color_scheme="dark")

    def holds(words: str) -> None:
        expect(page.locator("body")).to_contain_text(words)
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    page.goto(f"{live_site.url}{NEW}")
    holds("以您的权限提问")
    page.goto(f"{live_site.url}/admin/evaluation/gatedchange/")
    page.locator("a[href*='/gatedchange/'][href$='/change/']").first.click()
    holds("已发布")
    page.locator("h2 a[href*='/evaluationrun/']").click()
    holds("已完成")
    page.locator("a[href$='/compare/']").click()
    holds("配对自助法")
