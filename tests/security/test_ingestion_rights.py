"""What ingestion tells, and to whom: names, numbers and permissions."""

from __future__ import annotations

import json

import pytest
from django.utils import timezone

from accounts.errors import NotAllowedError
from accounts.models import User
from knowledge.models import Document, IngestItem, IngestJob, KnowledgeSet
from knowledge.selectors import items_progress, items_readable, job_get
from knowledge.selectors.dashboard import documents_rebuildable, items_named, items_shown, jobs_counted, sets_counted
from knowledge.services import document_delete, documents_bulk, versions_compare
from knowledge.services.jobs import job_cancel, job_retry
from knowledge.services.sources import source_create, source_update
from ragcore.errors import UrlNotAllowedError
from tests.admin.conftest import signed_in
from tests.factories import ingest, make_admin, make_set, make_tenant, make_user, run_job, scope_of
from tests.knowledge.uploads import upload

pytestmark = pytest.mark.django_db

SECRET = b"# Plans\n\nThe site in Aarau is closed in May."


def names(person, job_id):
    items = list(items_readable(scope=scope_of(person), job_id=job_id))
    return [(one.title, one.file_name) for one in items_progress(scope=scope_of(person), items=items)]


# ── names ───────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def guessed():
    """Somebody sends bytes that are here already, above their clearance and under a name that they do not know."""
    boss, guesser = make_user(), make_user(clearance=0)
    board, desk = make_set(owners=[boss], visibility="members"), make_set(owners=[guesser])
    hidden = upload(boss, board, name="closing aarau.md", content=SECRET, title="Closing Aarau", clearance=4)
    run_job(hidden.job.pk)
    return boss, guesser, upload(guesser, desk, name="guess.md", content=SECRET).job.pk


def test_who_guesses_the_bytes_of_a_document_does_not_learn_its_name(guessed):
    boss, guesser, job_id = guessed

    assert names(guesser, job_id) == [("guess", "guess.md")]  # a record of their own
    assert jobs_counted(scope=scope_of(guesser)).get(pk=job_id).first_title == "guess"
    assert Document.objects.filter(title="Closing Aarau").get().sets.get().owners.get() == boss


def test_errors_of_a_job_name_no_document_that_one_may_not_see_any_more(guessed):
    boss, guesser, job_id = guessed
    Document.objects.update(external_id="closing-aarau")
    KnowledgeSet.objects.filter(owners=guesser).get().owners.set([boss])
    KnowledgeSet.objects.update(visibility="members")
    IngestItem.objects.filter(job=job_id).update(stage="failed", error_code="worker_lost")

    assert [error["external_id"] for error in job_get(scope=scope_of(guesser), job_id=job_id).errors] == [""]


@pytest.mark.parametrize("asks", ["owner", "administrator"])
def test_a_deleted_document_has_no_name_in_the_items_of_its_job(asks):
    owner = make_user()
    done = upload(owner, make_set(owners=[owner]), name="mine.md")
    run_job(done.job.pk)
    document_delete(scope=scope_of(owner), actor=owner, document_id=done.document.pk)

    assert names(owner if asks == "owner" else make_admin(), done.job.pk) == [("", "")]


def test_a_job_is_not_found_by_the_title_of_a_document_that_one_may_not_see():
    keeper, guesser = make_user(), make_user(clearance=0)
    desk = make_set(owners=[keeper, guesser])
    job = upload(guesser, desk, name="plan.md", content=SECRET).job
    Document.objects.update(title="Closing Aarau", clearance=4)

    found = {
        one.pk: IngestJob.objects.filter(
            pk=job.pk, items__in=items_named(scope=scope_of(one), words=["aarau"])
        ).exists()
        for one in (keeper, guesser)
    }

    assert found == {keeper.pk: True, guesser.pk: False}


def test_a_load_over_several_tenants_shows_nobody_the_documents_of_another_one():
    root, foreign = make_admin(), make_tenant()
    own = make_set("own", owners=[root])
    other = KnowledgeSet.objects.create(tenant=foreign, code="other", name="other")
    rows = [{"external_id": s.code, "text": f"About {s.code}.", "sets": [s.pk]} for s in (own, other)]
    lines = [json.dumps({**row, "tenant": s.tenant.name}).encode() for row, s in zip(rows, (own, other), strict=True)]
    job_id = documents_bulk(scope=scope_of(root), actor=root, lines=lines).job_id
    run_job(job_id)
    local = make_admin(tenant=foreign)

    shown = items_shown(scope=scope_of(local)).values_list("version__document__external_id", flat=True)

    assert list(shown) == ["other"]


# ── numbers ─────────────────────────────────────────────────────────────────────────────────────


def test_an_owner_is_told_no_numbers_of_documents_above_their_clearance():
    boss, clerk = make_user(), make_user(clearance=1)
    shared = make_set(owners=[boss, clerk])
    ingest(boss, shared, low="An open note.")
    ingest(boss, shared, clearance=3, high="A secret note.\n\n# More\n\nOf it.")

    told = {person.pk: sets_counted(scope=scope_of(person)).get(pk=shared.pk) for person in (boss, clerk)}

    assert [(one.document_count, one.live_count) for one in told.values()] == [(2, 2), (1, 1)]
    assert told[clerk.pk].chunk_count < told[boss.pk].chunk_count
    assert told[clerk.pk].changed < told[boss.pk].changed
    assert documents_rebuildable(scope=scope_of(clerk), set_id=shared.pk).count() == 1


