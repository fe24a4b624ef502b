"""Golden cases name documents that exist: refused where they do not, shown and left out where they vanish."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from evaluation.models import GoldenCase, GoldenSet
from evaluation.selectors import cases_outdated
from evaluation.services.golden_files import row_of
from evaluation.services.runs.components import AskedCase
from evaluation.services.runs.lifecycle import evaluation_run
from evaluation.services.runs.measuring import case_run
from evaluation.services.runs.reading import run_progress
from tests.admin.conftest import signed_in
from tests.evaluation.test_diagnosis import QUESTION, TEXTS
from tests.evaluation.test_runs import RETRIEVAL
from tests.factories import ingest, make_admin, make_set, make_user, scope_of

pytestmark = pytest.mark.django_db(transaction=True)
ADD = "admin:evaluation_goldencase_add"
LIST = "admin:evaluation_goldencase_changelist"


@pytest.fixture
def reviewer():
    return make_admin("reviewer")


@pytest.fixture
def documents(reviewer):
    return ingest(reviewer, make_set("radio", owners=[reviewer]), **TEXTS)


@pytest.fixture
def golden(reviewer) -> GoldenSet:
    return GoldenSet.objects.create(tenant=reviewer.tenant, name="Radio", created_by=reviewer)


def form_of(golden: GoldenSet, **values):
    return {"golden_set": golden.pk, "question": QUESTION, "style": "original", "level": "single", "tags": "", **values}


def test_a_case_with_an_unknown_or_a_deleted_document_is_refused_by_name(reviewer, documents, golden):
    documents["ca"].deleted = documents["ca"].created
    documents["ca"].save(update_fields=["deleted"])
    client = signed_in(reviewer)
    gone = f"#{documents['ca'].pk}"

    page = client.post(reverse(ADD), form_of(golden, relevant=f"rach\nnowhere\n{gone}"))

    (error,) = page.context["adminform"].form.errors["relevant"]
    assert error == f"These documents do not exist, or you may not open them: nowhere, {gone}."
    assert not golden.cases.exists()
    client.post(reverse(ADD), form_of(golden, relevant="rach"))
    assert golden.cases.get().relevant == ["rach"]


def test_a_file_with_unknown_documents_is_refused_with_their_lines(reviewer, documents, golden):
    lines = [{"question": "a?", "relevant": ["rach"]}, {"question": "b?", "relevant": ["nowhere", "rach"]}]
    content = "\n".join(map(json.dumps, lines)).encode()

    page = signed_in(reviewer).post(
        reverse("admin:evaluation_goldenset_import", args=[golden.pk]),
        {"file": SimpleUploadedFile("cases.jsonl", content)},
    )

    (error,) = page.context["form"].errors["file"]
    assert error == "Line 2 names the document 'nowhere', which does not exist or which you may not open."
    assert not golden.cases.exists()


def test_documents_are_found_by_title_and_passages_by_text_within_the_rights_of_the_person(reviewer, documents):
    board = make_set("board", owners=[reviewer], visibility="members", members=[reviewer])
    ingest(reviewer, board, secret="The preambles of the board are decided in May.")
    other = make_user("other", is_staff=True, clearance=1)
    make_set("own", owners=[other])
    find = reverse("admin:evaluation_passage_find")

    def found(person, query):
        return signed_in(person).get(find, {"q": query}).json()["choices"]

    mine, theirs = found(reviewer, "preambles"), found(other, "preambles")

    assert any("board" in choice["text"] for choice in mine)
    assert theirs
    assert not any("board" in choice["text"] for choice in theirs)
    passage = next(choice for choice in theirs if choice["document"] == "rach")
    assert passage["value"] == f"#{documents['rach'].pk}:1"
    assert passage["label"].endswith(", passage 1")
    assert found(reviewer, documents["rach"].title)[0]["value"] == f"#{documents['rach'].pk}"
    assert signed_in(make_user("plain")).get(find, {"q": "preambles"}).status_code in (302, 403)


def test_a_case_whose_document_is_gone_needs_attention_and_counts_in_no_figure(reviewer, documents, golden):
    whole = GoldenCase.objects.create(golden_set=golden, question=QUESTION, relevant=["rach"])
    half = GoldenCase.objects.create(golden_set=golden, question=f"{QUESTION} Really?", relevant=["rach", "ca"])
    documents["ca"].deleted = documents["ca"].created
    documents["ca"].save(update_fields=["deleted"])

    assert list(cases_outdated(cases=golden.cases.all())) == [half]
    asked = AskedCase(scope=scope_of(reviewer), user=reviewer, row=row_of(half), sets=())
    result = case_run(asked, component="retrieval")
    assert (result.scores, result.trace, result.error) == ({}, {"skipped": "document_gone"}, "document_gone")
    client = signed_in(reviewer)
    page = client.get(reverse(LIST)).content.decode()
    assert page.count("Needs attention: a document is gone") == 1
    only = client.get(reverse(LIST), {"attention": "yes"})
    assert [case.pk for case in only.context["cl"].result_list] == [half.pk]
    assert documents["rach"].title in page
    assert (
        "Needs attention" in client.get(reverse("admin:evaluation_goldencase_change", args=[half.pk])).content.decode()
    )
    assert whole.pk not in [case.pk for case in only.context["cl"].result_list]


def test_a_run_says_how_many_cases_it_left_out(reviewer, documents, golden):
    GoldenCase.objects.create(golden_set=golden, question=QUESTION, relevant=["rach"])
    GoldenCase.objects.create(golden_set=golden, question=f"{QUESTION} Really?", relevant=["rach", "nowhere"])
    run = evaluation_run(scope=scope_of(reviewer), user=reviewer, golden_set=golden, configurations=[RETRIEVAL])

    progress = run_progress(run)
    assert (progress.outdated, progress.failed) == (1, 0)
    assert run.figures["ndcg@10"]["cases"] == 1
    page = signed_in(reviewer).get(reverse("admin:evaluation_evaluationrun_change", args=[run.pk])).content.decode()
    assert "1 case needs attention" in page


def test_a_case_that_expects_a_refusal_is_right_when_it_is_refused(reviewer, documents, golden):
    case = GoldenCase.objects.create(golden_set=golden, question="Who won the football match?", expects_refusal=True)
    asked = AskedCase(scope=scope_of(reviewer), user=reviewer, row=row_of(case), sets=())

    assert case_run(asked, component="answer").scores["refusal_quality"] == 1.0
