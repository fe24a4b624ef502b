"""The register of metrics, and what each says of a case."""

from __future__ import annotations

import pytest

from ragcore.errors import ModelUnavailableError
from ragcore.metrics import registry
from ragcore.metrics.registry import (
    MeasuredCase,
    MeasuredSource,
    MetricTools,
    RankedText,
    RegisteredMetric,
    all_metrics,
    measure,
    metric,
    metric_info,
)
from ragcore.text.tokenise import JiebaTokenizer

TOOLS = MetricTools(tokenizer=JiebaTokenizer())


def ranked(*documents: str, texts: dict[str, str] | None = None) -> list[RankedText]:
    return [RankedText(document=name, text=(texts or {}).get(name, name)) for name in documents]


def test_every_metric_declares_what_people_read():
    for name, known in all_metrics().items():
        assert known.info.name == name
        assert known.info.label
        assert known.info.help


def test_a_case_without_expectations_has_only_what_it_took():
    assert measure(MeasuredCase(question="why?", seconds=0.5), TOOLS) == {"seconds": 0.5}


def test_grades_count_in_the_order_of_documents():
    case = MeasuredCase(question="why?", relevant={"a": 3, "b": 1})

    def ndcg(*order: str) -> float:
        return measure(registry.replace(case, ranking=ranked(*order)), TOOLS)["ndcg@10"]

    assert ndcg("a", "b") == 1.0
    assert ndcg("b", "a") == pytest.approx((1 + 3 / 1.58496) / (3 + 1 / 1.58496), abs=1e-4)
    assert ndcg("c") == 0.0


def test_rankings_of_earlier_stages_have_figures_of_their_own():
    case = MeasuredCase(
        question="why?", relevant={"a": 1}, ranking=ranked("a", "b"), by_stage={"lexical": ranked("b", "a")}
    )

    figures = measure(case, TOOLS)

    assert figures["ndcg@10"] == 1.0
    assert figures["ndcg@10.lexical"] == pytest.approx(0.6309, abs=1e-4)
    assert "recall@1.lexical" not in figures
    staged = metric_info("ndcg@10.lexical")
    assert staged is not None
    assert not staged.is_primary


def test_a_quoted_passage_is_found_whatever_its_spaces_and_width():
    texts = {"a": "The limit is ten  metres.", "b": "Nothing."}
    case = MeasuredCase(
        question="why?", quotations={"limit is 10": 2, "LIMIT is ten metres": 1}, ranking=ranked("b", "a", texts=texts)
    )

    figures = measure(case, TOOLS)

    assert figures["passage_recall@10"] == 0.5
    assert 0 < figures["passage_ndcg@10"] < 0.5
    assert figures["context_precision"] == 0.5


@pytest.mark.parametrize(
    ("answer", "correct", "complete"),
    [("Slices isolate traffic and have an id.", 1.0, 1.0), ("Slices have an id.", 0.5, 0.5), ("No.", 0.0, 0.0)],
)
def test_key_points_make_an_answer_correct_partly_or_not(answer, correct, complete):
    case = MeasuredCase(question="slices?", key_points=("isolate traffic", "have an id"), answer=answer)

    figures = measure(case, TOOLS)

    assert (figures["correctness"], figures["completeness"]) == (correct, complete)


@pytest.mark.parametrize(
    ("expects", "refuses", "quality"), [(True, True, 1.0), (True, False, 0.0), (False, True, 0.0), (False, False, 1.0)]
)
def test_a_refusal_is_good_only_where_it_is_expected(expects, refuses, quality):
    case = MeasuredCase(question="?", answer="text", expects_refusal=expects, is_refused=refuses)

    assert measure(case, TOOLS)["refusal_quality"] == quality


def test_citations_are_judged_by_their_documents():
    sources = [
        MeasuredSource(number=n, document=name, text="t", is_cited=cited)
        for n, name, cited in ((1, "a", True), (2, "b", True), (3, "a", False))
    ]
    case = MeasuredCase(question="?", answer="text", relevant={"a": 1}, sources=sources)

    figures = measure(case, TOOLS)

    assert (figures["citation_precision"], figures["cites_relevant"]) == (0.5, 1.0)


def test_a_metric_that_fails_leaves_the_others(monkeypatch):
    def fails(case: MeasuredCase, tools: MetricTools) -> float | None:
        raise ModelUnavailableError

    info = all_metrics()["seconds"].info
    with_failure = {"broken": RegisteredMetric(registry.replace(info, name="broken"), fails), **all_metrics()}
    monkeypatch.setattr(registry, "all_metrics", lambda: with_failure)

    assert measure(MeasuredCase(question="?", seconds=1.0), TOOLS) == {"seconds": 1.0}


def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match="already"):

        @metric("seconds", label="Other")
        class Other:
            def __call__(self, case: MeasuredCase, tools: MetricTools) -> float | None:
                return None


def test_compression_is_judged_by_what_it_leaves():
    source = MeasuredSource(number=1, document="a", text="The answer is ten. Other words stand here.", is_cited=False)
    case = MeasuredCase(question="?", golds=("is ten", "never"), sources=[source], context="The answer is ten.")

    figures = measure(case, TOOLS)

    assert figures["compression_keeps"] == 1.0
    assert figures["compression_ratio"] == pytest.approx(18 / 42, abs=1e-3)