def test_pairs_with_documents_that_an_owner_may_not_open_are_not_counted():
    boss, clerk = make_user(), make_user()
    text = " ".join(f"Alarm {number} is raised by board {number * 7}." for number in range(60))
    mine = make_set(owners=[clerk])
    ingest(clerk, mine, mine=text)
    ingest(boss, make_set(owners=[boss], visibility="members"), theirs=text + " A little more.")
    versions_compare()

    assert sets_counted(scope=scope_of(clerk)).get(pk=mine.pk).pair_count == 0
    assert sets_counted(scope=scope_of(make_admin())).get(pk=mine.pk).pair_count == 1


# ── permissions ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def handed_over():
    """A source with a private address that an administrator of the site allowed, kept by somebody else now."""
    root, keeper = make_admin(), make_user()
    make_set(owners=[keeper])
    values = {"name": "wiki", "kind": "url", "location": "http://10.1.2.3/a", "options": {"allow_private": True}}
    source = source_create(scope=scope_of(root), actor=root, values=values)
    source_update(scope=scope_of(root), actor=root, source_id=source.pk, values={"owner": keeper.username})
    return keeper, source


def test_a_private_address_that_was_allowed_opens_no_other_one(handed_over):
    keeper, source = handed_over

    with pytest.raises(UrlNotAllowedError):
        change(keeper, source, location="http://10.9.9.9/secrets")
    with pytest.raises(UrlNotAllowedError):
        change(keeper, source, location="http://10.1.2.3/a\nhttp://10.9.9.9/secrets")

    source.refresh_from_db()
    assert (source.location, source.options) == ("http://10.1.2.3/a", {"allow_private": True})


def test_other_pages_of_the_same_host_stay_allowed(handed_over):
    keeper, source = handed_over

    assert change(keeper, source, location="http://10.1.2.3/b").options == {"allow_private": True}
    assert change(keeper, source, location="https://93.184.216.34/").options == {}


def change(person, source, **values):
    return source_update(scope=scope_of(person), actor=person, source_id=source.pk, values=values)


# ── trying again, ending ────────────────────────────────────────────────────────────────────────


@pytest.fixture
def raised():
    """A failed and a waiting document of one job, raised above the clearance of the person who keeps their set."""
    clerk = make_user(clearance=2)
    desk = make_set(owners=[clerk])
    rows = [{"external_id": name, "text": f"About {name}.", "sets": [desk.pk]} for name in ("failed", "waiting")]
    job_id = documents_bulk(scope=scope_of(clerk), actor=clerk, lines=[json.dumps(r).encode() for r in rows]).job_id
    failed = IngestItem.objects.filter(job=job_id, version__document__external_id="failed")
    failed.update(stage="failed", error_code="worker_lost", finished=timezone.now())
    Document.objects.update(clearance=3)
    return clerk, job_id


@pytest.mark.parametrize("asks", ["who started it", "administrator of the tenant"])
def test_a_job_tries_nothing_again_that_one_may_not_open(raised, asks):
    clerk, job_id = raised
    if asks != "who started it":
        tenant = make_tenant()
        User.objects.filter(pk=clerk.pk).update(is_staff=True, is_superuser=True, tenant=tenant)
        for model in (IngestJob, Document):
            model.objects.update(tenant=tenant)
        clerk = User.objects.get(pk=clerk.pk)

    assert job_retry(scope=scope_of(clerk), actor=clerk, job_id=job_id) is None
    with pytest.raises(NotAllowedError):
        job_cancel(scope=scope_of(clerk), actor=clerk, job_id=job_id)

    assert IngestItem.objects.filter(finished=None).count() == 1
    assert job_retry(scope=scope_of(make_admin()), actor=make_admin(), job_id=job_id) is not None


def test_words_of_runs_are_for_those_who_manage_the_source_or_started_the_run():
    keeper, user = make_user(is_staff=True), make_user(is_staff=True)
    make_set(owners=[keeper])
    make_set(owners=[user])
    values = {"name": "wiki", "kind": "url", "location": "https://93.184.216.34/", "options": {"shared": True}}
    source = source_create(scope=scope_of(keeper), actor=keeper, values=values)
    for person, path in ((keeper, "salaries.xlsx"), (user, "mine.md")):
        report = {"refused": [{"path": path, "code": "x", "message": "x"}], "found": 1}
        IngestJob.objects.create(tenant=user.tenant, created_by=person, kind="sync", source=source, report=report)

    pages = [
        signed_in(one).get(f"/admin/knowledge/source/{source.pk}/change/").content.decode() for one in (keeper, user)
    ]

    assert [("salaries.xlsx" in page, "mine.md" in page) for page in pages] == [(True, True), (False, True)]
