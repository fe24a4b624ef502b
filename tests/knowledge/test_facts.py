import pytest

from knowledge.models import FactReading, Triple
from knowledge.selectors.triples import triples_askable
from knowledge.services import document_delete
from knowledge.services.triple_search import triples_retrieve_and_rewrite
from knowledge.services.triples import triples_tend
from tests.factories import ingest, make_set, make_user, scope_of

pytestmark = pytest.mark.django_db
TEXT = "The Control Unit is part of the base station. VSWR faults causes power loss."
READ = {"facts": {"extract": True}}


@pytest.fixture
def owner():
    return make_user()


def seen(user):
    return set(triples_askable(scope=scope_of(user)).values_list("subject", flat=True))


def test_documents_of_a_set_are_read_where_the_set_says_so(owner):
    into, other = make_set(owners=[owner], options=READ), make_set(owners=[owner])
    ingest(owner, into, read=TEXT)
    ingest(owner, other, unread="The Power Unit is part of the rack.")

    triples_tend()

    assert seen(owner) == {"Control Unit", "VSWR faults"}
    one = Triple.objects.get(subject="Control Unit")
    assert (one.document.external_id, one.sentence) == ("read", "The Control Unit is part of the base station.")
    found = triples_retrieve_and_rewrite(scope=scope_of(owner), question="What is the Control Unit part of?")
    assert found.answer.chain.answers == ("base station",)


def test_reading_goes_on_where_it_was_and_reads_new_versions(owner):
    into = make_set(owners=[owner], options=READ)
    ingest(owner, into, doc=TEXT)
    triples_tend()
    [first] = FactReading.objects.values_list("made", flat=True)

    triples_tend()
    assert list(FactReading.objects.values_list("made", flat=True)) == [first]

    ingest(owner, into, doc="The Antenna Unit is part of the mast.")
    assert seen(owner) == set()  # facts of the old version are visible to nobody
    triples_tend()
    assert seen(owner) == {"Antenna Unit"}


def test_facts_go_with_the_option_and_with_the_document(owner):
    into = make_set(owners=[owner], options=READ)
    document = ingest(owner, into, doc=TEXT)["doc"]
    triples_tend()
    document_delete(scope=scope_of(owner), actor=owner, document_id=document.pk)
    assert seen(owner) == set()

    into.options = {}
    into.save()
    triples_tend()
    assert (Triple.objects.count(), FactReading.objects.count()) == (0, 0)


def test_facts_of_a_document_above_the_clearance_are_not_seen(owner):
    into = make_set(owners=[owner], options=READ)
    ingest(owner, into, clearance=3, doc=TEXT)
    triples_tend()

    assert seen(make_user(clearance=3)) == {"Control Unit", "VSWR faults"}
    assert seen(make_user(clearance=2)) == set()
