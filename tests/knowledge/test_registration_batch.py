"""Many documents at once are recorded as if they had come one by one, in far fewer queries."""

import json

import pytest

from knowledge.errors import LeftOutError
from knowledge.models import Document, HandlerRule, IngestItem, SetSource, Source, SourceHandler
from knowledge.selectors import corpus_epoch
from knowledge.services import documents_bulk, registration_batch
from knowledge.services.registration import Arrival, document_register, source_ensure
from knowledge.services.registration_batch import Addressed, documents_register
from ragcore.errors import PermanentError
from tests.factories import make_set, make_user, run_job, scope_of

pytestmark = pytest.mark.django_db

NOT_COMPARED = {"id", "created", "updated", "source_id", "document_id"}


@pytest.fixture
def uploads(owner):
    return source_ensure(tenant_id=owner.tenant_id, name="uploads")


def arrival(number=1, *, sets=(), text="", **more):
    content = (text or f"Beam {number} is cracked.").encode()
    return Arrival(name=f"Note {number}.txt", content=content, sets=list(sets), external_id=f"n{number}", **more)


def register(owner, source, *arrivals):
    addressed = [Addressed(arrival=one, source=source) for one in arrivals]
    return documents_register(scope=scope_of(owner), actor=owner, arrivals=addressed)


def load(owner, *rows, sets=()):
    lines = [json.dumps({"text": "A text.", "sets": [s.pk for s in sets], **row}).encode() for row in rows]
    return documents_bulk(scope=scope_of(owner), actor=owner, lines=lines)


def rows_of(source):
    """Everything that was written for a source, without what differs by nature."""
    documents = Document.objects.filter(source=source).order_by("external_id")
    return [
        (
            {key: value for key, value in vars(document).items() if key not in {*NOT_COMPARED, "_state"}},
            sorted(document.sets.values_list("code", flat=True)),
            [
                {key: value for key, value in row.items() if key not in NOT_COMPARED}
                for row in document.versions.order_by("number").values()
            ],
        )
        for document in documents
    ]


def test_a_batch_writes_what_single_arrivals_write(owner, common):
    arrivals = [
        arrival(1, sets=[common], title="One", clearance=2, metadata={"a": [1]}, tags=["b", "a", "b"]),
        arrival(2, sets=[common, make_set("other", owners=[owner])], sent_as="folder/two.txt"),
        arrival(1, sets=[common], text="It is mended.", tags=["c"]),
        arrival(3, sets=[common]),
        arrival(3, sets=[common]),
    ]
    first = source_ensure(tenant_id=owner.tenant_id, name="first")
    second = source_ensure(tenant_id=owner.tenant_id, name="second")
    scope = scope_of(owner)

    alone = [document_register(scope=scope, actor=owner, arrival=one, source=first) for one in arrivals]
    together = register(owner, second, *arrivals)

    assert rows_of(second) == rows_of(first)
    assert len(rows_of(first)) == 3
    assert [(one.duplicate, one.merged, one.version and one.version.number) for one in together] == [
        (one.duplicate, one.merged, one.version and one.version.number) for one in alone
    ]


def test_the_number_of_queries_does_not_grow_with_the_batch(owner, common, uploads, django_assert_max_num_queries):
    with django_assert_max_num_queries(12):
        done = register(owner, uploads, *(arrival(number, sets=[common]) for number in range(100)))

    assert [one.version.number for one in done] == [1] * 100
    assert Document.objects.filter(sets=common).count() == 100


def test_each_refusal_concerns_its_own_line(owner, common):
    clerk = make_user()
    own = make_set("own", owners=[clerk])
    load(owner, {"external_id": "kept"}, sets=[common])

    done = load(
        clerk, {"external_id": "a"}, {"external_id": "c", "sets": [common.pk]}, {"external_id": "b"}, sets=[own]
    )

    assert done.accepted == 2
    assert [(row.line, row.code) for row in done.rejected] == [(2, "not_allowed")]
    assert sorted(Document.objects.filter(sets=own).values_list("external_id", flat=True)) == ["a", "b"]


def test_two_keepers_use_the_same_external_id_without_knowing(owner, common):
    clerk = make_user()
    own = make_set("own", owners=[clerk])
    load(owner, {"external_id": "n1", "title": "Theirs"}, sets=[common])

    first = load(clerk, {"external_id": "n1"}, {"external_id": "n2"}, sets=[own])
    again = load(clerk, {"external_id": "n1", "text": "Changed."}, sets=[own])

    assert (first.accepted, again.accepted) == (2, 1)
    theirs, mine = Document.objects.filter(external_id="n1").order_by("pk")
    assert [(one.title, one.versions.count(), list(one.sets.all())) for one in (theirs, mine)] == [
        ("Theirs", 1, [common]),
        ("n1", 2, [own]),
    ]


def test_without_a_set_only_administrators_add(uploads):
    clerk = make_user()

    (refused,) = register(clerk, uploads, arrival())

    assert isinstance(refused, PermanentError)
    assert refused.code == "set_not_owned"
    assert not Document.objects.exists()


def test_a_handler_is_asked_about_each_document(owner, common):
    handler = SourceHandler.objects.create(tenant=owner.tenant, code="h", name="H", splitting="whole")
    HandlerRule.objects.create(handler=handler, pattern="draft", action=HandlerRule.Action.SKIP)
    source = Source.objects.create(tenant=owner.tenant, name="wiki", handler=handler)

    done = register(owner, source, arrival(1, sets=[common]), arrival(2, sets=[common], sent_as="draft/2.txt"))

    assert Document.objects.get(source=source).is_whole
    assert done[0].document.external_id == "n1"
    assert isinstance(done[1], LeftOutError)


def test_new_documents_stand_in_the_sets_that_are_composed_of_their_source(owner, uploads):
    composed = make_set("composed", owners=[owner])
    SetSource.objects.create(knowledge_set=composed, source=uploads, filter={"tags": ["steel"]})
    before = corpus_epoch(scope=scope_of(owner))

    done = load(owner, {"external_id": "a", "tags": ["steel"]}, {"external_id": "b", "tags": ["wood"]})

    document = Document.objects.get(sets=composed)
    assert (document.external_id, document.handled) == ("a", {"sets": {str(composed.pk): "source"}})
    assert corpus_epoch(scope=scope_of(owner)) > before
    assert done.accepted == 2


def test_another_load_that_came_first_is_no_fault(owner, common, uploads, monkeypatch):
    register(owner, uploads, arrival(1, sets=[common]))
    # as if the other one had committed between our look and our insert
    monkeypatch.setattr(registration_batch, "_known", lambda arrivals: set())

    done = register(owner, uploads, arrival(1, sets=[common], text="Changed."), arrival(2, sets=[common]))

    assert [(one.document.external_id, one.version.number) for one in done] == [("n1", 2), ("n2", 1)]


def test_items_of_a_job_stand_in_the_order_of_the_lines(owner, common):
    load(owner, {"external_id": "b"}, sets=[common])

    done = load(owner, *({"external_id": name, "text": f"Text {name}."} for name in "abc"), sets=[common])

    items = IngestItem.objects.filter(job=done.job_id).order_by("pk")
    assert list(items.values_list("version__document__external_id", flat=True)) == ["a", "b", "c"]
    run_job(done.job_id)
    assert Document.objects.get(external_id="b").live_version.number == 2
