"""Acts of keepers: clearance, withdrawing a version; records of one's own; jobs, pairs and sets of several keepers."""

from __future__ import annotations

import pytest

from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import AuditEvent
from knowledge.errors import ClearanceTooHighError
from knowledge.models import Document, DuplicatePair, HandlerRule, Source, SourceHandler
from knowledge.selectors.comparisons import pairs_of
from knowledge.services import document_retry, job_cancel, retrieve, versions_compare
from knowledge.services.documents import document_update
from knowledge.services.near_duplicates import pair_keep
from knowledge.services.withdrawal import VersionWithdrawnError, version_withdraw
from knowledge.types import RetrievalRequest
from tests.factories import ingest, make_admin, make_set, make_user, run_job, scope_of
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db

TEXT = b"The spare mast stands in hall nine. Its keeper is the crane crew of the harbour."


def found(person, query="Where does the spare mast stand?"):
    result = retrieve(scope=scope_of(person), request=RetrievalRequest(query=query))
    return [(one.passage.document, one.passage.version) for one in result.state.candidates]


def who(person):
    return {"scope": scope_of(person), "actor": person}


def live(owner, *sets, **more):
    done = upload(owner, *sets, name="mast.txt", content=TEXT, **more)
    run_job(done.job.pk)
    return Document.objects.get(pk=done.document.pk)


# ── records of one's own ────────────────────────────────────────────────────────────────────────


def test_who_sees_two_records_of_the_same_bytes_finds_the_text_once():
    ann, bob, reader = make_user(), make_user(), make_user()
    first = live(ann, make_set(owners=[ann], visibility="members", members=[reader]), title="Mast")
    second = live(bob, make_set(owners=[bob], visibility="members", members=[reader]), title="Mast")

    assert first.pk != second.pk
    assert len(found(reader)) == 1
    assert [document for document, _version in found(ann)] == [first.pk]
    assert [document for document, _version in found(bob)] == [second.pk]


def test_the_newest_in_a_series_replaces_only_what_its_sender_keeps():
    ann, bob = make_user(), make_user()
    rule = {"action": HandlerRule.Action.SET_ATTRIBUTE, "match": "regex", "looks": "name", "attribute": "edition"}
    handler = SourceHandler.objects.create(
        tenant=ann.tenant, code="h", keep_latest=True, series_template="mast", version_template="{edition}"
    )
    HandlerRule.objects.create(handler=handler, pattern=r"v(\d)", value="{1}", **rule)
    Source.objects.create(tenant=ann.tenant, name="specs", handler=handler)
    anns, bobs = make_set(owners=[ann]), make_set(owners=[bob])

    def send(person, room, number):
        content = f"Edition {number} of the mast.".encode()
        done = upload(person, room, name=f"mast v{number}.txt", content=content, source="specs")
        run_job(done.job.pk)
        return done.document

    theirs = send(ann, anns, 1)
    mine = send(bob, bobs, 2)
    newest = send(bob, bobs, 3)

    left = Document.objects.filter(deleted=None).values_list("pk", flat=True)
    assert sorted(left) == [theirs.pk, newest.pk]
    assert mine.pk not in left


# ── clearance ───────────────────────────────────────────────────────────────────────────────────


def test_keepers_raise_and_lower_the_clearance_never_above_their_own():
    ann, bob = make_user(clearance=2), make_user(clearance=4)
    room = make_set(owners=[ann, bob])
    document = live(ann, room)

    document_update(document_id=document.pk, clearance=2, **who(ann))
    with pytest.raises(ClearanceTooHighError):
        document_update(document_id=document.pk, clearance=3, **who(ann))
    document_update(document_id=document.pk, clearance=3, **who(bob))

    with pytest.raises(NotFoundError):
        document_update(document_id=document.pk, clearance=0, **who(ann))
    with pytest.raises(ClearanceTooHighError):
        document_update(document_id=document.pk, clearance=0, **who(make_admin(clearance=1)))
    assert found(ann) == []
    events = AuditEvent.objects.filter(action="document.clearance").order_by("pk").values_list("data", flat=True)
    assert [(data["before"], data["after"]) for data in events] == [(0, 2), (2, 3)]


def test_readers_and_owners_of_one_of_several_sets_change_no_clearance():
    ann, bob, reader = make_user(), make_user(), make_user()
    document = live(ann, make_set(owners=[ann]))
    document.sets.add(make_set(owners=[bob]))

    for person in (ann, bob, reader):
        with pytest.raises(NotAllowedError):
            document_update(document_id=document.pk, clearance=1, **who(person))
        with pytest.raises(NotAllowedError):
            version_withdraw(document_id=document.pk, number=1, **who(person))


# ── withdrawing ─────────────────────────────────────────────────────────────────────────────────


def test_a_withdrawn_version_leaves_searches_and_the_former_content_comes_back():
    ann = make_user()
    room = make_set(owners=[ann])
    document = ingest(ann, room, mast="The spare mast stands in hall nine.")["mast"]
    ingest(ann, room, mast="The spare mast stands in hall forty.")

    job = version_withdraw(document_id=document.pk, number=2, **who(ann))

    assert found(ann) == []
    assert job is not None
    run_job(job.pk)
    document.refresh_from_db()
    assert (document.state, document.live_version.number) == ("live", 3)
    assert document.live_version.markdown == "The spare mast stands in hall nine."
    assert len(found(ann)) == 1
    assert version_withdraw(document_id=document.pk, number=2, **who(ann)) is None
    assert AuditEvent.objects.filter(action="version.withdraw").count() == 1


def test_without_former_content_a_document_waits_for_a_new_version():
    ann = make_user()
    document = live(ann, make_set(owners=[ann]))

    assert version_withdraw(document_id=document.pk, number=1, **who(ann)) is None

    document.refresh_from_db()
    assert (document.state, document.error_code, document.live_version, found(ann)) == (
        *("failed", "version_withdrawn", None),
        [],
    )
    with pytest.raises(VersionWithdrawnError):
        document_retry(document_id=document.pk, **who(ann))
    with pytest.raises(NotFoundError):
        version_withdraw(document_id=document.pk, number=7, **who(ann))


def test_a_version_on_its_way_is_withdrawn_before_anybody_finds_it():
    ann = make_user()
    done = upload(ann, make_set(owners=[ann]), name="mast.txt", content=TEXT)

    version_withdraw(document_id=done.document.pk, number=1, **who(ann))
    run_job(done.job.pk)

    assert found(ann) == []
    assert Document.objects.get().error_code == "version_withdrawn"


# ── jobs and pairs ──────────────────────────────────────────────────────────────────────────────


def test_who_does_not_keep_the_documents_of_their_job_any_more_does_not_stop_it():
    ann, bob = make_user(), make_user()
    room = make_set(owners=[ann, bob])
    job = upload(bob, room).job
    room.owners.set([ann])

    with pytest.raises(NotAllowedError):
        job_cancel(job_id=job.pk, **who(bob))
    assert job_cancel(job_id=job.pk, **who(make_admin())).cancelled


def test_a_pair_that_one_keeper_dismisses_stays_open_for_the_other():
    ann, bob = make_user(), make_user()
    live(ann, make_set(owners=[ann]))
    live(bob, make_set(owners=[bob]))
    versions_compare()
    pair = DuplicatePair.objects.get()

    pair_keep(pair_id=pair.pk, **who(ann))

    assert [pairs_of(scope=scope_of(person)).count() for person in (ann, bob)] == [0, 1]
    pair_keep(pair_id=pair.pk, **who(make_admin()))
    assert pairs_of(scope=scope_of(bob)).count() == 0
