"""The retrieval lab in a real browser: search, explain, compare, save."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from accounts.selectors import scope_for
from evaluation.models import GoldenSet
from knowledge.demo import demo_documents
from knowledge.models import Document, KnowledgeSet
from knowledge.services import document_upload
from ragsite.embedded.processes import wait_until

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]

LAB = "/admin/evaluation/goldencase/lab/"
QUESTION = "When does the terminal repeat the random access preamble?"
INGEST_SECONDS = 120


@pytest.fixture(scope="module")
def corpus(live_site: Any, beside: Any) -> None:
    """The sample documents, and a golden set to save into."""

    def made() -> None:
        admin = User.objects.get(username=live_site.admin)
        home = KnowledgeSet.objects.get(code="3gpp")
        for sample in demo_documents():
            document_upload(
                scope=scope_for(admin),
                actor=admin,
                sets=[home.pk],
                name=sample.path.name,
                content=sample.path.read_bytes(),
                title=sample.title,
            )
        GoldenSet.objects.create(tenant=admin.tenant, name="Radio")
        assert wait_until(
            lambda: not Document.objects.exclude(state=Document.State.LIVE).exists(), seconds=INGEST_SECONDS
        )

    beside(made)


def asked(open_page: Any, question: str = QUESTION, query: str = "", **options: Any) -> Page:
    """The lab after a question was typed and sent with the return key."""
    page = open_page(**options, at=f"{LAB}{query}")
    page.locator("[name=q]").fill(question)
    page.locator("[name=q]").press("Enter")
    expect(page.locator(".lab-run .lab-row").first).to_be_visible()
    return page


def compare(page: Page) -> None:
    """Words only and three passages as the second configuration."""
    page.locator("[name=compare]").check()
    page.locator("[data-configuration=B] > summary").click()
    page.locator("[name=b-mode]").select_option("bm25")
    page.locator("[name='b-retrieval.top_k']").fill("3")
    page.locator("[name='b-retrieval.top_k']").press("Enter")
    expect(page.locator(".lab-run")).to_have_count(2)


@pytest.mark.usefixtures("corpus")
def test_a_search_is_explained_compared_and_saved_as_a_golden_case(open_page):
    page = asked(open_page)

    first = page.locator("[data-run=A] > .lab-rows > .lab-row").first
    expect(first.locator("mark").first).to_be_visible()
    first.locator(".lab-all > summary").click()
    expect(first.get_by_role("cell", name=re.compile(r"\d")).first).to_be_visible()
    assert "b-mode" not in page.url  # nothing stands in the address that was not chosen

    compare(page)
    expect(page.locator("[data-run=B] .lab-row[data-chunk]:not([data-dropped]) .lab-move").first).to_be_visible()
    expect(page.locator("[data-run=B] > .lab-rows > .lab-row")).to_have_count(3)
    chunk = page.locator("[data-run=B] > .lab-rows > .lab-row").first.get_attribute("data-chunk")
    page.locator("[data-run=B] > .lab-rows > .lab-row").first.hover()
    expect(page.locator(f"[data-run=A] .lab-row[data-chunk='{chunk}']")).to_have_attribute("data-same", "")

    page.locator("[data-run=A] > .lab-rows [data-relevant]").first.check()
    page.locator("[name=target]").select_option("text")
    page.locator("[data-golden] button").click()
    expect(page.get_by_text("Saved as a golden case of “Radio”.")).to_be_visible()
    expect(page.locator(".lab-run")).to_have_count(2)  # the lab is as it was
    page.get_by_role("link", name="Open", exact=True).click()
    expect(page.locator("[name=question]")).to_have_value(QUESTION)


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize(
    ("scheme", "name"), [pytest.param("light", "lab.png", marks=pytest.mark.full), ("dark", "lab-dark.png")]
)
def test_the_lab_says_where_a_document_fell_out_in_both_themes(open_page, picture, scheme, name):
    page = asked(open_page, height=1100, color_scheme=scheme)
    page.locator("[name=find]").fill("RedCap")
    compare(page)

    where = page.locator(".lab-where")
    expect(where).to_have_count(2)
    expect(where.first).to_contain_text(re.compile(r"rank \d+ of the result|not found|not among", re.IGNORECASE))
    page.evaluate("document.querySelector('.lab-results').scrollIntoView()")
    picture(page, name, colours=128)


@pytest.mark.usefixtures("corpus")
def test_the_lab_in_chinese_compares_finds_and_saves(open_page, picture):
    page = asked(open_page, "随机接入的过程是什么？", locale="zh-CN", height=1100)

    compare(page)
    page.evaluate("document.querySelector('.lab-results').scrollIntoView()")
    picture(page, "lab-zh.png", colours=128)
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile("[\u4e00-\u9fff]"))
    expect(page.locator("[data-run=A] mark").first).to_contain_text(re.compile("随机|接入|过程"))
    page.locator("[data-run=A] > .lab-rows [data-relevant]").first.check()
    page.locator("[data-golden] button").click()
    page.locator("a[href*='/goldencase/'][href$='/change/']").click()
    expect(page.locator("[name=question]")).to_have_value("随机接入的过程是什么？")


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.full)])
def test_the_lab_fits_a_telephone(open_page, scheme):
    page = asked(open_page, width=390, height=844, color_scheme=scheme)
    compare(page)
    page.locator(".lab-all > summary").first.click()

    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.full
@pytest.mark.usefixtures("corpus")
def test_the_lab_works_without_its_script_from_its_address_alone(open_page):
    address = asked(open_page).url
    page = open_page()
    page.route("**/lab*.js*", lambda route: route.fulfill(body="", content_type="text/javascript"))

    page.goto(address)

    expect(page.locator("[data-run=A] > .lab-rows > .lab-row").first).to_be_visible()
    page.locator("[name=find]").fill("RedCap")
    page.locator("[data-lab-form] button").first.click()
    expect(page.locator(".lab-where")).to_be_visible()
    assert "a-mode" in page.url  # every field of the form: nobody shortened the address


@pytest.mark.usefixtures("corpus")
def test_the_lab_is_used_by_keyboard(open_page):
    page = asked(open_page)
    tick = page.locator("[data-run=A] > .lab-rows [data-relevant]").first

    tick.focus()
    page.keyboard.press("Space")
    expect(page.locator("[data-ticked]")).to_have_text("1")
    summary = page.locator("[data-run=A] .lab-all > summary").first
    summary.focus()
    page.keyboard.press("Enter")

    expect(page.locator("[data-run=A] .lab-all").first).to_have_attribute("open", "")
