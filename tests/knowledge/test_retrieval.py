"""Searching within one's rights."""

import pytest
from django.db import OperationalError

from accounts.errors import NotFoundError
from knowledge.errors import GraphNotBuiltError
from knowledge.indexes.statements import fetch, statement_timeout
from knowledge.services import document_delete, retrieve
from knowledge.types import Filters, RetrievalRequest
from tests.factories import ingest, make_set, make_tenant, make_user, scope_of
from tests.knowledge.owned_rows import owned

RACH = "Random access lets a terminal get uplink synchronisation with the base station. It begins with a preamble."
CA = "Carrier aggregation combines several component carriers to raise the data rate of one terminal."
ZH = "随机接入是终端与基站建立上行同步的过程。终端首先发送前导码，基站回复随机接入响应。"
CAKE = "A cake of apples needs flour, butter, sugar and forty minutes in the oven."


def found(user, query, **request):
    result = retrieve(scope=scope_of(user), request=RetrievalRequest(query=query, **request))
    return [c.passage.external_id for c in result.state.candidates]


def corpus_make(owner, common):
    return ingest(owner, common, rach=RACH, ca=CA, zh=ZH, cake=CAKE)


pytestmark = [pytest.mark.django_db, pytest.mark.starts_from(make=owned(corpus_make))]


@pytest.fixture
def corpus(kept_rows):
    return kept_rows[2]


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize("mode", ["hybrid", "vector", "bm25"])
def test_the_right_passage_comes_first_in_every_mode(owner, mode):
    assert found(owner, "How does random access begin?", mode=mode)[0] == "rach"


@pytest.mark.usefixtures("corpus")
def test_chinese_questions_find_chinese_passages(owner):
    assert found(owner, "随机接入的过程是什么？")[0] == "zh"


@pytest.mark.usefixtures("corpus")
def test_every_candidate_carries_the_scores_of_all_stages(owner):
    result = retrieve(scope=scope_of(owner), request=RetrievalRequest(query="random access preamble"))

    best = result.state.candidates[0]
    assert {"lexical", "coarse", "dense", "fuse.rsf", "rerank"} <= set(best.scores)
    assert [r.stage for r in result.state.records] == [
        "correct.terms",
        "search.coarse",
        "search.fine",
        "boost.profile",
        "fuse.rsf",
        "load.passages",
        "drop.copies",
        "compare.prefixes",
        "compare.sentences",
        "rerank",
        "weigh.quality",
        "search.graph",
        "fuse.graph",
        "cutoff.top_k",
    ]
    assert set(result.timings_ms) == {"coarse", "fine", "rerank", "total"}
    assert result.searched == 4


@pytest.mark.usefixtures("corpus")
def test_top_k_limits_the_hits(owner):
    assert len(found(owner, "terminal", top_k=1)) == 1


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize("query", ["?!…", "的 了 吗", "😀😀", "' OR 1=1; --", "a & b | !c:*", "x" * 2000, "the of and"])
def test_odd_queries_are_answered_without_a_fault(owner, query):
    assert isinstance(found(owner, query), list)


def test_nothing_is_relevant_in_an_empty_site(owner):
    result = retrieve(scope=scope_of(owner), request=RetrievalRequest(query="random access"))

    assert result.state.candidates == ()
    assert result.relevant is False


@pytest.mark.usefixtures("corpus")
@pytest.mark.parametrize(
    ("query", "is_relevant"),
    [
        ("How does random access begin?", True),
        ("终端首先发送什么？", True),
        ("What does carrier aggregation do?", True),
        ("公司食堂几点开门？", False),
        ("Which river flows through Vienna and Budapest?", False),
    ],
)
def test_a_question_that_no_passage_is_near_to_is_told_apart(owner, query, is_relevant):
    result = retrieve(scope=scope_of(owner), request=RetrievalRequest(query=query))

    assert result.relevant is is_relevant


def test_clearance_hides_documents(owner, common):
    ingest(owner, common, clearance=3, secret=RACH)

    assert found(make_user(clearance=2), "random access") == []
    assert found(make_user(clearance=3), "random access") == ["secret"]


def test_sets_for_members_are_closed_to_others(owner):
    member, stranger = make_user(), make_user()
    closed = make_set("closed", owners=[owner], members=[member], visibility="members")
    ingest(owner, closed, rach=RACH)

    assert found(member, "random access") == ["rach"]
    assert found(stranger, "random access", sets=(closed.pk,)) == []


def test_tenants_never_see_each_other(owner, common):
    ingest(owner, common, rach=RACH)
    other = make_user(tenant=make_tenant())

    assert found(other, "random access") == []
    with pytest.raises(NotFoundError):
        found(other, "random access", sets=(common.pk,))


def test_a_search_in_one_set_leaves_out_the_others(owner, common):
    second = make_set("second", owners=[owner])
    ingest(owner, common, rach=RACH)
    ingest(owner, second, cake=CAKE)

    assert found(owner, "random access preamble oven", sets=(second.pk,)) == ["cake"]


def test_filters_narrow_by_axis_code_tag_and_attribute(owner, common):
    test_view = make_set("test", owners=[owner], axis="X")
    documents = ingest(owner, common, rach=RACH, ca=CA)
    documents["rach"].sets.add(test_view)
    documents["ca"].tags = ["5G"]
    documents["ca"].metadata = {"product": "BTS"}
    documents["ca"].save()

    assert found(owner, "terminal", filters=Filters(axis="X")) == ["rach"]
    assert found(owner, "terminal", filters=Filters(capability=("test",))) == ["rach"]
    assert found(owner, "terminal", filters=Filters(tags=("5G", "6G"))) == ["ca"]
    assert found(owner, "terminal", filters=Filters(metadata={"product": "BTS"})) == ["ca"]


def test_a_deleted_document_is_gone_at_once(owner, common):
    documents = ingest(owner, common, rach=RACH, ca=CA)

    document_delete(scope=scope_of(owner), actor=owner, document_id=documents["rach"].pk)

    assert "rach" not in found(owner, "random access")


def test_graph_mode_says_that_there_is_no_graph(owner):
    with pytest.raises(GraphNotBuiltError):
        found(owner, "random access", mode="graph")


def test_passages_are_counted_within_ones_rights(owner, common):
    low = make_user(clearance=0)
    ingest(owner, common, rach=RACH)
    counted = [retrieve(scope=scope_of(low), request=RetrievalRequest(query="access")).searched]

    ingest(owner, common, clearance=3, ca=CA)
    ingest(owner, make_set("closed", owners=[owner], visibility="members"), cake=CAKE)
    counted.append(retrieve(scope=scope_of(low), request=RetrievalRequest(query="access")).searched)

    assert counted == [1, 1]
    assert retrieve(scope=scope_of(owner), request=RetrievalRequest(query="access")).searched == 3


def test_a_statement_that_takes_too_long_is_ended():
    with pytest.raises(OperationalError), statement_timeout(seconds=0.05):
        fetch("SELECT pg_sleep(20)", {})
