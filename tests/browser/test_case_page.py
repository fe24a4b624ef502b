"""Feedback cases worked on by a reviewer's means: two columns, a search for documents, resolutions, many at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from chat.models import Conversation, Message
from evaluation.models import GoldenCase, GoldenSet
from feedback.models import BadCase
from knowledge.models import Document

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.django_db,
    pytest.mark.timeout(300),
    pytest.mark.usefixtures("cases"),  # before the browser, whose event loop keeps this thread from the database
]
CASES = "/admin/feedback/badcase/"
WIDE = "Which of these values is wrong?"
OFF_TOPIC = ("How do I reset my Windows password?", "Where is the menu of the canteen?", "Who won the match?")
CELLS = "".join(f"<td>value_{n}_which_is_rather_long</td>" for n in range(14))
ANSWER = f"<p>{'W' * 300}</p><table><tbody>{f'<tr>{CELLS}</tr>' * 5}</tbody></table><pre><code>{'x' * 400}</code></pre>"
DESKTOP, PHONE = 1280, 390
OUTSIDE = """() => [...document.querySelectorAll(".case-desk *")]
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".rs-answer, .rs-scroll, pre"))
  .map((e) => e.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def cases(live_site: Any, beside: Any) -> Iterator[dict[str, int]]:
    """Cases by question: an answer with a wide table and long words, and questions that were refused."""

    def made() -> dict[str, int]:
        reader = User.objects.get(username=live_site.reader)
        talk = Conversation.objects.create(user=reader, tenant=reader.tenant)
        wide = Message.objects.create(
            conversation=talk, question=f"{WIDE} {'A' * 200}", answer="x", answer_html=ANSWER, state="done",
            status="answered",
        )  # fmt: skip
        for number, document in enumerate(Document.objects.exclude(live_version=None)[:3], 1):
            chunk = document.live_version.chunks.first()
            wide.citations.create(
                number=number, document=document, version=document.live_version, chunk=chunk, excerpt=chunk.text[:200]
            )
        refused = [
            Message.objects.create(conversation=talk, question=question, state="done", status="refused")
            for question in OFF_TOPIC
        ]
        GoldenSet.objects.get_or_create(tenant=reader.tenant, name="Refusals")
        return {message.question: BadCase.objects.create(message=message).pk for message in (wide, *refused)}

    yield beside(made)
    beside(lambda: Conversation.objects.filter(messages__question__in=OFF_TOPIC).delete())


def fits(page: Page, width: int) -> None:
    """Nothing leaves the page or its card, and tables scroll inside."""
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OUTSIDE) == []


@pytest.mark.parametrize(
    ("width", "language"), [pytest.param(DESKTOP, "en-GB", marks=pytest.mark.full), (PHONE, "zh-CN")]
)
def test_a_case_with_a_wide_table_and_long_words_fits_a_desktop_and_a_telephone(
    open_page: Any, live_site: Any, cases: dict[str, int], width: int, language: str
) -> None:
    page = open_page(locale=language, width=width, height=900)
    wide = next(pk for question, pk in cases.items() if question.startswith(WIDE))
    page.goto(f"{live_site.url}{CASES}{wide}/change/")
    expect(page.locator("#resolution")).to_be_attached()

    fits(page, width)
    table = page.locator(".rs-answer table").first
    assert table.evaluate("(e) => e.scrollWidth > e.clientWidth")
    read, work, sources = (page.locator(f".case-{part}").bounding_box() for part in ("read", "work", "sources"))
    if width == DESKTOP:
        assert work["x"] >= read["x"] + read["width"]
        assert page.evaluate("getComputedStyle(document.querySelector('.case-work')).position") == "sticky"
        assert sources["y"] >= read["y"] + read["height"]
        assert page.locator("kbd").first.is_visible()
    else:
        assert sources["y"] >= work["y"] + work["height"] >= read["y"] + read["height"]
        assert not page.locator("kbd").first.is_visible()
    assert page.locator("form:has(input[name=act][value=mark])").count() == 1


def test_a_reviewer_resolves_one_case_and_then_many_and_takes_them_back(
    open_page: Any, live_site: Any, cases: dict[str, int], beside: Any
) -> None:
    page = open_page(locale="en-GB", width=DESKTOP, height=1200, at=f"{CASES}{cases[OFF_TOPIC[0]]}/change/")
    page.locator("body").press("m")
    search = page.get_by_role("combobox", name="Search documents and passages")
    search.press_sequentially("xyzzyplugh")
    expect(page.get_by_text("Nothing found.")).to_be_visible()
    search.press("Escape")
    page.get_by_role("radio", name="Rightly refused").check()
    page.get_by_label("Save as a golden case that expects a refusal").select_option(label="Refusals")
    page.get_by_role("button", name="Close the case").click()
    expect(page.locator(".case-summary")).to_contain_text("Rightly refused")
    of_case = GoldenCase.objects.filter(question=OFF_TOPIC[0]).values_list("expects_refusal", "relevant")
    saved = beside(lambda: list(of_case))
    assert saved == [(True, [])]

    page.goto(f"{live_site.url}{CASES}")
    for question in OFF_TOPIC[1:]:
        page.locator("#result_list tr", has_text=question).locator("input[type=checkbox]").check()
    page.locator("select[name=action]").select_option("close")
    page.locator("#changelist-form button[name=index], #changelist-form button[type=submit]").first.click()
    page.get_by_role("radio", name="Rightly refused").check()
    page.get_by_role("button", name="Close 2 cases").click()
    expect(page.get_by_text("You closed 2 cases: Rightly refused.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("2 cases are as before.")).to_be_visible()
    for question in OFF_TOPIC[1:]:
        expect(page.locator("#result_list tr", has_text=question)).to_contain_text("Open")
