"""What is known about a person is given out whole, and erased without a trace of the name."""

from __future__ import annotations

import io
import json
import zipfile
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts.models import AuditEvent, User, UserGroup
from accounts.services import api_key_create
from accounts.sign_in.second_factor import second_factor_begin
from chat.conversations import retention
from chat.models import Conversation, Message, MessageCitation
from feedback.models import Signal, Vote
from feedback.signal_months import signals_expire
from knowledge.models import Document
from knowledge.services.leftovers import leftovers_count, leftovers_remove
from notifications.models import Notification
from notifications.services import notification_send, notifications_expire
from ragsite.celery import app
from tests.admin.conftest import make_document
from tests.factories import make_admin, make_set, make_user

pytestmark = pytest.mark.django_db
NAME = "mei.unmistakable"


def make_turn(user: User, question: str = "What is N4?", **fields) -> Message:
    conversation = Conversation.objects.create(user=user, tenant=user.tenant, title=question)
    message = Message.objects.create(
        conversation=conversation, question=question, answer="An interface.", state="done", trace={"a": 1}, **fields
    )
    Signal.objects.create(message=message, user=user, kind="copy")
    Vote.objects.create(message=message, user=user, vote="up", comment="thanks")
    return message


@pytest.fixture
def person(redis_client) -> User:
    """Somebody who has done everything that leaves traces."""
    user = make_user(NAME, clearance=2, department="Radio", first_name="Mei")
    browser = Client()
    browser.post("/sign-in", {"username": NAME, "password": "correct horse battery"})
    user.user_groups.add(UserGroup.objects.create(tenant=user.tenant, name="core"))
    api_key_create(user=user, name="script")
    second_factor_begin(user)
    chosen = make_set("radio", owners=[user])
    document = make_document("plan", chosen, created_by=user)
    message = make_turn(user)
    MessageCitation.objects.create(
        message=message,
        number=1,
        chunk=document.live_version.chunks.get(),
        document=document,
        version=document.live_version,
        excerpt="passage of plan",
    )
    root = Client()
    root.force_login(make_admin("root"))
    data = {"username": NAME, "tenant": user.tenant_id, "clearance": 3, "is_active": "on", "interests": ""}
    data["user_groups"] = [user.user_groups.get().pk]
    assert root.post(f"/admin/accounts/user/{user.pk}/change/", data).status_code == 302
    return User.objects.get(pk=user.pk)


