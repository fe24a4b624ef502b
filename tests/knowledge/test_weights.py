"""How much documents count: who may say so, and what follows from it."""

import pytest

from accounts.models import AuditEvent
from knowledge.errors import InvalidWeightError
from knowledge.indexes.corpus_epoch import epoch_advance
from knowledge.models import Document
from knowledge.selectors import corpus_epoch
from knowledge.services.document_weights import documents_weigh
from tests.admin.conftest import make_document
from tests.factories import make_admin, make_set, make_tenant, make_user, scope_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner():
    return make_user()


@pytest.fixture
def common(owner):
    return make_set(owners=[owner])


def weigh(user, *documents, weight=2.0):
    ids = [document.pk for document in documents]
    return documents_weigh(scope=scope_of(user), actor=user, document_ids=ids, weight=weight)


def weights(*documents):
    return [Document.objects.get(pk=document.pk).weight for document in documents]


def test_an_owner_weighs_many_documents_at_once_and_kept_answers_become_stale(owner, common):
    documents = [make_document(name, common) for name in ("a", "b", "c")]
    epoch_advance(tenant_id=owner.tenant_id)
    before = corpus_epoch(scope=scope_of(owner))

    assert weigh(owner, *documents[:2], weight=0.5).changed == 2

    assert weights(*documents) == [0.5, 0.5, 1.0]
    assert corpus_epoch(scope=scope_of(owner)) == before + 1
    event = AuditEvent.objects.get(action="documents.weigh")
    assert event.data == {"documents": [d.pk for d in documents[:2]], "weight": 0.5}


def test_the_same_weight_again_changes_nothing(owner, common):
    document = make_document("a", common)
    before = corpus_epoch(scope=scope_of(owner))

    assert weigh(owner, document, weight=1.0).changed == 0

    assert (corpus_epoch(scope=scope_of(owner)), AuditEvent.objects.count()) == (before, 0)


@pytest.mark.parametrize("weight", [0.49, 2.01, -1, float("nan"), float("inf")])
def test_a_weight_is_between_half_and_double(owner, common, weight):
    document = make_document("a", common)

    with pytest.raises(InvalidWeightError):
        weigh(owner, document, weight=weight)
    assert weights(document) == [1.0]


def test_a_document_that_is_also_in_a_set_of_others_is_refused_and_the_rest_is_done(owner, common):
    shared = make_document("shared", common, make_set("theirs", owners=[make_user()]))
    own = make_document("own", common)

    outcome = weigh(owner, shared, own)

    assert (outcome.changed, [refused.title for refused in outcome.refused]) == (1, ["shared"])
    assert weights(shared, own) == [1.0, 2.0]


def test_readers_and_strangers_change_nothing(owner, common):
    document = make_document("a", common)
    reader, stranger = make_user(), make_user(tenant=make_tenant())

    assert [len(weigh(user, document).refused) for user in (reader, stranger)] == [1, 0]
    assert weights(document) == [1.0]


def test_administrators_weigh_documents_without_a_set_and_each_tenant_hears_of_it(owner, common):
    loose, foreign = make_document("a", common), make_document("b", make_set(owners=[make_user(tenant=make_tenant())]))
    loose.sets.clear()
    root = make_admin()

    assert weigh(root, loose, foreign).changed == 2
    assert weights(loose, foreign) == [2.0, 2.0]
