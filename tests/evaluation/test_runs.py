"""Running a golden set over really ingested documents: figures, components, failures, pause, loss of a worker."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.urls import reverse

from accounts.models import AuditEvent, User
from accounts.selectors import scope_for
from evaluation.errors import NothingToEvaluateError, RunNotOpenError, RunUnfinishedError, TooManyConfigurationsError
from evaluation.models import CaseOutcome, EvaluationRun, GoldenSet, RunConfiguration
from evaluation.services import judge_client
from evaluation.services.golden import golden_import
from evaluation.services.golden_files import GoldenRow
from evaluation.services.runs import asking, components, measuring
from evaluation.services.runs.comparison import configurations_compare
from evaluation.services.runs.files import baseline_compare, scores_by_question
from evaluation.services.runs.lifecycle import (
    evaluation_run,
    run_cancel,
    run_pause,
    run_resume,
    run_start,
)
from evaluation.services.runs.plans import ConfigurationPlan
from knowledge.errors import RetrievalUnavailableError
from knowledge.services.triples import triples_import
from ragcore.errors import InvalidOptionsError
from tests.admin.conftest import signed_in
from tests.evaluation.runs import job_of, run_work_off
from tests.factories import examined, ingest, make_admin, make_set, make_user
from tests.migrating import migrations_apply, migrations_unapply
from tests.scripted_llm import Recorded, Reply, serving
from tests.work.contract import KindContract, work_off
from work.claims import jobs_sweep
from work.models import Job
from work.runner import slice_run
from work.services import work_retry

TEXTS = {
    "ra": "# 随机接入\n\n随机接入是终端与基站建立上行同步的过程。",
    "ca": "# Carrier aggregation\n\nCarrier aggregation lets a device use several component carriers at once.",
}
RETRIEVAL = ConfigurationPlan(name="live", component=RunConfiguration.Component.RETRIEVAL)


def golden_set_make() -> tuple[User, GoldenSet]:
    admin = make_admin("admin")
    home = make_set("radio", owners=[admin])
    ingest(admin, home, **TEXTS)
    rows = [
        GoldenRow(question="随机接入是什么？", answers=("上行同步",), relevant=("ra",), passages=("建立上行同步",)),
        GoldenRow(
            question="What is carrier aggregation?",
            key_points=("several component carriers", "never said anywhere"),
            relevant=("ca",),
            grades=(3,),
            level="multi_hop",
        ),
    ]
    golden = golden_import(tenant=admin.tenant, name="radio", rows=rows).golden_set
    golden.sets.add(home)
    return admin, golden


pytestmark = pytest.mark.starts_from(make=golden_set_make)


@pytest.fixture
def admin(request, db) -> User:
    return request.getfixturevalue("kept_rows")[0] if "kept_rows" in request.fixturenames else make_admin("admin")


@pytest.fixture
def golden_set(kept_rows) -> GoldenSet:
    return kept_rows[1]


def retrieval_run(admin: User, golden_set: GoldenSet, **options) -> EvaluationRun:
    return evaluation_run(
        scope=scope_for(admin), user=admin, golden_set=golden_set, configurations=[RETRIEVAL], **options
    )


@pytest.mark.django_db(transaction=True)  # answers use the database from several threads
def test_a_run_of_whole_answers_judges_the_new_fields_of_each_case(admin, golden_set):
    refusing = golden_set.cases.create(question="Who painted the ceiling of the chapel?", expects_refusal=True)

    run = evaluation_run(scope=scope_for(admin), user=admin, golden_set=golden_set)

    configuration = run.configurations.get()
    assert run.state == EvaluationRun.State.DONE
    assert configuration.figures["recall@1"]["value"] == 1.0
    assert configuration.figures["correctness"]["value"] == 0.75
    assert configuration.figures["completeness"]["value"] == 0.5
    assert configuration.figures["refusal_quality"] == {"value": 1.0, "low": 1.0, "high": 1.0, "cases": 3, "sd": 0.0}
    assert configuration.figures["cites_relevant"]["value"] == 1.0
    assert configuration.figures["ndcg@10.fused"]["value"] == 1.0
    assert configuration.dimensions["level"]["multi_hop"]["correctness"] == {"value": 0.5, "sd": 0.0, "cases": 1}
    assert set(configuration.dimensions["language"]) == {"en", "zh"}
    trace = configuration.outcomes.get(case=refusing.pk).trace
    assert trace["status"] in ("refused", "search_results")
    assert trace["ranks"]["final"] == trace["ranks"]["final"][:10]


JUDGED = {"correctness": 0.25, "completeness": 0.75, "faithfulness": 0.5, "relevance": 0.4, "coherence": 0.3}


def graded(request: Recorded) -> Reply:
    """A judge that finds one of two claims in the first source."""
    prompt = request.body["messages"][-1]["content"]
    if "List the claims" in prompt:
        return Reply(texts=(json.dumps({"claims": ["Right.", "Odd."]}),))
    if "Check one claim" in prompt:
        quotation = prompt.partition("[1] ")[2][:20]
        return Reply(texts=(json.dumps({"supported": "Right." in prompt, "source": 1, "quotation": quotation}),))
    return Reply(texts=(json.dumps(JUDGED),))


@pytest.mark.django_db(transaction=True)
def test_the_language_model_for_judging_judges_the_answers_of_a_run(admin, golden_set, settings):
    with serving() as judge:
        judge.respond = graded
        settings.LLM_JUDGE_BASE_URL, settings.LLM_JUDGE_MODEL = judge.url, "grader"
        run = evaluation_run(scope=scope_for(admin), user=admin, golden_set=golden_set)
        page = signed_in(admin).get(
            reverse("admin:evaluation_evaluationrun_case", args=[run.pk, golden_set.cases.first().pk])
        )

    figures = run.configurations.get().figures
    assert (figures["judge_score"]["value"], figures["faithfulness"]["value"]) == (0.5, 0.5)
    assert {one.trace["judge"]["model"] for one in CaseOutcome.objects.all()} == {"grader"}
    assert len(judge.requests) == 2 * (1 + 1 + 2)  # scores, the list of claims, and each claim
    assert {tuple(map(tuple, one.trace["claims"])) for one in CaseOutcome.objects.all()} == {
        (("Right.", 1), ("Odd.", None))
    }
    content = page.content.decode()
    assert "grader" in content
    assert content.index("Right.") < content.index("Odd.")


@pytest.mark.django_db(transaction=True)
def test_a_judge_that_cannot_judge_is_not_asked_and_the_record_says_so(admin, golden_set, settings):
    by_rules = evaluation_run(scope=scope_for(admin), user=admin, golden_set=golden_set).configurations.get().figures
    with serving() as judge:
        judge.default = Reply(texts=(json.dumps(JUDGED),))
        settings.LLM_JUDGE_BASE_URL, settings.LLM_JUDGE_MODEL = judge.url, "grader"
        with examined("judge", judges=False):
            run = evaluation_run(scope=scope_for(admin), user=admin, golden_set=golden_set)
    page = signed_in(admin).get(
        reverse("admin:evaluation_evaluationrun_case", args=[run.pk, golden_set.cases.first().pk])
    )

    assert judge.requests == []
    assert run.configurations.get().figures["judge_score"] == by_rules["judge_score"]
    assert "grader was not asked: its exam says that it cannot judge" in page.content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_judge_that_does_not_answer_is_left_alone_and_rules_judge(admin, golden_set, settings, monkeypatch):
    monkeypatch.setattr(judge_client.of_runs, "until", 0.0)
    by_rules = evaluation_run(scope=scope_for(admin), user=admin, golden_set=golden_set).configurations.get().figures
    with serving() as judge:
        judge.default = Reply(status=400)
        settings.LLM_JUDGE_BASE_URL, settings.LLM_JUDGE_MODEL = judge.url, "grader"
        run = evaluation_run(scope=scope_for(admin), user=admin, golden_set=golden_set)

    assert run.configurations.get().figures["judge_score"] == by_rules["judge_score"]
    assert len(judge.requests) == 1  # the second case does not ask it again


@pytest.mark.django_db(transaction=True)
def test_every_component_runs_alone(admin, golden_set):
    others = (RunConfiguration.Component.ANSWER, RunConfiguration.Component.TRIPLES)
    components = [one for one in RunConfiguration.Component if one not in others]
    plans = [ConfigurationPlan(name=str(one), component=one) for one in components]
    plans[components.index(RunConfiguration.Component.COMPRESSION)] = ConfigurationPlan(
        name="compression",
        component=RunConfiguration.Component.COMPRESSION,
        options={"answer": {"compression_method": "sentence_extraction", "compression_ratio": 0.5}},
    )

    run = evaluation_run(scope=scope_for(admin), user=admin, golden_set=golden_set, configurations=plans)

    figures = {one.name: one.figures for one in run.configurations.all()}
    assert [one.failed for one in run.configurations.all()] == [0] * len(plans)
    assert figures["retrieval"]["passage_recall@10"]["value"] == 1.0
    assert figures["rerank"]["ndcg@10"]["value"] == 1.0
    assert "correctness" not in figures["rerank"]
    assert 0 < figures["compression"]["compression_ratio"]["value"] <= 1
    assert figures["generation"]["correctness"]["value"] == 0.75
    assert figures["support"]["supported_share"]["value"] > 0
    assert figures["rewriting"]["seconds"]["cases"] == 2


def test_triples_are_measured_with_and_without_rescoring(admin):
    home = make_set("facts", owners=[admin])
    facts = ["Belgium | leader name | Ann", "Belgium | capital | Brussels", "Brussels | leader name | Bob"]
    lines = [json.dumps(dict(zip(("subject", "relation", "object"), f.split(" | "), strict=True))) for f in facts]
    given = {"scope": scope_for(admin), "actor": admin, "form": "jsonl", "set_id": home.pk, "name": "facts"}
    triples_import(lines=[line.encode() for line in lines], **given)
    rows = [
        GoldenRow(question="Who is the leader of Belgium?", passages=("Belgium | leaderName | Ann",)),
        GoldenRow(question="What is the capital of Belgium?", passages=("Belgium | capital | Antwerp",)),
        GoldenRow(question="Who painted the ceiling?", answers=("Somebody",)),
    ]
    golden = golden_import(tenant=admin.tenant, name="facts", rows=rows).golden_set
    golden.sets.add(home)
    plan = ConfigurationPlan(name="live", component=RunConfiguration.Component.TRIPLES)

    run = evaluation_run(scope=scope_for(admin), user=admin, golden_set=golden, configurations=[plan])

    figures = run.configurations.get().figures
    assert {name: figures[name]["value"] for name in figures if name.startswith("triple_recall")} == {
        "triple_recall@5": 0.5,
        "triple_recall@5_first": 0.5,
    }
    assert figures["triple_ndcg@5"]["cases"] == 2
    assert figures["triple_precision@5_first"]["value"] == 0.1
    assert "ndcg@10" not in figures


def test_configurations_are_asked_in_turn_with_options_that_are_published_nowhere(admin, golden_set):
    plans = [
        RETRIEVAL,
        ConfigurationPlan(
            name="one", component=RETRIEVAL.component, options={"retrieval": {"top_k": 1, "rerank": False}}
        ),
    ]

    run = evaluation_run(scope=scope_for(admin), user=admin, golden_set=golden_set, configurations=plans)

    live, one = run.configurations.all()
    assert {len(outcome.trace["ranks"]["final"]) for outcome in one.outcomes.all()} == {1}
    assert {len(outcome.trace["ranks"]["final"]) for outcome in live.outcomes.all()} == {2}
    assert "rerank" not in one.outcomes.first().trace["ranks"]
    assert golden_set.sets.get().options == {}


def test_a_run_sees_only_what_its_asker_may_see(admin, golden_set):
    nobody = make_user(clearance=0)
    golden_set.tenant.knowledge_sets.update(visibility="members")

    run = retrieval_run(nobody, golden_set)

    assert run.figures["recall@10"]["value"] == 0.0
    assert [one.trace["ranks"]["final"] for one in CaseOutcome.objects.all()] == [[], []]


def test_cases_on_deleted_documents_count_in_no_figure_and_break_nothing(admin, golden_set):
    golden_set.cases.create(question="What is gone?", relevant=["gone"], passages=["gone too"])

    run = retrieval_run(admin, golden_set)

    assert (run.figures["recall@10"]["value"], run.figures["recall@10"]["cases"]) == (1.0, 2)
    assert run.configurations.get().failed == 0


def test_documents_may_be_named_by_their_number(admin, golden_set):
    document = ingest(admin, make_set("more", owners=[admin]), slices="Network slices are logical networks.")["slices"]
    rows = [GoldenRow(question="network slices", relevant=(f"#{document.pk}",))]
    numbered = golden_import(tenant=admin.tenant, name="numbered", rows=rows).golden_set

    assert retrieval_run(admin, numbered).figures["recall@1"]["value"] == 1.0


def test_what_fails_is_recorded_with_its_case_and_counts_as_nothing(admin, golden_set, monkeypatch):
    def fails_once(asked):
        if "carrier" in asked.row.question:
            raise RetrievalUnavailableError
        return components._retrieval(asked)

    monkeypatch.setitem(components.COMPONENTS, RunConfiguration.Component.RETRIEVAL, fails_once)

    run = retrieval_run(admin, golden_set)

    assert sorted(CaseOutcome.objects.values_list("error", flat=True)) == ["", "retrieval_unavailable"]
    assert run.figures["recall@1"]["value"] == 0.5
    assert run.configurations.get().failed == 1


@pytest.mark.parametrize(
    ("component", "figures"),
    [("retrieval", {"recall@10", "ndcg@10"}), ("answer", {"recall@10", "correctness"}), ("support", {"faithful"})],
)
def test_a_failed_case_counts_only_in_the_figures_of_its_component(admin, golden_set, monkeypatch, component, figures):
    def fails(asked):
        raise RetrievalUnavailableError

    monkeypatch.setitem(components.COMPONENTS, component, fails)
    plan = replace(RETRIEVAL, component=component)

    run = evaluation_run(scope=scope_for(admin), user=admin, golden_set=golden_set, configurations=[plan])

    measured = set(run.figures) - {"seconds"}
    assert run.configurations.get().failed == 2
    assert ("correctness" in measured) == (component == "answer")
    assert ("recall@10" in measured) == ("recall@10" in figures)
    assert all(run.figures[name]["value"] == 0 for name in measured if not name.endswith("_ms"))


def test_only_cases_that_expect_the_same_are_compared(admin, golden_set):
    before = retrieval_run(admin, golden_set).configurations.get()
    golden_set.cases.filter(question__startswith="What").update(relevant=["ra"])
    after = retrieval_run(admin, golden_set).configurations.get()

    found = configurations_compare(before, after)

    assert ([case.question for case in found.cases], found.changed) == (["随机接入是什么？"], 1)
    found = baseline_compare(scores_by_question(before), after)
    assert (len(found.cases), found.changed) == (1, 1)
    of_questions = {key.partition("-")[0]: scores for key, scores in scores_by_question(before).items()}
    assert len(baseline_compare(of_questions, after).cases) == 2  # a file of an earlier version


def test_what_fails_while_it_is_measured_is_recorded_with_its_case_too(admin, golden_set, monkeypatch):
    def fails_once(observed, ranks):
        if len(named) == 0:
            named.append(ranks)
            raise KeyError("no such stage")
        return {}

    named = []
    monkeypatch.setattr(asking, "_warm", lambda case: None)
    monkeypatch.setattr(measuring, "_trace", fails_once)

    run = retrieval_run(admin, golden_set)

    assert (run.state, run.configurations.get().failed) == ("done", 1)
    assert sorted(CaseOutcome.objects.values_list("error", flat=True)) == ["", "internal"]


def test_a_golden_set_without_cases_cannot_run(admin):
    empty = GoldenSet.objects.create(tenant=admin.tenant, name="empty")

    with pytest.raises(NothingToEvaluateError):
        retrieval_run(admin, empty)


def test_a_run_refuses_unknown_options_and_two_configurations_of_one_name(admin, golden_set):
    start = {"scope": scope_for(admin), "user": admin, "golden_set": golden_set}
    unknown = ConfigurationPlan(name="x", options={"retrieval": {"magic": 1}})

    with pytest.raises(InvalidOptionsError, match="magic"):
        run_start(configurations=[unknown], **start)
    with pytest.raises(TooManyConfigurationsError):
        run_start(configurations=[RETRIEVAL, RETRIEVAL], **start)
    with pytest.raises(TooManyConfigurationsError):
        run_start(configurations=[], **start)


# ── a worker at a time ──────────────────────────────────────────────────────────────────────────


def started(admin: User, golden_set: GoldenSet) -> EvaluationRun:
    return run_start(scope=scope_for(admin), user=admin, golden_set=golden_set, configurations=[RETRIEVAL])


class TestRunEvaluation(KindContract):
    @pytest.fixture(autouse=True)
    def _cases(self, admin, golden_set):
        self.admin, self.golden_set = admin, golden_set

    def start(self):
        return job_of(started(self.admin, self.golden_set))

    def outcome(self, job):
        return sorted(CaseOutcome.objects.values_list("case", "error")), job.done

    def whole(self):
        return [(case.pk, "") for case in self.golden_set.cases.order_by("pk")], 2


def test_a_worker_does_a_slice_and_leaves_the_rest_to_the_next_one(admin, golden_set):
    run = started(admin, golden_set)
    job = job_of(run)

    assert slice_run(job_id=job.pk, seconds=0)
    run.refresh_from_db()
    assert (run.state, CaseOutcome.objects.count()) == ("running", 1)
    assert slice_run(job_id=job.pk, seconds=60)
    run.refresh_from_db()
    assert (run.state, run.finished is not None, CaseOutcome.objects.count()) == ("done", True, 2)


def test_an_outcome_is_stored_once(admin, golden_set):
    configuration = retrieval_run(admin, golden_set).configurations.get()
    case = configuration.outcomes.first().case

    with pytest.raises(IntegrityError), transaction.atomic():
        CaseOutcome.objects.create(configuration=configuration, case=case)


def test_a_run_is_paused_resumed_and_cancelled(admin, golden_set):
    run = started(admin, golden_set)
    slice_run(job_id=job_of(run).pk, seconds=0)

    assert run_pause(run=run, actor=admin).state == "paused"
    assert not slice_run(job_id=job_of(run).pk)
    assert run_pause(run=run, actor=admin).state == "paused"
    assert run_resume(run=run, actor=admin).state == "running"
    run = run_cancel(run=run, actor=admin)

    assert (run.state, run.finished is not None, CaseOutcome.objects.count()) == ("cancelled", True, 1)
    assert run.configurations.get().figures["recall@1"]["cases"] == 1
    with pytest.raises(RunNotOpenError):
        run_resume(run=run, actor=admin)
    actions = AuditEvent.objects.filter(action__startswith="run.").order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["run.start", "run.pause", "run.resume", "run.cancel"]


def test_a_run_whose_job_is_tried_again_goes_on_with_the_cases_that_are_left(admin, golden_set):
    run = started(admin, golden_set)
    slice_run(job_id=job_of(run).pk, seconds=0)
    run_cancel(run=run, actor=admin)

    work_retry(scope=scope_for(admin), actor=admin, job_id=job_of(run).pk)

    run.refresh_from_db()
    assert (run.state, run.finished) == ("running", None)
    run_work_off(run)
    assert (run.state, run.figures["recall@1"]["cases"], CaseOutcome.objects.count()) == ("done", 2, 2)


def test_two_runs_at_once_take_turns_and_both_end(admin, golden_set):
    first, second = started(admin, golden_set), started(admin, golden_set)

    for run in (first, second, first, second):
        assert slice_run(job_id=job_of(run).pk, seconds=0)
    for run in (first, second):
        assert run_work_off(run).state == "done"

    assert CaseOutcome.objects.count() == 4


def test_a_run_cannot_go_on_without_the_person_whose_rights_it_has(admin, golden_set):
    run = started(admin, golden_set)
    User.objects.filter(pk=admin.pk).update(is_active=False)

    run_work_off(run)

    assert (run.state, run.finished is not None, CaseOutcome.objects.count()) == ("failed", True, 0)
    page = signed_in(make_admin("other")).get(reverse("admin:evaluation_evaluationrun_change", args=[run.pk]))
    assert "The account of the person who started it is closed." in page.content.decode()


def test_a_run_in_this_process_that_cannot_be_finished_is_told(admin, golden_set):
    User.objects.filter(pk=admin.pk).update(is_active=False)

    with pytest.raises(RunUnfinishedError):
        retrieval_run(User.objects.get(pk=admin.pk), golden_set)


def test_a_run_in_this_process_says_how_far_it_is_and_calls_no_worker(admin, golden_set):
    progress = []

    retrieval_run(admin, golden_set, on_case=lambda *counts: progress.append((*counts, jobs_sweep())))

    assert list(dict.fromkeys(progress)) == [(1, 2, 0), (2, 2, 0)]


def test_a_run_of_a_golden_set_that_is_deleted_ends(admin, golden_set):
    job = job_of(started(admin, golden_set))
    golden_set.delete()

    work_off(job)

    assert (job.state, job.done, EvaluationRun.objects.count()) == ("done", 0, 0)


def test_a_run_keeps_the_cases_as_they_were_when_it_began(admin, golden_set):
    run = started(admin, golden_set)
    golden_set.cases.all().delete()

    run_work_off(run)

    assert (run.state, run.figures["recall@1"]["value"]) == ("done", 1.0)


# ── runs of before ──────────────────────────────────────────────────────────────────────────────


def test_runs_of_before_become_a_configuration_with_outcomes(admin, golden_set):
    """The function of the migration over old JSON, with the models that it was written for."""
    migration = import_module("evaluation.migrations.0009_runs_of_before")
    old = MigrationLoader(connection).project_state(("evaluation", "0009_runs_of_before")).apps
    cases = [
        {"id": 7, "milliseconds": 250, "found": ["ra"], "ndcg@10": 0.5, "recall@1": 1.0},
        {"id": 8, "milliseconds": 40, "found": [], "ndcg@10": 0.0, "recall@1": 0.0},
        {"question": "of a time without ids"},
    ]
    with connection.cursor() as cursor:  # the fields of that time
        cursor.execute("ALTER TABLE evaluation_evaluationrun ADD COLUMN cases jsonb NOT NULL DEFAULT '[]'")
        cursor.execute("ALTER TABLE evaluation_evaluationrun ADD COLUMN leased_until timestamptz")
    make = old.get_model("evaluation", "EvaluationRun").objects.create
    common = {"golden_set_id": golden_set.pk, "options_sha256": "0" * 64, "figures": {"ndcg@10": {"value": 0.25}}}
    first = make(cases=cases, options={"answers": True, "mode": "bm25"}, **common)
    second = make(cases=[], options={}, **common)

    migration.outcomes_from_cases(old, None)
    migration.outcomes_from_cases(old, None)  # twice changes nothing

    found = EvaluationRun.objects.get(pk=first.pk).configurations.get()
    assert (found.component, found.retrieval_mode, found.figures) == ("answer", "bm25", common["figures"])
    assert list(found.outcomes.order_by("case").values_list("case", "scores", "seconds")) == [
        (7, {"ndcg@10": 0.5, "recall@1": 1.0}, 0.25),
        (8, {"ndcg@10": 0.0, "recall@1": 0.0}, 0.04),
    ]
    bare = EvaluationRun.objects.get(pk=second.pk).configurations.get()
    assert (bare.component, bare.retrieval_mode, bare.outcomes.count()) == ("retrieval", "hybrid", 0)


@pytest.mark.django_db(transaction=True)
def test_open_runs_of_before_get_jobs_and_go_on_behind_the_cases_that_they_have_asked(admin, golden_set):
    over, running, paused = (started(admin, golden_set) for _ in range(3))
    run_work_off(over)
    slice_run(job_id=job_of(running).pk, seconds=0)
    run_pause(run=paused, actor=admin)
    try:
        old = migrations_unapply("evaluation", "0023").get_model("evaluation", "EvaluationRun").objects
        assert list(old.order_by("pk").values_list("state", "takes")) == [("done", 1), ("running", 1), ("paused", 1)]
        assert Job.objects.count() == 0
    finally:
        migrations_apply("evaluation", "0023")

    jobs = Job.objects.order_by("pk")
    assert list(jobs.values_list("subject", "state", "done", "total", "author", "attempt")) == [
        (f"evaluation_run:{running.pk}", "queued", 1, 2, admin.pk, 1),
        (f"evaluation_run:{paused.pk}", "paused", 0, 2, admin.pk, 1),
    ]
    assert [job.created for job in jobs] == [running.started, paused.started]
    assert jobs_sweep() == 1
    assert (run_work_off(running).state, run_resume(run=paused, actor=admin).state) == ("done", "running")
    assert run_work_off(paused).state == "done"
    assert CaseOutcome.objects.count() == 6


def test_scores_of_a_model_are_not_compared_with_those_of_rules(admin, golden_set):
    run = evaluation_run(
        scope=scope_for(admin),
        user=admin,
        golden_set=golden_set,
        configurations=[RETRIEVAL, replace(RETRIEVAL, name="b")],
    )
    first, second = run.configurations.all()
    CaseOutcome.objects.filter(configuration=second).update(
        scores={"ndcg@10": 1.0, "judge_score": 0.9}, trace={"judge": {"model": "m", "tokens": 1, "failed": 0}}
    )
    CaseOutcome.objects.filter(configuration=first).update(scores={"ndcg@10": 1.0, "judge_score": 0.1})

    assert set(configurations_compare(first, second).metrics) == {"ndcg@10"}
    CaseOutcome.objects.update(trace={})
    assert set(configurations_compare(first, second).metrics) == {"ndcg@10", "judge_score"}
