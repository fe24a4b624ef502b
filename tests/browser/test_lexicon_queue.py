"""The queue of suggested terms in a real browser: how many wait, and going back over the end of a page."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from accounts.selectors import scope_for
from knowledge.admin.lexicon_pages import QUEUE
from knowledge.models import KnowledgeSet, LexiconTerm
from knowledge.services.lexicon import term_save

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]

REVIEW = "/admin/knowledge/lexiconterm/review/"
LEFT_AT_FIRST = QUEUE + 2


@pytest.fixture
def review(open_page, beside) -> Page:
    """The queue with suggestions for a page and two more."""

    def filled() -> int:
        admin, home = User.objects.get(username="lin"), KnowledgeSet.objects.get(code="3gpp")
        LexiconTerm.objects.all().delete()
        for number in range(LEFT_AT_FIRST):
            values = {"text": f"term {number:02}", "status": "candidate"}
            term_save(scope=scope_for(admin), actor=admin, set_id=home.pk, values=values)
        return home.pk

    page: Page = open_page(at=f"{REVIEW}?set={beside(filled)}")
    return page


def statuses(beside) -> list[str]:
    return beside(lambda: sorted(LexiconTerm.objects.exclude(status="candidate").values_list("text", flat=True)))


def expect_left(page: Page, number: int) -> None:
    expect(page.locator("[data-count]")).to_have_text(
        f"{number} suggestions are waiting." if number != 1 else "1 suggestion is waiting."
    )
    expect(page.locator("[data-suggested]")).to_have_text(f" ({number})" if number else "")


def test_the_page_tells_how_many_wait_and_undoes_over_the_end_of_a_page(review, beside):
    rows = review.locator("[data-term]")
    expect(rows).to_have_count(QUEUE)
    expect_left(review, LEFT_AT_FIRST)

    review.keyboard.press("a")
    expect_left(review, LEFT_AT_FIRST - 1)
    review.keyboard.press("u")
    expect_left(review, LEFT_AT_FIRST)
    expect(rows.first).to_contain_text("term 00")
    for number in range(1, QUEUE + 1):
        review.keyboard.press("r")
        expect(review.locator("[data-suggested]")).to_have_text(f" ({LEFT_AT_FIRST - number})")

    expect(rows).to_have_count(LEFT_AT_FIRST - QUEUE)
    expect(rows.first).to_contain_text(f"term {QUEUE}")
    for number in (1, 2):
        review.keyboard.press("u")
        expect(rows).to_have_count(LEFT_AT_FIRST - QUEUE + number)
        expect(rows.first).to_contain_text(f"term {QUEUE - number}")
    expect_left(review, LEFT_AT_FIRST - QUEUE + 2)
    assert statuses(beside) == [f"term {number:02}" for number in range(QUEUE - 2)]


def test_what_was_decided_last_of_all_can_be_undone(review, beside):
    beside(lambda: LexiconTerm.objects.exclude(text="term 07").delete())
    review.reload()

    review.keyboard.press("a")
    expect(review.locator(".rs-empty")).to_be_visible()
    expect_left(review, 0)
    review.locator("[data-undo-last]").click()

    expect(review.locator("[data-term]")).to_have_count(1)
    expect(review.locator(".rs-empty")).to_have_count(0)
    expect(review.locator("[data-undo-last]")).to_be_disabled()
    expect_left(review, 1)
    assert statuses(beside) == []
