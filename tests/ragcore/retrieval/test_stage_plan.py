"""Plans of stages, and what stages declare of themselves."""

from dataclasses import dataclass

import pytest

from ragcore.answering import stages as _answering_stages  # noqa: F401
from ragcore.answering.pipeline import answer_stage_infos
from ragcore.options import RetrievalOptions
from ragcore.retrieval import pipeline
from ragcore.retrieval.pipeline import build, stage, stage_infos
from ragcore.retrieval.stage_plan import stage_plan


def names(mode="hybrid", **options):
    return [name for name, _options in stage_plan(mode, RetrievalOptions(**options))]


def test_a_plan_holds_the_stages_of_its_mode_in_their_order():
    assert names(rerank=False) == [
        *("correct.terms", "search.coarse", "search.fine", "boost.profile", "fuse.rsf"),
        *("load.passages", "drop.copies", "compare.sentences", "weigh.quality"),
        *("search.graph", "fuse.graph", "cutoff.top_k"),
    ]
    assert not {"search.graph", "fuse.graph"} & set(names(graph="off"))
    assert names("graph", rerank=False)[-3:] == ["search.graph", "rank.graph", "cutoff.top_k"]
    vector = ["search.coarse", "search.fine", "rank.single_arm", "load.passages", "drop.copies"]
    vector += ["compare.sentences", "weigh.quality", "cutoff.top_k"]
    assert names("vector", rerank=False) == vector
    bm25 = ["search.coarse", "rank.single_arm", "load.passages", "drop.copies", "weigh.quality", "cutoff.top_k"]
    assert names("bm25", rerank=False, fuzzy=False) == bm25


@pytest.mark.parametrize("mode", ["hybrid", "vector", "bm25", "graph"])
def test_every_mode_reranks_where_that_is_wanted_and_only_there(mode):
    assert ("rerank" in names(mode, rerank=True), "rerank" in names(mode, rerank=False)) == (True, False)
    assert ("compare.prefixes" in names(mode, rerank=True)) == (mode != "bm25")
    assert "compare.prefixes" not in names(mode, rerank=False)


@pytest.mark.parametrize("mode", ["hybrid", "vector", "bm25", "graph"])
def test_every_plan_can_be_built(mode):
    options = RetrievalOptions(quality=True, cliff=True, deduplicate=True, neighbours=1)

    assert build(stage_plan(mode, options))


def test_every_stage_declares_how_people_read_it():
    for info in [*stage_infos().values(), *answer_stage_infos().values()]:
        assert info.label, info.name


def test_timings_and_rankings_are_declared_by_stages():
    infos = stage_infos()

    assert {infos[name].timing for name in ("search.fine", "fuse.rsf", "load.passages")} == {"fine"}
    assert {name: info.ranking for name, info in infos.items() if info.ranking} == {
        "fuse.rsf": "fused",
        "rerank": "rerank",
        "weigh.quality": "quality",
        "weigh.use": "use",
        **dict.fromkeys(("fuse.graph", "rank.graph"), "graph"),
    }


def test_a_new_stage_joins_the_plans_behind_the_stage_that_it_names(monkeypatch):
    monkeypatch.setattr(pipeline, "_registry", type(pipeline._registry)())

    @stage("drop.short", label="short passages", after="load.passages")
    @dataclass(frozen=True)
    class DropShort:
        def __call__(self, state, ports):
            return state

    plan = names(rerank=False)

    assert plan[plan.index("load.passages") + 1] == "drop.short"
    assert names("bm25", rerank=False)[-4:] == ["drop.short", "drop.copies", "weigh.quality", "cutoff.top_k"]
