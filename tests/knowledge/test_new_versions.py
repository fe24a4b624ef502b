"""A file of a known name: which documents it may be a new version of, and what becomes of it as one."""

from __future__ import annotations

import pytest

from accounts.errors import NotAllowedError, NotFoundError
from accounts.selectors import scope_for
from knowledge.models import Document, IndexEntry, Source
from knowledge.selectors import chunk_get, chunks_of
from knowledge.selectors.known_names import documents_named
from tests.factories import make_admin, make_set, make_tenant, make_user, run_job, scope_of
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db

FIRST = b"# Leave policy\n\nTwenty days of leave a year."
SECOND = b"# Leave policy\n\nThirty days of leave a year."


def matches(person, name, *sets):
    found = documents_named(scope=scope_of(person), name=name, sets=[one.pk for one in sets])
    return [(one.document.pk, one.match) for one in found]


def live(owner, home, **fields) -> Document:
    done = upload(owner, home, **fields)
    run_job(done.job.pk)
    return done.document


def test_the_name_in_the_same_set_comes_first_then_elsewhere_then_near_ones(owner, common):
    other = make_set("other", owners=[owner])
    near = upload(owner, common, name="leave v1.md", content=b"old " + FIRST).document
    elsewhere = upload(owner, other, name="leave.md", content=SECOND).document
    same = upload(owner, common, name="Leave.MD", content=FIRST).document
    upload(owner, common, name="travel.md", content=b"Travel.")

    assert matches(owner, "leave.md", common) == [(same.pk, "same"), (elsewhere.pk, "elsewhere"), (near.pk, "near")]


def test_nothing_is_said_of_what_the_asker_does_not_keep(owner, common):
    upload(owner, common, name="leave.md", content=FIRST)
    stranger = make_user()
    own = make_set("own", owners=[stranger])
    elsewhere = make_admin(tenant=make_tenant("elsewhere"))

    assert matches(stranger, "leave.md", own) == []
    assert matches(elsewhere, "leave.md") == []


def test_documents_that_a_source_brings_are_not_offered(owner, common):
    document = upload(owner, common, name="leave.md", content=FIRST).document
    folder = Source.objects.create(tenant=owner.tenant, name="share", kind=Source.Kind.FOLDER)
    Document.objects.filter(pk=document.pk).update(source=folder)

    assert matches(owner, "leave.md", common) == []
    with pytest.raises(NotAllowedError):
        upload(owner, common, name="leave.md", content=SECOND, new_version_of=document.pk)


def test_a_new_version_answers_alone_and_the_old_one_stays_citable(owner, common):
    other = make_set("other", owners=[owner])
    document = live(owner, common, name="leave.md", content=FIRST)
    old = chunks_of(scope=scope_of(owner), document_id=document.pk).get()

    again = upload(owner, other, name="leave (1).md", content=SECOND, new_version_of=document.pk)
    run_job(again.job.pk)

    assert again.document.pk == document.pk
    document.refresh_from_db()
    assert set(document.sets.all()) == {common, other}
    assert document.live_version.number == 2
    searched = IndexEntry.objects.filter(version__live_for__deleted=None, version__live_for__isnull=False)
    assert [entry.version_id for entry in searched] == [document.live_version_id]
    assert "Twenty days" in chunk_get(scope=scope_of(owner), chunk_id=old.pk, is_cited=True).text


def test_the_same_bytes_as_the_newest_version_add_nothing(owner, common):
    document = live(owner, common, name="leave.md", content=FIRST)

    again = upload(owner, common, name="leave.md", content=FIRST, new_version_of=document.pk)

    assert (again.duplicate, again.job) == (True, None)
    assert document.versions.count() == 1


def test_bytes_that_another_document_of_the_set_has_become_a_version_all_the_same(owner, common):
    live(owner, common, name="a.md", content=SECOND)
    document = live(owner, common, name="leave.md", content=FIRST)

    again = upload(owner, common, name="leave.md", content=SECOND, new_version_of=document.pk)

    assert (again.document.pk, again.duplicate, again.job is not None) == (document.pk, False, True)


def test_only_who_keeps_a_document_adds_a_version(owner, common):
    document = live(owner, common, name="leave.md", content=FIRST)
    reader, stranger = make_user(), make_user(tenant=make_tenant("elsewhere"))
    own, far = make_set("own", owners=[reader]), make_set("far", tenant=stranger.tenant, owners=[stranger])

    with pytest.raises(NotAllowedError):
        upload(reader, own, name="leave.md", content=SECOND, new_version_of=document.pk)
    with pytest.raises(NotFoundError):
        upload(stranger, far, name="leave.md", content=SECOND, new_version_of=document.pk)
    assert scope_for(owner).tenant_id == document.tenant_id
    assert document.versions.count() == 1
