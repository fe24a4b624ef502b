"""Many documents between sets."""

from __future__ import annotations

import pytest

from accounts.errors import NotAllowedError
from accounts.models import AuditEvent
from knowledge.selectors import corpus_epoch
from knowledge.services.transfers import documents_copy, documents_move, documents_remove
from tests.factories import ingest, make_set, make_user, scope_of
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db


def sets_of(document):
    return set(document.sets.values_list("pk", flat=True))


def test_copying_adds_a_set_and_moving_changes_it():
    owner = make_user()
    first, second = make_set(owners=[owner]), make_set(owners=[owner])
    one = upload(owner, first, content=b"# One\n\ntext one").document
    two = upload(owner, first, content=b"# Two\n\ntext two").document
    before = corpus_epoch(scope=scope_of(owner))

    copied = documents_copy(scope=scope_of(owner), actor=owner, document_ids=[one.pk], to_set=second.pk)
    moved = documents_move(
        scope=scope_of(owner), actor=owner, document_ids=[two.pk], from_set=first.pk, to_set=second.pk
    )

    assert (copied.changed, moved.changed) == (1, 1)
    assert sets_of(one) == {first.pk, second.pk}
    assert sets_of(two) == {second.pk}
    assert corpus_epoch(scope=scope_of(owner)) > before
    assert AuditEvent.objects.filter(action="documents.transfer").count() == 2


def test_a_document_that_others_keep_too_stays_and_is_named():
    owner, colleague = make_user(), make_user()
    mine, theirs = make_set(owners=[owner]), make_set(owners=[colleague])
    shared = upload(owner, mine).document
    shared.sets.add(theirs)

    done = documents_copy(
        scope=scope_of(owner), actor=owner, document_ids=[shared.pk], to_set=make_set(owners=[owner]).pk
    )

    assert done.changed == 0
    assert [(r.document_id, r.error.code) for r in done.refused] == [(shared.pk, "not_allowed")]
    assert sets_of(shared) == {mine.pk, theirs.pk}


def test_nothing_is_put_into_a_set_of_others():
    owner = make_user()
    document = upload(owner, make_set(owners=[owner])).document
    foreign = make_set(owners=[make_user()])

    with pytest.raises(NotAllowedError):
        documents_copy(scope=scope_of(owner), actor=owner, document_ids=[document.pk], to_set=foreign.pk)

    assert foreign.pk not in sets_of(document)


def test_a_document_does_not_leave_its_last_set():
    owner = make_user()
    only = make_set(owners=[owner])
    document = upload(owner, only).document

    done = documents_remove(scope=scope_of(owner), actor=owner, document_ids=[document.pk], from_set=only.pk)

    assert done.changed == 0
    assert len(done.refused) == 1
    assert sets_of(document) == {only.pk}


def test_a_document_that_the_asker_cannot_see_is_passed_over():
    owner, stranger = make_user(), make_user()
    hidden = upload(owner, make_set(owners=[owner], visibility="members")).document
    target = make_set(owners=[stranger])

    done = documents_copy(scope=scope_of(stranger), actor=stranger, document_ids=[hidden.pk], to_set=target.pk)

    assert (done.changed, done.refused) == (0, ())
    assert target.pk not in sets_of(hidden)


def test_moving_many_documents_asks_no_more_than_moving_one(owner, django_assert_max_num_queries):
    first, second = make_set("first", owners=[owner]), make_set("second", owners=[owner])
    documents = ingest(owner, first, **{f"d{n}": f"Text {n}." for n in range(8)})

    with django_assert_max_num_queries(25):
        done = documents_move(
            scope=scope_of(owner),
            actor=owner,
            document_ids=[document.pk for document in documents.values()],
            from_set=first.pk,
            to_set=second.pk,
        )

    assert (done.changed, first.documents.count(), second.documents.count()) == (8, 0, 8)
