"""Golden sets with import and export; runs are read-only."""

from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent
from evaluation.models import EvaluationRun, GoldenCase, GoldenSet
from evaluation.queue import RUN_EVALUATION
from evaluation.services.golden import version_keep
from evaluation.services.runs.lifecycle import run_cancel
from knowledge.models import Document
from knowledge.selectors.options import option_label
from tests.admin.conftest import make_document, signed_in
from tests.factories import make_set
from work.services import work_start

FIGURE = {"value": 0.8125, "low": 0.7, "high": 0.9, "cases": 4}


@pytest.fixture
def golden_set(administrator) -> GoldenSet:
    return GoldenSet.objects.create(tenant=administrator.tenant, name="Radio 无线")


def import_file(client, golden_set: GoldenSet, name: str, text: str):
    url = reverse("admin:evaluation_goldenset_import", args=[golden_set.pk])
    return client.post(url, {"file": SimpleUploadedFile(name, text.encode())}, follow=True)


def test_cases_are_imported_and_exported_again(reviewer, golden_set):
    client = signed_in(reviewer)
    make_document("demo/faq", make_set())

    import_file(client, golden_set, "cases.csv", "question,answers,relevant\n什么是切片？,SST|SD,demo/faq\n")
    exported = client.get(reverse("admin:evaluation_goldenset_export", args=[golden_set.pk]))

    row = json.loads(exported.content)
    assert row == {"question": "什么是切片？", "answers": ["SST", "SD"], "relevant": ["demo/faq"], "tags": []}
    assert exported["Content-Disposition"] == 'attachment; filename="radio.jsonl"'


def test_faults_of_a_file_are_shown_with_their_lines_and_nothing_is_imported(reviewer, golden_set):
    lines = '{"question": "fine?", "answers": ["yes"]}\n{"question": ""}\nno json\n'

    page = import_file(signed_in(reviewer), golden_set, "cases.jsonl", lines).content.decode()

    assert "Line 2 has no question." in page
    assert "Line 3 is not valid JSON" in page
    assert not GoldenCase.objects.exists()


def test_golden_sets_of_another_tenant_do_not_exist(stranger, golden_set):
    client = signed_in(stranger)

    assert client.get(reverse("admin:evaluation_goldenset_export", args=[golden_set.pk])).status_code == 404
    assert import_file(client, golden_set, "a.csv", "question,answers\na?,b\n").status_code == 404


def test_a_new_golden_set_belongs_to_the_own_tenant(stranger):
    signed_in(stranger).post(reverse("admin:evaluation_goldenset_add"), {"name": "theirs", "description": ""})

    assert GoldenSet.objects.get(name="theirs").tenant == stranger.tenant


def stored_run(golden_set: GoldenSet, outcomes: dict[GoldenCase, dict], **fields) -> EvaluationRun:
    """A finished run with one configuration."""
    version = version_keep(golden_set=golden_set)
    run = EvaluationRun.objects.create(golden_set=golden_set, version=version, total=len(outcomes), **fields)
    configuration = run.configurations.create(name="live", options_sha256="x", figures=fields.get("figures", {}))
    for case, outcome in outcomes.items():
        configuration.outcomes.create(case=case.pk, **outcome)
    return run


def test_a_run_shows_figures_with_intervals_and_the_worst_cases(reviewer, golden_set):
    good, bad = (golden_set.cases.create(question=q, relevant=["doc"]) for q in ("easy?", "hard?"))
    run = stored_run(
        golden_set,
        {good: {"scores": {"ndcg@10": 1.0}}, bad: {"scores": {"ndcg@10": 0.0}, "error": "model_unavailable"}},
        figures={"ndcg@10": {**FIGURE, "sd": 0.25}, "p95_ms": {**FIGURE, "value": 120.4}},
    )
    run.configurations.update(options={"retrieval": {"top_k": 5}})
    client = signed_in(reviewer)

    with CaptureQueriesContext(connection) as captured:
        page = client.get(reverse("admin:evaluation_evaluationrun_change", args=[run.pk]))
    text = page.content.decode()

    assert not [one for one in captured.captured_queries if '"evaluation_caseoutcome"."trace"' in one["sql"]]

    assert "0.700 – 0.900" in text
    assert "± 0.250" in text
    assert "120 ms" in text
    assert [row["question"] for row in page.context["worst"]] == ["hard?", "easy?"]
    assert "The language model cannot be reached at the moment." in text
    assert "model_unavailable" not in text
    assert f"{option_label('retrieval', 'top_k')} = 5" in text
    assert "0.812 (0.700–0.900)" in client.get(reverse("admin:evaluation_evaluationrun_changelist")).content.decode()


