"""Running a golden set over really ingested documents."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from accounts.models import User
from accounts.selectors import scope_for
from evaluation.errors import NothingToEvaluateError
from evaluation.models import EvaluationRun, GoldenSet
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from evaluation.services.runs import EvaluationOptions, evaluation_run
from tests.factories import ingest, make_admin, make_set, make_user

TEXTS = {
    "ra": "# 随机接入\n\n随机接入是终端与基站建立上行同步的过程。",
    "ca": "# Carrier aggregation\n\nCarrier aggregation lets a device use several component carriers at once.",
}


@pytest.fixture
def admin(db) -> User:
    return make_admin("admin")


@pytest.fixture
def golden_set(admin) -> GoldenSet:
    ingest(admin, make_set("radio", owners=[admin]), **TEXTS)
    rows = [
        GoldenRow(question="随机接入是什么？", answers=("上行同步",), relevant=("ra",)),
        GoldenRow(question="What is carrier aggregation?", answers=("component carriers",), relevant=("ca",)),
    ]
    return golden_import(tenant=admin.tenant, name="radio", rows=rows).golden_set


@pytest.mark.django_db(transaction=True)  # answers use the database from several threads
def test_a_run_stores_figures_of_every_case(admin, golden_set):
    run = evaluation_run(
        scope=scope_for(admin), user=admin, golden_set=golden_set, options=EvaluationOptions(answers=True)
    )

    stored = EvaluationRun.objects.get(pk=run.pk)
    assert stored.figures["recall@1"]["value"] == 1.0
    assert stored.figures["ndcg@10"] == {"value": 1.0, "low": 1.0, "high": 1.0, "cases": 2}
    assert stored.figures["contains_answer"]["value"] == 1.0
    assert stored.figures["cites_relevant"]["value"] == 1.0
    assert [case["found"][0] for case in stored.cases] == ["ra", "ca"]
    assert stored.started <= stored.finished


def test_a_run_sees_only_what_its_asker_may_see(admin, golden_set):
    nobody = make_user(clearance=0)
    golden_set.tenant.knowledge_sets.update(visibility="members")

    run = evaluation_run(scope=scope_for(nobody), user=nobody, golden_set=golden_set, options=EvaluationOptions())

    assert run.figures["recall@10"]["value"] == 0.0
    assert [case["found"] for case in run.cases] == [[], []]


def test_documents_may_be_named_by_their_number(admin, golden_set):
    document = ingest(admin, make_set("more", owners=[admin]), slices="Network slices are logical networks.")["slices"]
    rows = [GoldenRow(question="network slices", relevant=(f"#{document.pk}",))]
    numbered = golden_import(tenant=admin.tenant, name="numbered", rows=rows).golden_set

    run = evaluation_run(scope=scope_for(admin), user=admin, golden_set=numbered, options=EvaluationOptions())

    assert run.figures["recall@1"]["value"] == 1.0


def test_a_golden_set_without_cases_cannot_run(admin):
    empty = GoldenSet.objects.create(tenant=admin.tenant, name="empty")

    with pytest.raises(NothingToEvaluateError):
        evaluation_run(scope=scope_for(admin), user=admin, golden_set=empty, options=EvaluationOptions())


def test_the_command_prints_the_figures_and_passes_the_gate(golden_set, capsys):
    call_command("evaluate", golden="radio", min_ndcg=0.9)

    printed = capsys.readouterr().out
    assert "ndcg@10" in printed
    assert "1.000 – 1.000" in printed


def test_the_gate_ends_the_command_with_2_when_the_figure_is_too_low(golden_set, capsys):
    golden_set.cases.update(relevant=["nothing"])

    with pytest.raises(SystemExit) as ended:
        call_command("evaluate", golden="radio", min_ndcg=0.5)

    assert ended.value.code == 2
    assert "below the limit of 0.5" in capsys.readouterr().err
