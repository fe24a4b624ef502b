"""Review dates: set by keepers, sent with documents, told to owners once, shown to readers."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from accounts.errors import NotAllowedError
from accounts.models import AuditEvent
from knowledge.models import Document, DocumentReview
from knowledge.selectors.reviews import due_dates
from knowledge.services.documents import document_update
from knowledge.services.reviews import documents_review, reviews_tell
from notifications.kinds import KINDS, sentence_of
from notifications.models import Notification
from tests.admin.conftest import make_document, signed_in
from tests.api.conftest import alice, bob, world
from tests.api.test_documents import bulk, line, upload
from tests.api.world import client_of, document_make, message_make, set_make
from tests.factories import make_set, make_user, scope_of

__all__ = ["alice", "bob", "world"]  # fixtures

pytestmark = pytest.mark.django_db
TODAY = timezone.localdate


def plan(owner, document, days=0, **values):
    document_update(
        scope=scope_of(owner),
        actor=owner,
        document_id=document.pk,
        review_by=TODAY() + timedelta(days=days),
        **values,
    )


@pytest.fixture
def owner():
    return make_user("owner", is_staff=True)


@pytest.fixture
def document(owner):
    return make_document("Leave policy", make_set("hr", owners=[owner], visibility="everyone"))


# ── setting ─────────────────────────────────────────────────────────────────────────────────────


def test_a_keeper_sets_the_date_and_says_that_it_was_reviewed(owner, document):
    address = reverse("admin:knowledge_document_edit", args=[document.pk])
    form = {"title": document.title, "tags": "", "clearance": "0", "review_by": "2099-05-01", "reviewed": "on"}

    answer = signed_in(owner).post(address, form)

    assert answer.status_code == 302
    row = DocumentReview.objects.get()
    assert (str(row.review_by), row.reviewed_by) == ("2099-05-01", owner)
    event = AuditEvent.objects.get(action="document.review")
    assert (event.data["before"], event.data["after"], event.data["reviewed"]) == (None, "2099-05-01", True)
    assert 'value="2099-05-01"' in signed_in(owner).get(address).content.decode()
    about = signed_in(owner).get(reverse("admin:knowledge_document_change", args=[document.pk]) + "?view=about")
    assert "last reviewed" in about.content.decode().lower()


def test_saving_the_form_again_changes_and_records_nothing(owner, document):
    plan(owner, document, 9)
    before = AuditEvent.objects.count()

    plan(owner, document, 9)
    document_update(scope=scope_of(owner), actor=owner, document_id=document.pk, title=document.title)

    assert AuditEvent.objects.count() == before
    assert DocumentReview.objects.get().review_by == TODAY() + timedelta(days=9)


def test_others_set_no_date(owner, document):
    reader, co_owner = make_user(), make_user()
    for person in (reader, co_owner):
        if person is co_owner:
            document.sets.add(make_set("other", owners=[co_owner]))
        with pytest.raises(NotAllowedError):
            plan(person, document)

    assert not DocumentReview.objects.exists()


def test_the_api_sets_shows_keeps_and_takes_the_date_back(world, alice, bob):
    document = document_make(set_make(world.alice))
    address = f"/api/v1/documents/{document.pk}"

    assert alice.patch(address, {"review_by": "2020-01-31"}).json()["review_by"] == "2020-01-31"
    done = alice.patch(address, {"reviewed": True}).json()
    assert (done["review_by"], done["reviewed"] is None) == ("2020-01-31", False)
    assert [row["id"] for row in bob.get("/api/v1/documents", {"review": "due"}).json()["results"]] == [document.pk]
    assert bob.patch(address, {"review_by": None}).status_code == 404
    assert alice.patch(address, {"review_by": "31.1.2020"}).status_code == 422
    assert alice.patch(address, {"review_by": None}).json()["review_by"] is None
    assert alice.get("/api/v1/documents", {"review": "due"}).json()["count"] == 0


def test_documents_come_with_their_date(world, alice):
    mine = set_make(world.alice)
    lines = line(external_id="a", review_by="2027-01-31", sets=[mine.pk]) + line(external_id="b", sets=[mine.pk])
    faulty = line(external_id="c", review_by="2027-02-31", sets=[mine.pk])

    answer = bulk(alice, lines + faulty).json()
    sent = upload(alice, mine, content=b"other", review_by="2028-02-29").json()

    assert (answer["accepted"], [one["code"] for one in answer["rejected"]]) == (2, ["invalid_line"])
    rows = DocumentReview.objects.values_list("document__external_id", "document_id", "review_by")
    assert {(name, str(day)) for name, _pk, day in rows} == {("a", "2027-01-31"), ("", "2028-02-29")}
    assert sent["document_id"] in [pk for _name, pk, _day in rows]
    bulk(alice, line(external_id="a", review_by="2030-01-01", sets=[mine.pk]) + line(external_id="a", sets=[mine.pk]))
    assert str(DocumentReview.objects.get(document__external_id="a").review_by) == "2030-01-01"


# ── telling ─────────────────────────────────────────────────────────────────────────────────────


def test_owners_are_told_once_of_what_is_due_and_of_nothing_that_is_closed_to_them(owner, document):
    low = make_user("low", clearance=0)
    hr = document.sets.get()
    hr.owners.add(low)
    secret = make_document("Salaries", hr, clearance=3)
    plan(owner, document, 0)
    plan(owner, secret, -1)
    plan(owner, make_document("Later", hr), 1)
    gone = make_document("Gone", hr)
    plan(owner, gone, -1)
    Document.objects.filter(pk=gone.pk).update(deleted=timezone.now())

    assert [reviews_tell(), reviews_tell()] == [2, 0]

    told = {row.recipient.username: row for row in Notification.objects.select_related("recipient")}
    assert set(told) == {"owner", "low"}
    assert told["low"].data == {"title": "Leave policy", "count": 1}
    assert told["low"].link == reverse("knowledge:document", args=[document.pk])
    assert told["owner"].link.endswith("?review=due")
    said = sentence_of(kind=told["owner"].kind, data=told["owner"].data)
    assert said == "2 documents are due for review, among them “Salaries”."
    with translation.override("zh-hans"):
        assert sentence_of(kind=told["low"].kind, data=told["low"].data) == "“Leave policy”需要复核。"


def test_every_kind_of_notification_is_filled_with_its_values():
    """A sentence with another kind of placeholder would be shown with its braces."""
    assert [code for code, sentence in KINDS.items() if "{" in sentence] == []


def test_another_date_is_told_again(owner, document):
    plan(owner, document, -2)
    reviews_tell()

    plan(owner, document, -1)

    assert reviews_tell() == 1


# ── lists and readers ───────────────────────────────────────────────────────────────────────────


def test_the_desk_lists_what_is_due_soon_and_planned(owner, document):
    hr = document.sets.get()
    plan(owner, document, 0)
    plan(owner, make_document("Soon", hr), 20)
    plan(owner, make_document("Far", hr), 200)
    make_document("None", hr)
    client = signed_in(owner)

    def listed(choice):
        page = client.get(reverse("admin:knowledge_document_changelist"), {"review": choice})
        return {row.title for row in page.context["cl"].result_list}, page.content.decode()

    assert listed("due")[0] == {"Leave policy"}
    assert "review due since" in listed("due")[1]
    assert listed("soon")[0] == {"Leave policy", "Soon"}
    assert listed("planned")[0] == {"Leave policy", "Soon", "Far"}
    assert "Reviews due" in client.get("/admin/").content.decode()


def test_readers_see_a_quiet_sign_at_the_source_and_only_of_what_they_may_see(world, alice, bob):
    document = document_make(set_make(world.alice))
    message = message_make(world.bob, state="done", status="answered", answer="So [1].")
    chunk = document.live_version.chunks.get()
    message.citations.create(
        number=1, cited=True, document=document, version=document.live_version, chunk=chunk, excerpt="passage"
    )
    browser = Client()
    browser.force_login(world.bob)
    pages = [f"/messages/{message.pk}", f"/messages/{message.pk}/sources/1", f"/documents/{document.pk}"]

    def signs():
        return ["review due" in browser.get(page).content.decode().lower() for page in pages]

    assert signs() == [False, False, False]
    client_of(world.alice).patch(f"/api/v1/documents/{document.pk}", {"review_by": str(TODAY())})
    assert signs() == [True, True, True]
    Document.objects.update(clearance=4)
    assert due_dates(scope=scope_of(world.bob), document_ids=[document.pk]) == {}
    assert signs()[0] is False


# ── many at once ────────────────────────────────────────────────────────────────────────────────


def test_many_documents_are_reviewed_from_the_list(owner, document):
    second = make_document("Travel policy", document.sets.get())
    foreign = make_document("Foreign", make_set("other", owners=[make_user()], visibility="everyone"))
    client, ids = signed_in(owner), [str(document.pk), str(second.pk)]
    listed = reverse("admin:knowledge_document_changelist")
    address = reverse("admin:knowledge_document_review")

    asked = client.post(f"{listed}?hands=all", {"action": "review_selected", "_selected_action": ids})
    page = asked.content.decode()
    nothing = client.post(address, {"ids": ",".join(ids)}).content.decode()
    both = client.post(address, {"ids": ids[0], "review_by": "2099-05-01", "without": "on"}).content.decode()
    client.post(address, {"ids": ",".join([*ids, str(foreign.pk)]), "review_by": "2099-05-01", "reviewed": "on"})

    assert "Leave policy" in page
    assert "Give a date, remove it" in nothing
    assert "not both" in both
    rows = DocumentReview.objects.values_list("document_id", "review_by", "reviewed_by")
    assert {(pk, str(day), by) for pk, day, by in rows} == {(int(pk), "2099-05-01", owner.pk) for pk in ids}
    client.post(address, {"ids": ids[0], "without": "on"})
    assert DocumentReview.objects.get(document=document).review_by is None
    assert AuditEvent.objects.filter(action="document.review").count() == 3


def test_documents_that_others_keep_are_refused_singly(owner, document):
    shared = make_document("Shared", document.sets.get())
    shared.sets.add(make_set("theirs", owners=[make_user()]))

    outcome = documents_review(
        scope=scope_of(owner), actor=owner, document_ids=[document.pk, shared.pk], review_by=TODAY()
    )

    assert (outcome.changed, [one.document_id for one in outcome.refused]) == (1, [shared.pk])
    assert not DocumentReview.objects.filter(document=shared).exists()
