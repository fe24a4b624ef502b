"""What reviewers do with feedback cases, proposed golden cases and models of sets, one button after the other."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accounts.models import User
from evaluation.models import GoldenSet, ProposedCase
from feedback.models import BadCase
from knowledge.models import KnowledgeSet
from tests.browser.test_admin_pages import kinds_of_pages

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]


def rows() -> dict[str, int]:
    """Numbers of a case, a golden set with two proposed cases, a set with two models of its own, and a message."""
    kinds_of_pages()
    case, proposal = BadCase.objects.latest("pk"), ProposedCase.objects.latest("pk")
    proposal.pk, proposal.question = None, "What is a second slice?"
    proposal.save()
    home = KnowledgeSet.objects.first()
    assert home is not None
    golden = GoldenSet.objects.latest("pk")
    return {
        "case": case.pk,
        "message": case.message_id,
        "golden": golden.pk,
        "set": home.pk,
        "reviewer": User.objects.get(username="lin").pk,
    }


@pytest.fixture(scope="module")
def numbers(live_site: Any, beside: Any) -> dict[str, int]:
    return beside(rows)  # type: ignore[no-any-return]


def press(page: Page, button: str) -> None:
    """Press a button of the case, which is shown again with the outcome."""
    page.get_by_role("button", name=re.compile(f"^{button}")).first.click()
    page.wait_for_load_state("load")


def test_each_button_of_a_case_is_pressed(open_page, live_site, numbers):
    page = open_page()
    cases = f"{live_site.url}/admin/feedback/badcase/"
    case = f"{cases}{numbers['case']}/change/"

    page.goto(cases)
    press(page, "Diagnose")
    page.goto(f"{live_site.url}/admin/evaluation/goldencase/diagnosis/?message={numbers['message']}")
    press(page, "Find the cause")
    page.goto(case)
    press(page, "Assign to me")
    expect(page.get_by_role("button", name="Assign to me")).to_have_count(0)
    page.get_by_text("Reviewer and changes").click()
    page.locator("[name=assignee]").select_option(str(numbers["reviewer"]))
    page.locator("form:has([name=assignee]) button").click()
    expect(page.locator("[name=assignee]")).to_have_value(str(numbers["reviewer"]))
    page.get_by_text("Reviewer and changes").click()
    page.locator("[name=fix]").fill("A document was added")
    page.locator("form:has([name=fix]) button").click()
    expect(page.locator("[name=fix]")).to_have_value("A document was added")
    page.get_by_text("What would have been right?").click()
    page.locator("[name=right_answer]").fill("A slice is a logical network.")
    press(page, "Save and diagnose")
    page.goto(case)
    expect(page.locator("[name=right_answer]")).to_have_value("A slice is a logical network.")
    press(page, "Notify the user")
    for button in ("Test again now", "With the original settings"):
        page.goto(case)
        press(page, button)

    page.goto(case)
    page.get_by_role("radio").first.check()
    press(page, "Save, keep in progress")
    page.get_by_role("radio").first.check()
    press(page, "Close the case")
    page.goto(case)
    press(page, "Open the case again")
    page.goto(cases)
    page.locator("#result_list tbody tr", has_text="Why?").locator("input.action-select").check()
    page.locator("select[name=action]:visible").select_option("take")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("1 case: in progress", exact=False)).to_be_visible()


def test_proposed_cases_are_accepted_rejected_and_looked_for(open_page, numbers):
    page = open_page(at=f"/admin/evaluation/goldenset/{numbers['golden']}/proposals/")
    press(page, "Accept")
    expect(page.get_by_role("heading", name="1 proposed case")).to_be_visible()
    press(page, "Reject")
    expect(page.get_by_role("heading", name="0 proposed cases")).to_be_visible()
    page.locator("button[name=act][value=start]").click()
    expect(page.locator("#proposals-live")).to_be_visible()


def test_a_golden_set_covers_all_sets_or_none(open_page):
    page = open_page(at="/admin/evaluation/goldenset/add/")
    page.locator("#id_sets_add_all").click()
    expect(page.locator("#id_sets_from option")).to_have_count(0)
    page.locator("#id_sets_remove_all").click()
    expect(page.locator("#id_sets_to option")).to_have_count(0)


@pytest.mark.full
def test_models_of_a_set_are_switched_off_resumed_and_cancelled(open_page, numbers):
    page = open_page(at=f"/admin/evaluation/goldencase/set-models/set/?set={numbers['set']}")
    press(page, "Back to the site's model")
    expect(page.get_by_text("Only the site's model is used.")).to_be_visible()
    press(page, "Delete the vectors")
    press(page, "Resume")
    press(page, "Cancel")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
