"""Pages of runs, comparisons and measured changes: what they do, and what they keep from whom."""

from __future__ import annotations

import csv
import io
from xml.etree import ElementTree

import pytest
from django.urls import reverse

from accounts.models import AuditEvent
from evaluation.models import EvaluationRun, GatedChange, GoldenCase, GoldenSet, RunConfiguration
from evaluation.services.golden import version_keep
from knowledge.models import Chunk
from tests.admin.conftest import make_document, signed_in
from tests.factories import make_set, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def golden_set(administrator, own_set) -> GoldenSet:
    golden = GoldenSet.objects.create(tenant=administrator.tenant, name="Radio 无线", created_by=administrator)
    golden.sets.add(own_set)
    for number in range(8):
        golden.cases.create(question=f"Question {number}?", relevant=["open-guide"], key_points=["a point"])
    return golden


def compared(golden_set: GoldenSet, person, *, traces: dict | None = None) -> EvaluationRun:
    """A finished run in which the second configuration loses every case."""
    version = version_keep(golden_set=golden_set)
    run = EvaluationRun.objects.create(golden_set=golden_set, version=version, requested_by=person, total=16)
    for position, (name, value) in enumerate((("live", 1.0), ("draft", 0.0))):
        one = run.configurations.create(
            name=name, position=position, options_sha256="x", figures={"ndcg@10": {"value": value, "cases": 8}}
        )
        for case in golden_set.cases.all():
            one.outcomes.create(case=case.pk, scores={"ndcg@10": value, "correctness": value}, trace=traces or {})
    return run


def page(client, name: str, *args, **query) -> str:
    found = client.get(reverse(f"admin:evaluation_{name}", args=args), query)
    assert found.status_code == 200, found.status_code
    return found.content.decode()


def test_a_run_is_started_from_its_form_with_ready_and_own_configurations(reviewer, golden_set):
    client = signed_in(reviewer)
    form = {"golden_set": golden_set.pk, "component": "retrieval", "ready": ["live", "bm25"]}
    new = reverse("admin:evaluation_evaluationrun_new")

    wrong = client.post(new, {**form, "name_1": "x", "options_1": "retrieval.top_k = many"}).content.decode()
    done = client.post(new, {**form, "name_1": "five", "options_1": "retrieval.top_k = 5\nsearch.mode = vector"})

    assert "top_k must be of type int" in wrong
    run = EvaluationRun.objects.get()
    assert done["Location"].endswith(f"/{run.pk}/change/")
    assert (run.state, run.total, run.requested_by) == ("running", 24, reviewer)
    live, words, own = run.configurations.all()
    assert (live.component, words.retrieval_mode) == (RunConfiguration.Component.RETRIEVAL, "bm25")
    assert (own.retrieval_mode, own.options) == ("vector", {"retrieval": {"top_k": 5}})
    assert 'value="0"' in page(client, "evaluationrun_change", run.pk)


def test_a_run_is_paused_resumed_and_cancelled_by_who_started_it_or_keeps_its_golden_set(reviewer, owner, golden_set):
    client = signed_in(reviewer)
    client.post(
        reverse("admin:evaluation_evaluationrun_new"),
        {"golden_set": golden_set.pk, "component": "retrieval", "ready": ["live"]},
    )
    run = EvaluationRun.objects.get()
    move = reverse("admin:evaluation_evaluationrun_move", args=[run.pk])

    for to, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        client.post(move, {"to": to})
        run.refresh_from_db()
        assert run.state == state
    assert client.post(move, {"to": "explode"}).status_code == 404
    other = make_user(is_staff=True)
    make_set("theirs", owners=[other])
    assert signed_in(other).post(move, {"to": "pause"}).status_code == 403


def test_the_comparison_says_what_is_worse_and_shows_it_as_a_plot(reviewer, golden_set):
    run = compared(golden_set, reviewer)
    client = signed_in(reviewer)

    text = page(client, "evaluationrun_compare", run.pk)
    plot = text[text.index('<svg class="run-plot"') : text.index("</svg>") + 6]

    assert "does not pass the gate" in text
    assert "0 / 0 / 8" in text
    drawn = ElementTree.fromstring(plot)
    assert drawn.attrib["role"] == "img"
    assert "nDCG@10: -1.000" in drawn.attrib["aria-label"]
    assert [mark.attrib["data-verdict"] for mark in drawn.iter("g") if "data-verdict" in mark.attrib] == ["worse"] * 2
    assert page(client, "evaluationrun_compare", run.pk, metric="correctness")


