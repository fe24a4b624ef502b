"""The retrieval lab: every passage is accounted for, and so is a document that did not come."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from django.core.serializers.json import DjangoJSONEncoder
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.errors import NotFoundError
from evaluation.services.lab.export import lab_json
from evaluation.services.lab.searches import lab_run
from evaluation.services.lab.types import LabConfiguration
from knowledge.backends.postgres import ScopedVectorIndex
from knowledge.models import Chunk, Document
from knowledge.services.edits import chunk_disable
from knowledge.types import Filters
from ragcore.errors import InvalidOptionsError
from ragcore.retrieval import stage_plan
from ragcore.retrieval.stages.search import SearchCoarse
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user, scope_of

pytestmark = pytest.mark.django_db

QUESTION = "How does random access begin with a preamble?"
RACH = "# Random access\n\nRandom access lets a terminal get uplink synchronisation. It begins with a preamble."
TEXTS = {
    "rach": RACH,
    "ca": "Carrier aggregation combines several component carriers to raise the data rate of one terminal.",
    "zh": "随机接入是终端与基站建立上行同步的过程。终端首先发送前导码，基站回复随机接入响应。",
    "cake": "A cake of apples needs flour, butter, sugar and forty minutes in the oven.",
    "handover": "A handover moves a terminal from one cell to another without dropping its access to the network.",
}


@pytest.fixture
def viewer():
    return make_admin("viewer")


@pytest.fixture
def common(viewer):
    return make_set("common", owners=[viewer])


@pytest.fixture
def corpus(viewer, common):
    return ingest(viewer, common, **TEXTS)


def run(viewer, question=QUESTION, **asked):
    return lab_run(scope=scope_of(viewer), viewer=viewer, question=question, **asked)


def one(viewer, question=QUESTION, *, options=None, mode="hybrid", **asked):
    configuration = LabConfiguration(mode=mode, options=options or {})
    return run(viewer, question, configurations=[configuration], **asked).runs[0]


def names(rows):
    return [row.passage.external_id for row in rows]


def fate_of(viewer, expected, **asked):
    where = one(viewer, expected=expected, **asked).where
    return where.fate


# ── rows ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("corpus")
def test_the_best_row_has_every_ranking_its_terms_and_the_features_of_the_reranker(viewer):
    best = one(viewer).found[0]

    assert best.passage.external_id == "rach"
    assert best.final == 1
    assert {"lexical", "coarse", "dense", "fused", "rerank"} <= set(best.rankings)
    assert best.rankings["lexical"].rank == 1
    assert best.rankings["lexical"].share == pytest.approx(1.0)
    assert {"random", "access"} <= {term.text for term in best.terms}
    assert "".join(piece.text for piece in best.snippet if piece.marked)
    assert best.features["coverage"] > 0


@pytest.mark.usefixtures("corpus")
def test_the_parts_of_bm25_add_up_to_the_score_of_the_search(viewer):
    rows = [row for row in one(viewer).found if row.rankings["lexical"].rank]

    assert rows
    for row in rows:
        assert sum(term.score for term in row.terms) == pytest.approx(row.rankings["lexical"].score, rel=1e-4)


@pytest.mark.usefixtures("corpus")
def test_passages_below_the_result_are_listed_with_their_place_and_their_reranked_score(viewer):
    short = one(viewer, options={"top_k": 2})

    assert [row.final for row in short.found] == [1, 2]
    first = short.dropped[0]
    assert (first.fate.kind, first.fate.stage, first.fate.place, first.fate.limit) == ("dropped", "cutoff.top_k", 3, 2)
    assert first.rankings["rerank"].rank == 3
    assert set(names([*short.found, *short.dropped])) == set(TEXTS)


@pytest.mark.usefixtures("corpus")
def test_rows_beyond_the_limit_are_counted(viewer, monkeypatch):
    monkeypatch.setattr("evaluation.services.lab.searches.SHOWN_DROPPED", 1)

    short = one(viewer, options={"top_k": 1})

    assert len(short.dropped) == 1
    assert short.dropped_beyond == len(TEXTS) - 2


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize("mode", ["vector", "bm25"])
def test_every_mode_explains_its_result(viewer, mode):
    found = one(viewer, mode=mode).found

    assert found[0].passage.external_id == "rach"
    assert found[0].rankings["lexical"].score > 0
    assert found[0].rankings["dense"].score > 0


@pytest.mark.usefixtures("corpus")
def test_chinese_matches_are_marked_whole(viewer):
    best = one(viewer, "随机接入的过程是什么？").found[0]

    assert best.passage.external_id == "zh"
    assert any("随机接入" in piece.text for piece in best.snippet if piece.marked)


def test_the_options_of_a_set_hold_where_the_configuration_says_nothing(viewer, common, corpus):
    common.options = {"retrieval": {"top_k": 1}}
    common.save()

    inherited = one(viewer, sets=[common.pk])
    own = one(viewer, sets=[common.pk], options={"top_k": 3})

    assert (inherited.options.top_k, len(inherited.found)) == (1, 1)
    assert (own.options.top_k, len(own.found)) == (3, 3)


@pytest.mark.usefixtures("corpus")
def test_an_option_out_of_range_is_refused(viewer):
    with pytest.raises(InvalidOptionsError):
        one(viewer, options={"top_k": 500})


@pytest.mark.usefixtures("corpus")
def test_two_configurations_say_what_moved(viewer):
    configurations = [LabConfiguration(options={"top_k": 3}), LabConfiguration(mode="bm25", options={"top_k": 5})]

    result = run(viewer, configurations=configurations)

    left, right = (row.found for row in result.runs)
    assert len(left) == 3
    assert set(result.moves) == {row.chunk for row in [*left, *right]}
    for chunk, move in result.moves.items():
        before, after = ({row.chunk: row.final for row in rows}.get(chunk) for rows in (left, right))
        if before and after:
            assert move.places == abs(before - after)
            assert move.kind == ("up" if before > after else "down" if before < after else "same")
        else:
            assert move.kind == ("only_right" if after else "only_left")


@pytest.mark.usefixtures("corpus")
def test_the_trace_is_json(viewer):
    result = run(viewer, configurations=[LabConfiguration(options={"top_k": 2})] * 2, expected="cake")

    read = json.loads(json.dumps(lab_json(result), cls=DjangoJSONEncoder))

    assert read["runs"][0]["found"][0]["external_id"] == "rach"
    assert read["runs"][0]["found"][0]["rankings"]["rerank"]["rank"] == 1
    assert read["runs"][1]["where"]["fate"]["kind"] in ("found", "dropped")


def queries_of(viewer, **asked):
    run(viewer, **asked)  # counts that a process remembers
    with CaptureQueriesContext(
        connection,
    ) as captured:
        run(viewer, **asked)
    return len(captured)


def test_the_number_of_queries_does_not_grow_with_the_candidates(viewer, common, corpus):
    few = queries_of(viewer, expected="cake")
    ingest(viewer, common, **{f"more{n}": f"{RACH} Cell {n} has its own access." for n in range(10)})

    assert queries_of(viewer, expected="cake") <= few + 3  # the plan of a search depends on the size of the corpus


# ── where is a document ─────────────────────────────────────────────────────────────────────────


@pytest.mark.usefixtures("corpus")
def test_a_document_that_was_found_has_its_place(viewer):
    fate = fate_of(viewer, "rach")

    assert (fate.kind, fate.place) == ("found", 1)


@pytest.mark.usefixtures("corpus")
def test_a_document_is_named_by_number_external_id_title_or_a_part_of_it(viewer, corpus):
    document = corpus["handover"]
    Document.objects.filter(pk=document.pk).update(title="Moving between cells")

    for name in (f"#{document.pk}", f"#{document.pk}:1", "handover", "Moving between cells", "between"):
        assert one(viewer, expected=name).where.document == document.pk


@pytest.mark.usefixtures("corpus")
def test_a_document_below_the_result_has_its_place_and_the_limit(viewer):
    order = names(one(viewer).found)

    fate = fate_of(viewer, order[3], options={"top_k": 2})

    assert (fate.kind, fate.stage, fate.place, fate.limit) == ("dropped", "cutoff.top_k", 4, 2)


def test_a_document_below_the_fused_ones_has_its_place_there(viewer, common, corpus):
    filler = {f"f{n}": f"{RACH} Note {n}." for n in range(12)}
    ingest(viewer, common, **filler)

    fate = fate_of(viewer, "cake", options={"fused_limit": 5, "top_k": 5})

    assert (fate.kind, fate.stage, fate.limit) == ("dropped", "fuse.rsf", 5)
    assert fate.place > 5


def test_a_document_below_both_arms_of_the_fine_stage_has_its_scores(viewer, common, corpus, monkeypatch):
    monkeypatch.setattr(ScopedVectorIndex, "is_exact", lambda index: False)
    monkeypatch.setattr(stage_plan, "LEAST_OF_EACH_ARM", 10)
    ingest(viewer, common, **{f"f{n}": f"{RACH} Note {n}." for n in range(20)})

    where = one(viewer, expected="cake", options={"fused_limit": 5, "fuzzy": False}).where

    row = where.rows[0]
    assert where.fate.kind == "not_fine"
    assert row.rankings["coarse"].rank is not None
    assert row.rankings["dense"].rank is None
    assert row.rankings["dense"].score <= where.lowest["dense"]


def test_a_document_beyond_the_first_stage_has_its_scores_computed(viewer, common, corpus, monkeypatch):
    monkeypatch.setattr(ScopedVectorIndex, "is_exact", lambda index: False)
    monkeypatch.setattr(stage_plan, "LEAST_OF_EACH_ARM", 10)
    monkeypatch.setattr(SearchCoarse, "depth", lambda stage, *, exact: 10)
    ingest(viewer, common, **{f"f{n}": f"{RACH} Note {n}." for n in range(30)})

    where = one(viewer, expected="handover", options={"fused_limit": 5}).where

    row = where.rows[0]
    assert where.fate.kind == "not_coarse"
    assert 0 < row.rankings["lexical"].score <= where.lowest["lexical"] + 1e-4
    assert row.rankings["coarse"].score <= where.lowest["coarse"] + 1e-4
    assert row.rankings["lexical"].rank is row.rankings["coarse"].rank is None


def test_a_passage_that_an_owner_took_out_is_not_in_the_index(viewer, corpus):
    chunk = corpus["cake"].live_version.chunks.get()
    chunk_disable(scope=scope_of(viewer), actor=viewer, chunk_id=chunk.pk)

    assert fate_of(viewer, "cake").kind == "not_indexed"


def test_a_document_without_a_live_version_says_so(viewer, corpus):
    Document.objects.filter(pk=corpus["cake"].pk).update(live_version=None, state="failed")

    fate = fate_of(viewer, "cake")

    assert (fate.kind, fate.reason) == ("not_live", "failed")


def test_a_document_outside_of_sets_or_filters_says_so(viewer, corpus):
    other = make_set("other", owners=[viewer])

    assert fate_of(viewer, "cake", sets=[other.pk]).kind == "not_asked"
    assert fate_of(viewer, "cake", filters=Filters(tags=("none",))).kind == "not_asked"


def test_a_document_that_the_person_may_not_read_says_so(viewer, corpus):
    reader = make_user(clearance=0)
    Document.objects.filter(pk=corpus["cake"].pk).update(clearance=2)

    assert fate_of(viewer, "cake", as_user=reader).kind == "not_theirs"
    assert fate_of(viewer, "rach", as_user=reader).kind == "found"


def test_a_document_that_one_only_manages_says_so(corpus, viewer):
    closed = make_set("closed", visibility="members", owners=[make_user()])
    corpus["cake"].sets.set([closed])

    assert fate_of(viewer, "cake").kind == "not_yours"


@pytest.mark.usefixtures("corpus")
def test_a_document_that_is_hidden_and_one_that_does_not_exist_are_told_in_the_same_words(viewer, corpus):
    reader = make_user(is_staff=True, clearance=0)
    Document.objects.filter(pk=corpus["cake"].pk).update(clearance=3)
    said = set()
    for name in ("cake", f"#{corpus['cake'].pk}", "no such thing", "#999999999"):
        with pytest.raises(NotFoundError) as error:
            one(reader, expected=name)
        said.add((error.value.message, str(error.value.data)))

    assert len(said) == 1


# ── in another person's place ───────────────────────────────────────────────────────────────────


def test_a_person_of_another_tenant_cannot_be_chosen(viewer):
    with pytest.raises(NotFoundError):
        run(viewer, as_user=make_user(tenant=make_tenant()))


def test_asking_in_anothers_place_shows_what_both_may_read(viewer, corpus):
    mine, theirs = make_set("mine", owners=[viewer], visibility="members"), make_set("theirs", visibility="members")
    reader = make_user(clearance=4)
    theirs.members.set([reader])
    corpus["rach"].sets.set([mine])
    corpus["handover"].sets.set([theirs])

    shown = one(viewer, as_user=reader)

    assert not {"rach", "handover"} & set(names([*shown.found, *shown.dropped]))
    assert "rach" in names(one(viewer).found)
    assert "handover" in names(one(reader).found)


def test_the_profile_is_that_of_the_person(viewer, corpus, monkeypatch):
    seen = []
    from evaluation.services.lab import searches as lab

    original = lab.retrieve
    monkeypatch.setattr(lab, "retrieve", lambda **given: seen.append(given["request"].profile) or original(**given))
    reader = make_user(department="Radio")

    run(viewer, as_user=reader)
    run(viewer)
    reader.use_profile = False
    run(viewer, as_user=reader)

    assert seen[0].department == "Radio"
    assert seen[1:] == [None, None]


def test_a_passage_that_vanished_since_the_search_has_no_row(viewer, corpus, monkeypatch):
    from evaluation.services.lab import searches as lab

    original = lab.retrieve

    def vanishing(**given):
        found = original(**given)
        Document.objects.filter(pk=corpus["rach"].pk).update(clearance=4)
        scope = given["scope"]
        assert scope.clearance == 3
        return found

    monkeypatch.setattr(lab, "retrieve", vanishing)
    viewer.clearance = 3
    viewer.save()

    shown = one(viewer)

    assert "rach" not in names([*shown.found, *shown.dropped])
    assert Chunk.objects.filter(version__document=corpus["rach"]).exists()
    assert replace(shown).found == shown.found