def places_of(text: str) -> list[str]:
    """Tables with a row that has this text in any column."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace")
        tables = [name for (name,) in cursor.fetchall()]
        found = []
        for table in tables:
            cursor.execute(f'SELECT count(*) FROM "{table}" AS t WHERE strpos(t::text, %s) > 0', [text])
            found += [table] if cursor.fetchone()[0] else []
    return found


def test_an_export_has_everything_and_no_secrets(person, tmp_path):
    make_turn(make_user("li"), "Somebody else's question")

    call_command("person", "export", NAME, "--actor", "root", "--file", str(tmp_path / "mei.zip"))

    with zipfile.ZipFile(tmp_path / "mei.zip") as archive:
        files = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    assert {
        "profile.json",
        "chat.conversation.json",
        "chat.message.json",
        "chat.messagecitation.json",
        "feedback.vote.json",
        "feedback.signal.json",
        "accounts.apikey.json",
        "accounts.browsersession.json",
        "otp_totp.totpdevice.json",
        "refers.knowledge.document.json",
        "audit.json",
    } <= set(files)
    assert files["profile.json"]["department"] == ""
    assert [row["question"] for row in files["chat.message.json"]] == ["What is N4?"]
    assert files["user_groups.json"][0]["name"] == "core"
    everything = json.dumps(files)
    assert person.password not in everything
    assert person.api_keys.get().digest not in everything
    assert "Somebody else" not in everything
    assert AuditEvent.objects.filter(action="person.export").exists()


def test_erasing_leaves_the_name_nowhere_and_the_work_in_place(person, capsys):
    pk = person.pk
    assert {"accounts_user"} <= set(places_of(NAME))

    call_command("person", "erase", NAME, "--actor", "root", "--yes")

    assert places_of(NAME) == []
    assert not User.objects.filter(pk=pk).exists()
    assert not Conversation.objects.exists()
    assert Document.objects.get(title="plan").created_by is None
    names = set(AuditEvent.objects.filter(actor_id=pk).values_list("actor_name", flat=True))
    assert names == {f"person-{pk}"}
    replaced = AuditEvent.objects.get(action="audit.pseudonymise")
    assert (replaced.actor_name, replaced.target) == ("root", f"person-{pk}")
    assert replaced.data["events"] > 2
    assert f"person-{pk}" in capsys.readouterr().out


def test_nobody_erases_themselves_or_the_last_administrator(person):
    with pytest.raises(CommandError):
        call_command("person", "erase", "root", "--actor", "root", "--yes")
    with pytest.raises(CommandError):
        call_command("person", "erase", "root", "--actor", NAME, "--yes")

    assert User.objects.filter(username="root").exists()


def test_administrators_export_and_erase_on_the_page_of_users(person, client):
    client.force_login(User.objects.get(username="root"))
    page, chosen = "/admin/accounts/user/", {"_selected_action": [person.pk]}

    export = client.post(page, {"action": "export_person", **chosen})
    asked = client.post(page, {"action": "erase_person", **chosen})

    with zipfile.ZipFile(io.BytesIO(export.content)) as archive:
        assert "profile.json" in archive.namelist()
    assert NAME in asked.content.decode()
    assert User.objects.filter(pk=person.pk).exists()
    client.post(page, {"action": "erase_person", "confirmed": "yes", **chosen})
    assert not User.objects.filter(pk=person.pk).exists()


def test_what_is_old_goes_by_the_settings(redis_client, settings):
    user, now = make_user("mei"), timezone.now()
    old, new = make_turn(user, "old"), make_turn(user, "new")
    for model in (Message, Signal):
        model.objects.filter(**({"pk": old.pk} if model is Message else {"message": old})).update(
            created=now - timedelta(days=40)
        )
    Conversation.objects.filter(pk=old.conversation_id).update(updated=now - timedelta(days=40))
    settings.KEEP_CONVERSATIONS_DAYS = settings.KEEP_TRACES_DAYS = settings.KEEP_SIGNALS_DAYS = 0
    retention.retention_run()
    signals_expire()
    assert (Message.objects.exclude(trace={}).count(), Signal.objects.count()) == (2, 2)

    settings.KEEP_TRACES_DAYS = settings.KEEP_SIGNALS_DAYS = 30
    retention.retention_run()
    signals_expire()
    assert list(Message.objects.exclude(trace={})) == [new]
    assert [signal.message for signal in Signal.objects.all()] == [new]
    settings.KEEP_CONVERSATIONS_DAYS = 30
    retention.retention_run()
    assert list(Message.objects.all()) == [new]
    assert AuditEvent.objects.get(action="conversations.expire").data["conversations"] == 1


def test_old_notifications_go_by_the_settings(settings):
    user = make_user("mei")
    old, _new = (notification_send(recipients=[user], kind="access.requested", data={})[0] for _ in range(2))
    Notification.objects.filter(pk=old.pk).update(created=timezone.now() - timedelta(days=181))

    settings.KEEP_NOTIFICATIONS_DAYS = 0
    assert notifications_expire() == 0
    settings.KEEP_NOTIFICATIONS_DAYS = 180
    assert notifications_expire() == 1
    assert not Notification.objects.filter(pk=old.pk).exists()
    assert user.notifications.count() == 1
    assert "notifications.maintain" in {entry["task"] for entry in app.conf.beat_schedule.values()}


@pytest.mark.full
def test_deleted_documents_are_found_wherever_they_are_left_and_removed(person, settings, tmp_path):
    settings.PURGE_AFTER_DAYS = 30
    cited = Document.objects.get(title="plan")
    make_document("other", make_set("more"))
    Document.objects.update(deleted=timezone.now() - timedelta(days=31), state="deleted", live_version=None)

    found = leftovers_count(days=30)
    assert (found.documents, found.cited) == (1, 1)
    assert leftovers_remove(days=30).is_clean
    assert list(Document.objects.all()) == [cited]
    settings.PURGE_CITED = True
    retention.retention_run()
    assert leftovers_remove(days=30).cited == 0
    assert not Document.objects.exists()
    assert places_of("passage of plan") == []
    assert Message.objects.get().answer == "An interface."
