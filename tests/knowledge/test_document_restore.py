"""Undoing the deletion of a document: who may, what comes back, and what stands in the way."""

import pytest

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import AuditEvent
from knowledge.access_errors import QuotaExceededError
from knowledge.models import Document
from knowledge.services import document_delete, retrieve
from knowledge.services.document_restore import document_restore
from knowledge.services.withdrawal import version_withdraw
from knowledge.types import RetrievalRequest
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user, run_job, scope_of
from tests.knowledge.test_ingestion import recounted, stored

pytestmark = pytest.mark.django_db

WORDS = "The beacon flashes twice."


def deleted(owner, common, **texts) -> Document:
    document = next(iter(ingest(owner, common, **(texts or {"beacon": WORDS})).values()))
    document_delete(scope=scope_of(owner), actor=owner, document_id=document.pk)
    return document


def restore(person, document):
    return document_restore(scope=scope_of(person), actor=person, document_id=document.pk)


def found(person, query: str) -> list[str]:
    result = retrieve(scope=scope_of(person), request=RetrievalRequest(query=query))
    return [candidate.passage.external_id for candidate in result.state.candidates]


def test_a_restored_document_is_searchable_again_and_the_statistics_count_it_once(owner, common):
    ingest(owner, common, other="The mast is white.")
    document = deleted(owner, common)

    run_job(restore(owner, document).pk)

    document.refresh_from_db()
    assert (document.state, document.deleted, document.live_version.number) == ("live", None, 2)
    assert document.versions.get(number=1).retired is not None
    assert stored() == recounted()
    assert found(owner, "How often does the beacon flash?")[0] == "beacon"
    assert AuditEvent.objects.filter(action="document.restore", target=document.title).count() == 1


def test_a_document_that_never_became_searchable_is_tried_again(owner, common):
    document = deleted(owner, common)
    Document.objects.filter(pk=document.pk).update(live_version=None, error_code="corrupt_document")

    run_job(restore(owner, document).pk)

    document.refresh_from_db()
    assert (document.state, document.error_code) == ("live", "")


def test_only_who_may_change_the_document_restores_it(owner, common):
    document = deleted(owner, common)
    strangers = (make_user(), make_user(is_staff=True), make_admin(tenant=make_tenant("elsewhere")))

    for person in strangers:
        with pytest.raises(NotFoundError):
            restore(person, document)

    assert restore(make_admin(), document).items.count() == 1


def test_an_owner_of_one_of_its_sets_alone_or_below_its_clearance_does_not(owner, common):
    clerk = make_user(clearance=1)
    shared = make_set("shared", owners=[owner, clerk])
    secret, of_both = deleted(owner, shared), deleted(owner, common, two="Two sets hold it.")
    Document.objects.filter(pk=secret.pk).update(clearance=3)
    of_both.sets.add(shared)

    for document in (secret, of_both):
        with pytest.raises(NotFoundError):
            restore(clerk, document)


def test_what_is_not_deleted_or_was_withdrawn_is_not_restored(owner, common):
    present, gone = ingest(owner, common, a="alpha", b="beta").values()
    version_withdraw(scope=scope_of(owner), actor=owner, document_id=gone.pk, number=1)
    document_delete(scope=scope_of(owner), actor=owner, document_id=gone.pk)

    for document in (present, gone):
        with pytest.raises(NotFoundError):
            restore(owner, document)


def test_the_same_document_added_again_stands_in_the_way(owner, common):
    document = deleted(owner, common)
    ingest(owner, common, beacon="Another text.")

    with pytest.raises(NotAllowedError, match="added again"):
        restore(owner, document)

    document.refresh_from_db()
    assert document.deleted is not None


def test_a_quota_that_is_full_by_now_stands_in_the_way(owner, common):
    document = deleted(owner, common)
    ingest(owner, common, other="The mast is white.")
    owner.tenant.max_documents = 1
    owner.tenant.save()

    with pytest.raises(QuotaExceededError):
        restore(owner, document)
