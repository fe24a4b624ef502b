"""The page "Why did this fail?": what it tells, to whom, and in which words."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import translation

from evaluation.admin.diagnosis_words import DETAILS, REMEDIES, SUBCAUSES
from evaluation.models import Diagnosis
from tests.admin.conftest import make_document, signed_in
from tests.admin.test_reviews import make_case
from tests.factories import make_set, make_user

PAGE = "admin:evaluation_diagnosis"


@pytest.fixture
def asker(db):
    return make_user("asker")


@pytest.fixture
def case(asker):
    return make_case(asker, "What is RA-RNTI?", make_document("TS 38.321", make_set()))


def address(case) -> str:
    return f"{reverse(PAGE)}?message={case.message.pk}"


def diagnosis_of(case, **values) -> Diagnosis:
    document = case.message.citations.get().document
    return Diagnosis.objects.create(
        message=case.message,
        **{
            "document": document,
            "ordinal": 0,
            "cause": "generation",
            "subcause": "numerical error",
            "detail": "model",
            "confidence": 0.85,
            "evidence": {"whereabouts": "source", "figures": ["32"]},
            "remedy": "golden_case",
            **values,
        },
    )


def test_a_reviewer_reads_cause_evidence_and_remedy(reviewer, case):
    diagnosis_of(case)

    page = signed_in(reviewer).get(address(case)).content.decode()

    assert "The answer gives the wrong number." in page
    assert "Likely cause: a wrong number (85 %)" in page
    assert "save it as a golden case" in page
    assert page.count("dx-failed") == 1
    assert "32" in page
    assert "just now" in page
    assert "Why did this fail?</a>" not in page  # it leads to this page


def test_a_diagnosis_is_made_and_kept(reviewer, case):
    document = case.message.citations.get().document
    client = signed_in(reviewer)

    answer = client.post(address(case), {"passage": f"#{document.pk}", "answers": "64\n\nsixty-four", "points": ""})

    stored = Diagnosis.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, address(case))
    assert (stored.document, stored.answers, stored.created_by) == (document, ["64", "sixty-four"], reviewer)


def test_a_document_that_is_not_there_is_told_and_nothing_is_kept(reviewer, case):
    page = signed_in(reviewer).post(address(case), {"passage": "#999999"}, follow=True)

    assert page.status_code == 200
    assert not Diagnosis.objects.exists()


def test_what_rests_on_a_hidden_document_is_not_shown(reviewer, case):
    hidden = make_document("Board minutes", make_set("board", visibility="members"))
    diagnosis_of(case, document=hidden)

    page = signed_in(reviewer).get(address(case)).content.decode()

    assert "Board minutes" not in page
    assert "dx-failed" not in page


@pytest.mark.parametrize("name", ["", "not-a-number", "00000000-0000-0000-0000-000000000000"])
def test_without_a_question_there_is_nothing(reviewer, name):
    assert signed_in(reviewer).get(f"{reverse(PAGE)}?message={name}").status_code == 404


def test_an_employee_has_no_such_page(case):
    assert signed_in(make_user("employee")).get(address(case)).status_code in (302, 403)


def test_every_cause_is_told_in_chinese():
    with translation.override("zh-hans"):
        untold = [
            str(text) for words in (SUBCAUSES, DETAILS, REMEDIES) for text in words.values() if str(text).isascii()
        ]

    assert untold == []