def test_a_comparison_is_exported_as_csv_and_junit(reviewer, golden_set):
    golden_set.cases.create(question="=1+1", answers=["x"])
    run = compared(golden_set, reviewer)
    client = signed_in(reviewer)
    url = reverse("admin:evaluation_evaluationrun_export", args=[run.pk])

    rows = list(csv.DictReader(io.StringIO(client.get(url).content.decode("utf-8-sig"))))
    suite = ElementTree.fromstring(client.get(url, {"as": "junit"}).content)

    assert rows[0]["ndcg@10 first"] == "1.0"
    assert rows[-1]["question"] == "'=1+1"
    assert suite.attrib["failures"] == "2"
    assert {failure.attrib["type"] for failure in suite.iter("failure")} == {"worse"}
    assert AuditEvent.objects.filter(action="run.export").count() == 2


def test_both_ways_to_a_case_stand_side_by_side(reviewer, administrator, golden_set):
    document = make_document("open-guide", golden_set.sets.get())
    chunk = Chunk.objects.create(version=document.live_version, ordinal=9, tokens=5, text="The guide says a point.")
    trace = {"ranks": {"final": [chunk.pk]}, "answer": "A point [1].", "sources": [[1, chunk.pk, True]]}
    run = compared(golden_set, reviewer, traces=trace)

    text = page(signed_in(reviewer), "evaluationrun_case", run.pk, golden_set.cases.first().pk)

    assert text.count("A point [1].") == 2
    assert "The guide says a point." in text
    assert "≠" in text


def test_who_may_not_read_a_source_sees_that_there_is_one_and_not_what(reviewer, administrator, golden_set):
    closed = make_document("secret-plan", make_set("closed", owners=[administrator], visibility="members"))
    hidden_chunk = Chunk.objects.create(
        version=closed.live_version, ordinal=9, tokens=5, text="The tower falls on Monday."
    )
    hidden = golden_set.cases.create(question="What is planned?", relevant=["secret-plan"], key_points=["a tower"])
    trace = {
        "ranks": {"final": [hidden_chunk.pk]},
        "answer": "The tower falls [1].",
        "sentences": [["The tower falls.", "supported"]],
        "sources": [[1, hidden_chunk.pk, True]],
    }
    run = compared(golden_set, administrator, traces=trace)
    open_case = golden_set.cases.exclude(pk=hidden.pk).first()
    client = signed_in(reviewer)
    shown = [
        page(client, "evaluationrun_change", run.pk),
        page(client, "evaluationrun_compare", run.pk),
        page(client, "evaluationrun_case", run.pk, open_case.pk),
        client.get(reverse("admin:evaluation_evaluationrun_export", args=[run.pk])).content.decode(),
    ]

    for text in shown:
        assert not any(word in text for word in ("secret-plan", "What is planned?", "a tower", "tower falls", "Monday"))
    assert all("(withheld)" in text for text in shown[:3])
    of_hidden = reverse("admin:evaluation_evaluationrun_case", args=[run.pk, hidden.pk])
    assert client.get(of_hidden).status_code == 404
    assert "The tower falls on Monday." in signed_in(administrator).get(of_hidden).content.decode()


def test_passages_of_withheld_originals_are_named_and_not_quoted(reviewer, administrator, golden_set):
    kept = make_document("handbook", make_set("kept", owners=[administrator], originals="keepers"))
    passage = Chunk.objects.create(version=kept.live_version, ordinal=9, tokens=5, text="The mast stands in Ulm.")
    trace = {
        "ranks": {"final": [passage.pk]},
        "answer": "In a town [1].",
        "sources": [[1, passage.pk, True]],
        "context": "[1] The mast stands in Ulm.",
    }
    run = compared(golden_set, administrator, traces=trace)
    address = reverse("admin:evaluation_evaluationrun_case", args=[run.pk, golden_set.cases.first().pk])

    shown, to_keeper = (signed_in(user).get(address).content.decode() for user in (reviewer, administrator))

    assert "handbook" in shown
    assert "In a town" in shown
    assert "Ulm" not in shown
    assert "Ulm" in to_keeper


