"""Ratings of documents reach the ranking as a number."""

import pytest

from knowledge.models import Document, SiteOptions
from knowledge.selectors import corpus_epoch
from knowledge.services import retrieve
from knowledge.services.document_weights import document_ratings_apply
from knowledge.types import RetrievalRequest
from tests.factories import ingest, make_tenant, scope_of

pytestmark = pytest.mark.django_db

RACH = "Random access lets a terminal get uplink synchronisation with the base station. It begins with a preamble."
AGAIN = "Random access is how a terminal gets in step with the base station on the uplink. First comes a preamble."


@pytest.fixture
def documents(owner, common):
    return ingest(owner, common, one=RACH, two=AGAIN)


def rate(owner, document, mean, number):
    return document_ratings_apply(tenant_id=owner.tenant_id, ratings={document.pk: (mean, number)})


def test_mean_and_number_are_kept_and_the_document_counts_as_unchanged(owner, documents):
    before = documents["one"].updated

    assert rate(owner, documents["one"], 4.5, 2) == 1

    document = Document.objects.get(pk=documents["one"].pk)
    assert (document.rating, document.ratings, document.updated) == (4.5, 2, before)
    assert rate(owner, documents["one"], 4.5, 2) == 0


def test_without_votes_a_document_is_not_rated(owner, documents):
    rate(owner, documents["one"], 1.0, 1)

    rate(owner, documents["one"], 0.0, 0)

    assert Document.objects.get(pk=documents["one"].pk).rating is None


def test_documents_of_other_tenants_are_left_alone(documents):
    changed = document_ratings_apply(tenant_id=make_tenant().pk, ratings={documents["one"].pk: (1.0, 1)})

    assert changed == 0
    assert Document.objects.get(pk=documents["one"].pk).rating is None


@pytest.mark.parametrize("mean", [0.5, 5.5, float("nan")])
def test_a_mean_outside_the_scale_is_refused(owner, documents, mean):
    with pytest.raises(ValueError, match="from 1 to 5"):
        rate(owner, documents["one"], mean, 1)


def test_cached_answers_stay_unless_ratings_take_part_in_the_order(owner, common, documents):
    scope = scope_of(owner)
    epoch = corpus_epoch(scope=scope)
    rate(owner, documents["one"], 4.0, 1)
    assert corpus_epoch(scope=scope) == epoch

    common.options = {"retrieval": {"quality": True}}
    common.save()
    rate(owner, documents["one"], 3.0, 2)
    assert corpus_epoch(scope=scope) == epoch + 1

    common.options = {}
    common.save()
    SiteOptions.objects.create(tenant_id=owner.tenant_id, options={"retrieval": {"quality": True}})
    rate(owner, documents["one"], 2.0, 3)
    assert corpus_epoch(scope=scope) == epoch + 2


def test_where_a_set_wants_it_a_bad_rating_moves_a_document_down(owner, common, documents):
    def order():
        request = RetrievalRequest(query="How does random access begin?", sets=(common.pk,))
        candidates = retrieve(scope=scope_of(owner), request=request).state.candidates
        return [c.passage.external_id for c in candidates], candidates[0].scores

    (first, second), scores = order()
    assert "weigh.quality" not in scores
    rate(owner, documents[first], 1.0, 1)
    assert order()[0] == [first, second]

    Document.objects.filter(pk=documents[second].pk).update(weight=2.0)
    # the weight counts without any setting; a vote and the length do not, and what has no weight keeps its score
    weighed = order()[1]
    assert list(weighed)[-1] == "weigh.quality"
    assert weighed["weigh.quality"] == weighed["rerank"]
    Document.objects.filter(pk=documents[second].pk).update(weight=1.0)
    assert "weigh.quality" not in order()[1]

    common.options = {"retrieval": {"quality": True}}
    common.save()
    Document.objects.filter(pk=documents[second].pk).update(weight=2.0)

    ids, scores = order()
    assert ids == [second, first]
    assert 0 < scores["weigh.quality"] <= 2.4