def test_figures_of_a_run_are_made_without_the_traces_of_its_cases(reviewer, golden_set):
    case = golden_set.cases.create(question="easy?", relevant=["doc"])
    run = stored_run(golden_set, {case: {"scores": {"ndcg@10": 1.0}}}, state=EvaluationRun.State.PAUSED)
    arguments = {"run_id": run.pk}
    values = {"tenant_id": golden_set.tenant_id, "author": reviewer, "subject": f"evaluation_run:{run.pk}"}
    work_start(kind=RUN_EVALUATION, arguments=arguments, **values)

    with CaptureQueriesContext(connection) as captured:
        run_cancel(run=run, actor=reviewer)

    run.refresh_from_db()
    assert run.figures["ndcg@10"]["value"] == 1.0
    read = [one["sql"].partition(" FROM ")[0] for one in captured.captured_queries]
    assert not [columns for columns in read if '"evaluation_caseoutcome"."trace"' in columns]


def test_the_list_of_golden_sets_shows_the_last_figure(reviewer, golden_set):
    EvaluationRun.objects.create(golden_set=golden_set, figures={"ndcg@10": FIGURE})

    assert "0.812" in signed_in(reviewer).get(reverse("admin:evaluation_goldenset_changelist")).content.decode()


def test_faults_of_a_file_are_told_in_chinese(reviewer, golden_set):
    client = signed_in(reviewer)
    client.defaults["HTTP_ACCEPT_LANGUAGE"] = "zh-CN"

    page = import_file(client, golden_set, "cases.csv", "foo,bar\n1,2\n").content.decode()

    assert "第 1 行必须是表头" in page


def test_a_curator_changes_only_golden_sets_of_their_own(owner, own_set, golden_set):
    client = signed_in(owner)
    client.post(reverse("admin:evaluation_goldenset_add"), {"name": "mine", "description": ""})
    mine, theirs = GoldenSet.objects.get(name="mine"), golden_set
    for one in (mine, theirs):
        GoldenCase.objects.create(golden_set=one, question=f"Why {one.name}?")
        import_file(client, one, "a.csv", "question,answers\na?,b\n")
        client.post(reverse("admin:evaluation_goldenset_delete", args=[one.pk]), {"post": "yes"})
    marked = {"action": "delete_selected", "_selected_action": [theirs.pk], "post": "yes"}
    client.post(reverse("admin:evaluation_goldenset_changelist"), marked)

    assert [one.name for one in GoldenSet.objects.all()] == [theirs.name]
    assert [case.question for case in GoldenCase.objects.all()] == [f"Why {theirs.name}?"]


def test_an_export_as_csv_runs_nothing_in_a_spreadsheet(reviewer, golden_set):
    golden_set.cases.create(question="=1+1", answers=["x"])

    exported = signed_in(reviewer).get(
        reverse("admin:evaluation_goldenset_export", args=[golden_set.pk]), {"as": "csv"}
    )

    assert "\n'=1+1,x," in exported.content.decode().replace("\r", "")
    assert exported["Content-Disposition"] == 'attachment; filename="radio.csv"'


def test_of_a_case_on_a_document_that_one_may_not_open_only_the_question_is_shown(reviewer, administrator, golden_set):
    make_document("secret-plan", make_set("closed", owners=[administrator], visibility="members"))
    hidden = golden_set.cases.create(question="What is planned?", relevant=["secret-plan"], key_points=["a tower"])
    golden_set.cases.create(question="What is open?", answers=["the door"])
    run = stored_run(golden_set, {hidden: {"scores": {"ndcg@10": 0.0}}})
    client = signed_in(reviewer)
    pages = [
        client.get(reverse("admin:evaluation_goldencase_change", args=[hidden.pk])),
        client.get(reverse("admin:evaluation_goldencase_changelist")),
        client.get(reverse("admin:evaluation_goldenset_export", args=[golden_set.pk])),
        client.get(reverse("admin:evaluation_evaluationrun_change", args=[run.pk])),
    ]
    change = reverse("admin:evaluation_goldencase_change", args=[hidden.pk])
    lab = client.get(reverse("admin:evaluation_lab"), {"case": hidden.pk})
    assert "secret-plan" not in lab["Location"]
    sent = client.post(change, {"golden_set": golden_set.pk, "question": "?", "answers": "mine"})

    for page in pages:
        assert page.status_code == 200
        assert "secret-plan" not in page.content.decode()
        assert "a tower" not in page.content.decode()
    assert "(withheld)" in pages[1].content.decode()
    assert "What is planned?" not in pages[2].content.decode()
    assert sent.status_code == 403
    seen = signed_in(administrator).get(change).content.decode()
    assert "secret-plan" in seen
    assert "a tower" in seen

    Document.objects.filter(external_id="secret-plan").update(deleted=timezone.now())
    for name in ("admin:evaluation_goldencase_change", "admin:evaluation_goldenset_export"):
        page = client.get(reverse(name, args=[hidden.pk if "case" in name else golden_set.pk]))
        assert "a tower" not in page.content.decode()
    hidden.relevant = [f"#{10**9}"]  # of a document that was purged
    hidden.save()
    assert "a tower" not in client.get(change).content.decode()
    hidden.relevant = ["not-loaded-yet"]
    hidden.save()
    assert "a tower" in client.get(change).content.decode()