def test_runs_and_changes_of_another_tenant_do_not_exist(stranger, administrator, golden_set, own_set):
    run = compared(golden_set, administrator)
    change = GatedChange.objects.create(knowledge_set=own_set, base_sha256="x", state="failed")
    change.runs.add(run)
    client = signed_in(stranger)
    make_set("theirs", owners=[stranger], tenant=stranger.tenant)

    for name, *args in (
        ("evaluationrun_change", run.pk),
        ("evaluationrun_compare", run.pk),
        ("evaluationrun_export", run.pk),
        ("evaluationrun_case", run.pk, golden_set.cases.first().pk),
        ("gatedchange_change", change.pk),
    ):
        assert client.get(reverse(f"admin:evaluation_{name}", args=args)).status_code == 404
    posted = {"golden_set": golden_set.pk, "component": "retrieval", "ready": ["live"]}
    assert client.post(reverse("admin:evaluation_evaluationrun_new"), posted).status_code == 200
    assert EvaluationRun.objects.count() == 1


# ── the gate ────────────────────────────────────────────────────────────────────────────────────


def test_saved_settings_of_a_guarded_set_are_measured_and_their_page_publishes_them(owner, own_set, golden_set):
    client = signed_in(owner)
    options = reverse("admin:knowledge_knowledgeset_options", args=[own_set.pk])
    assert "Radio 无线" in client.get(options).content.decode()

    saved = client.post(options, {"retrieval.top_k": "7", "note": "fewer"})

    change = GatedChange.objects.get()
    own_set.refresh_from_db()
    assert saved["Location"].endswith(f"/gatedchange/{change.pk}/change/")
    assert (own_set.options, change.note, change.state) == ({}, "fewer", "measuring")
    assert "Settings are waiting" in client.get(options).content.decode()
    text = page(client, "gatedchange_change", change.pk)
    assert "Being measured" in text
    assert "Publish</button>" not in text


def test_what_has_not_passed_asks_for_a_reason(owner, reviewer, own_set, golden_set):
    change = GatedChange.objects.create(
        knowledge_set=own_set,
        payload={"options": {"retrieval": {"top_k": 7}}, "replaces": False},
        base_sha256="x",
        state="measuring",
    )
    change.runs.add(compared(golden_set, owner))
    client = signed_in(owner)
    decide = reverse("admin:evaluation_gatedchange_decide", args=[change.pk])

    text = page(client, "gatedchange_change", change.pk)
    refused = client.post(decide, {"to": "publish"}, follow=True).content.decode()

    assert "significantly worse than 1.000 now" in text
    assert "Publish anyway" in text
    assert "needs a reason" in refused
    assert signed_in(reviewer).post(decide, {"to": "publish", "reason": "x"}).status_code == 403
    client.post(decide, {"to": "discard"})
    change.refresh_from_db()
    assert change.state == "discarded"


def test_a_set_without_a_guard_says_so(owner, own_set):
    text = signed_in(owner).get(reverse("admin:knowledge_knowledgeset_options", args=[own_set.pk])).content.decode()

    assert "published at once" in text


def test_lowest_values_name_figures_and_numbers(administrator, golden_set):
    client = signed_in(administrator)
    url = reverse("admin:evaluation_goldenset_change", args=[golden_set.pk])
    form = {"name": "radio", "sets": [one.pk for one in golden_set.sets.all()], "guards": "on"}

    assert "Unknown figures" in client.post(url, {**form, "floors": "luck = 1"}).content.decode()
    assert "a number" in client.post(url, {**form, "floors": "ndcg@10 = nan"}).content.decode()
    client.post(url, {**form, "floors": "ndcg@10 = 0.8"})

    golden_set.refresh_from_db()
    assert golden_set.floors == {"ndcg@10": 0.8}
    assert GoldenCase.objects.filter(golden_set=golden_set).count() == 8
