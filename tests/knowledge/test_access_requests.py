"""Ask for access, decide, be told: by the API and on the pages."""

from __future__ import annotations

from datetime import timedelta
from unittest.mock import Mock

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import AuditEvent, User
from knowledge.models import AccessRequest, KnowledgeSet
from notifications.models import Notification
from notifications.services import notification_mail, notification_send
from tests.api.conftest import alice, bob, eve, root, world
from tests.api.world import client_of, document_make, error_of, set_make
from tests.knowledge.locks import apart

__all__ = ["alice", "bob", "eve", "root", "world"]

REQUESTS = "/api/v1/access-requests"
INBOX = "/api/v1/notifications"


@pytest.fixture
def closed(world) -> KnowledgeSet:
    return set_make(world.alice, visibility="members", name="Board", description="Salaries", example_questions=["Who?"])


def browser(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def inbox(user: User) -> list[str]:
    return [row["text"] for row in client_of(user).get(INBOX).json()["results"]]


def test_everyone_sees_that_a_set_exists_and_who_owns_it_but_not_what_it_is_about(closed, alice, bob, eve):
    shown, owned = (client.get(f"/api/v1/knowledge-sets/{closed.pk}").json() for client in (bob, alice))

    assert (shown["name"], shown["owners"], shown["may_read"]) == ("Board", ["alice"], False)
    assert (shown["description"], shown["example_questions"]) == ("", [])
    assert (owned["description"], owned["example_questions"], owned["may_read"]) == ("Salaries", ["Who?"], True)
    assert eve.get(f"/api/v1/knowledge-sets/{closed.pk}").status_code == 404


def test_an_approved_request_opens_the_set_and_tells_both(world, closed, alice, bob):
    document = document_make(closed)
    made = bob.post(REQUESTS, {"set": closed.pk, "reason": "I write the report."})
    assert (made.status_code, made.json()["state"]) == (201, "open")
    assert bob.get(f"/api/v1/documents/{document.pk}").status_code == 404
    assert inbox(world.alice) == ["bob requests access to the knowledge set “Board”."]
    (found,) = alice.get(REQUESTS, {"role": "decide", "state": "open"}).json()["results"]

    decided = alice.post(f"{REQUESTS}/{found['id']}/approve", {"reason": "Welcome."})

    assert (decided.json()["state"], decided.json()["decided_by"]) == ("approved", "alice")
    assert bob.get(f"/api/v1/documents/{document.pk}").status_code == 200
    assert inbox(world.bob) == ["You now have access to the knowledge set “Board”. Welcome."]
    acts = list(AuditEvent.objects.filter(action__startswith="access.").order_by("pk").values_list("action", "actor"))
    assert acts == [("access.request", world.bob.pk), ("access.approve", world.alice.pk)]
    assert error_of(bob.post(REQUESTS, {"set": closed.pk}))["code"] == "access_not_needed"


def test_a_declined_request_says_why_and_can_be_made_again(world, closed, alice, bob):
    first = bob.post(REQUESTS, {"set": closed.pk}).json()["id"]

    assert error_of(alice.post(f"{REQUESTS}/{first}/decline", {"reason": " "}))["code"] == "reason_missing"
    assert alice.post(f"{REQUESTS}/{first}/decline", {"reason": "Ask your manager."}).json()["state"] == "declined"

    assert "Ask your manager." in inbox(world.bob)[0]
    assert not closed.members.exists()
    again = alice.post(f"{REQUESTS}/{first}/approve", {})
    assert (again.status_code, error_of(again)["code"]) == (409, "access_decided")
    assert bob.post(REQUESTS, {"set": closed.pk}).json()["id"] != first


def test_asking_twice_is_one_request_and_can_be_taken_back(world, closed, bob):
    first, second = (bob.post(REQUESTS, {"set": closed.pk}).json()["id"] for _ in range(2))

    assert first == second
    assert len(inbox(world.alice)) == 1
    assert bob.post(f"{REQUESTS}/{first}/withdraw").json()["state"] == "withdrawn"


def test_nobody_but_keepers_decides_and_nobody_else_sees_a_request(world, closed, bob, eve, root):
    made = bob.post(REQUESTS, {"set": closed.pk}).json()["id"]
    closed.editors.add(world.bob)  # an editor does not decide either

    answers = [
        client.post(f"{REQUESTS}/{made}/{verb}", {"reason": "x"})
        for client in (bob, eve)
        for verb in ("approve", "decline")
    ]
    answers += [eve.get(f"{REQUESTS}/{made}"), eve.post(f"{REQUESTS}/{made}/withdraw")]
    answers += [eve.post(REQUESTS, {"set": closed.pk}), root.post(f"{REQUESTS}/{made}/withdraw")]

    assert {answer.status_code for answer in answers} == {404}
    assert AccessRequest.objects.get().state == "open"
    assert root.post(f"{REQUESTS}/{made}/approve", {}).status_code == 200


def test_a_set_without_owners_asks_its_administrators(world, closed, bob):
    closed.owners.clear()

    bob.post(REQUESTS, {"set": closed.pk})

    assert len(inbox(world.root)) == 1


# ── pages ───────────────────────────────────────────────────────────────────────────────────────


def test_request_and_approval_on_the_pages_in_both_languages(world, closed):
    employee, owner = browser(world.bob), browser(world.alice)
    type(closed).objects.filter(pk=closed.pk).update(name_zh="董事会")
    page = employee.get("/sets").content.decode()
    assert "Board" in page
    assert "alice" in page
    assert "Salaries" not in page

    employee.post(f"/sets/{closed.pk}/access", {"reason": "I write the report."})

    assert 'class="bell-count" aria-hidden="true">1<' in owner.get("/profile").content.decode()
    chinese = owner.get("/inbox", headers={"accept-language": "zh-CN"}).content.decode()
    assert "申请" in chinese
    assert "董事会" in chinese
    assert "董事会" not in owner.get("/inbox").content.decode()
    row = Notification.objects.get()
    request_page = owner.post(f"/inbox/{row.pk}")["Location"]
    assert "bell-count" not in owner.get("/profile").content.decode()
    assert "I write the report." in owner.get(request_page).content.decode()
    owner.post(request_page, {"decline": "1", "reason": ""})
    assert AccessRequest.objects.get().state == "open"
    owner.post(request_page, {"approve": "1", "reason": "Welcome."})
    assert list(closed.members.all()) == [world.bob]
    assert "Salaries" in employee.get("/sets").content.decode()
    assert "Welcome." in employee.get("/inbox").content.decode()


def test_pages_of_others_requests_do_not_exist(world, closed, bob):
    made = bob.post(REQUESTS, {"set": closed.pk}).json()["id"]

    assert browser(world.eve).get(f"/access-requests/{made}").status_code == 404
    assert browser(world.bob).post(f"/access-requests/{made}", {"approve": "1"}).status_code == 302
    assert AccessRequest.objects.get().state == "open"


def test_the_page_of_sets_asks_no_more_for_more_sets(world):
    client = browser(world.bob)
    counts = []
    for _ in range(2):
        for _ in range(3):
            set_make(world.alice, visibility="members")
        with CaptureQueriesContext(
            connection,
        ) as asked:
            client.get("/sets")
        counts.append(len(asked))

    assert counts[0] == counts[1]


# ── notifications ───────────────────────────────────────────────────────────────────────────────


def test_ones_notifications_are_ones_own(world, closed, alice, bob):
    bob.post(REQUESTS, {"set": closed.pk})
    row = Notification.objects.get(recipient=world.alice)

    assert bob.post(f"{INBOX}/{row.pk}/read").status_code == 404
    assert browser(world.bob).post(f"/inbox/{row.pk}").status_code == 404
    assert alice.get(INBOX, {"unread": True}).json()["count"] == 1
    assert alice.post(f"{INBOX}/{row.pk}/read").json()["read"] is not None
    assert alice.post(f"{INBOX}/read").json() == {"marked": 0}
    assert alice.get(INBOX, {"unread": True}).json()["count"] == 0


def test_where_a_mail_server_is_set_a_mail_is_sent_once(world, settings, django_capture_on_commit_callbacks):
    settings.EMAIL_HOST, settings.SITE_URL = "mail.example.org", "https://kb.example.org"
    world.alice.email = "alice@example.org"
    world.alice.save()
    data = {"person": "bob", "set": "Board\nBcc: all@example.org"}
    with django_capture_on_commit_callbacks() as callbacks:
        told = [world.alice, world.alice, world.bob]
        notification_send(recipients=told, kind="access.requested", data=data, link="/access-requests/1")
    row = Notification.objects.get(recipient=world.alice)

    sent = [notification_mail(notification_id=row.pk) for _ in range(2)]

    assert len(callbacks) == 1  # bob has no address, alice is told once
    assert sent == [True, False]
    (message,) = mail.outbox
    assert message.to == ["alice@example.org"]
    assert "\n" not in message.subject
    assert "https://kb.example.org/access-requests/1" in message.body


@pytest.fixture
def mailed(world, settings):
    """A notification of somebody who has an address."""
    settings.EMAIL_HOST = "mail.example.org"
    User.objects.filter(pk=world.alice.pk).update(email="alice@example.org")
    return Notification.objects.create(recipient=world.alice, kind="access.requested", data={"person": "b", "set": "c"})


@pytest.mark.parametrize(("locale", "words"), [("zh-CN", "申请"), ("en", "requests access"), ("fr", "requests access")])
def test_a_mail_is_in_the_language_of_its_reader(world, mailed, locale, words):
    User.objects.filter(pk=world.alice.pk).update(locale=locale)

    notification_mail(notification_id=mailed.pk)

    assert words in mail.outbox[0].subject


@pytest.mark.django_db(transaction=True)
def test_while_a_mail_is_sent_nothing_waits_and_nobody_sends_it_too(mailed, alice, monkeypatch):
    def sends_slowly(*given):
        apart(lambda: marked.append(alice.post(f"{INBOX}/read").json()))
        apart(lambda: again.append(notification_mail(notification_id=mailed.pk)))
        mail.send_mail(*given)

    marked, again = [], []
    monkeypatch.setattr("notifications.services.send_mail", sends_slowly)

    assert notification_mail(notification_id=mailed.pk)

    assert (marked, again, len(mail.outbox)) == ([{"marked": 1}], [False], 1)
    mailed.refresh_from_db()
    assert None not in (mailed.read, mailed.mailed)


def failing(error):
    """Sending fails once, with this."""
    return Mock(side_effect=[error, None])


def test_a_mail_that_the_server_did_not_take_is_sent_by_the_next_try(mailed, monkeypatch):
    monkeypatch.setattr("notifications.services.send_mail", failing(OSError("timed out")))

    with pytest.raises(OSError, match="timed out"):
        notification_mail(notification_id=mailed.pk)

    assert notification_mail(notification_id=mailed.pk)


def test_a_mail_whose_worker_was_killed_is_sent_when_its_lease_is_over(mailed, monkeypatch):
    monkeypatch.setattr("notifications.services.send_mail", failing(KeyboardInterrupt()))

    with pytest.raises(KeyboardInterrupt):
        notification_mail(notification_id=mailed.pk)

    assert not notification_mail(notification_id=mailed.pk)
    Notification.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert notification_mail(notification_id=mailed.pk)


def test_service_accounts_and_people_who_left_are_told_nothing(world):
    world.bob.is_active = False
    world.alice.is_service = True

    assert notification_send(recipients=[world.alice, world.bob], kind="access.requested", data={}) == []