def test_a_case_on_a_document_that_one_may_not_open_is_neither_overwritten_nor_deleted(
    reviewer, administrator, golden_set
):
    make_document("secret-plan", make_set("closed", owners=[administrator], visibility="members"))
    golden_set.created_by = reviewer
    golden_set.save()
    hidden = golden_set.cases.create(question="What is planned?", relevant=["secret-plan"], key_points=["a tower"])
    seen = golden_set.cases.create(question="What is open?", answers=["the door"])
    client = signed_in(reviewer)

    text = "question,answers\nWhat is open?,a window\nWhat is planned?,nothing\n"
    page = import_file(client, golden_set, "cases.csv", text).content.decode()
    deleted = client.post(reverse("admin:evaluation_goldencase_delete", args=[hidden.pk]), {"post": "yes"})
    seen.refresh_from_db()
    marked = {"action": "delete_selected", "_selected_action": [hidden.pk, seen.pk], "post": "yes"}
    client.post(reverse("admin:evaluation_goldencase_changelist"), marked)

    assert "Line 3 has the question of a case with a document that you may not open." in page
    assert "a tower" not in page
    assert seen.answers == ["the door"]
    assert deleted.status_code == 403
    hidden.refresh_from_db()
    assert (hidden.key_points, hidden.answers) == (["a tower"], [])
    import_file(signed_in(administrator), golden_set, "cases.csv", text)
    hidden.refresh_from_db()
    assert hidden.answers == ["nothing"]


def test_a_case_needs_something_that_is_expected_and_grades_of_what_it_names(reviewer, golden_set):
    client = signed_in(reviewer)
    for name in ("a=b", "d"):
        make_document(name, make_set())
    form = {"golden_set": golden_set.pk, "question": "Why?", "style": "original", "level": "single"}
    add = reverse("admin:evaluation_goldencase_add")

    assert "needs expected content" in client.post(add, form).content.decode()
    assert client.post(add, {**form, "relevant": "a=b", "grades": "c = 3"}).status_code == 200
    assert client.post(add, {**form, "relevant": "a=b", "grades": "a=b = 4"}).status_code == 200
    client.post(add, {**form, "relevant": "a=b\nd", "grades": "a=b = 3", "key_points": "one\ntwo"})

    case = GoldenCase.objects.get()
    assert (case.relevant, case.grades, case.key_points) == (["a=b", "d"], {"a=b": 3}, ["one", "two"])


def test_the_page_of_versions_restores_one(reviewer, golden_set):
    client = signed_in(reviewer)
    import_file(client, golden_set, "a.csv", "question,answers\na?,b\n")
    golden_set.cases.all().delete()
    url = reverse("admin:evaluation_goldenset_versions", args=[golden_set.pk])
    fresh = GoldenSet.objects.create(tenant=golden_set.tenant, name="fresh")
    empty = client.get(reverse("admin:evaluation_goldenset_versions", args=[fresh.pk]))
    assert "There is no version yet." in empty.content.decode()

    client.post(url, {"version": "2"})

    assert [case.question for case in golden_set.cases.all()] == ["a?"]
    assert [row.version.number for row in client.get(url).context["changes"]] == [4, 3, 2, 1]
    assert client.post(url, {"version": "99"}).status_code == 404
    assert AuditEvent.objects.filter(action="golden_set.restore").exists()
