"""The audit log: append-only by the database, in months, exported without formulas."""

from __future__ import annotations

import csv
import io
from datetime import UTC, date, datetime

import pytest
from django.db import IntegrityError, InternalError, connection, transaction
from django.test import Client

from accounts.audit.partitions import audit_partitions_drop, audit_partitions_make
from accounts.models import AuditEvent, Tenant
from accounts.services import audit_record
from tests.factories import make_admin, make_tenant, make_user
from tests.migrating import long_released, migrations_apply, migrations_unapply


def tables() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'accounts_auditevent'::regclass"
        )
        return {name for (name,) in cursor.fetchall()}


@pytest.mark.django_db
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_auditevent SET target = 'x'",
        "DELETE FROM accounts_auditevent",
        "TRUNCATE accounts_auditevent",
        "UPDATE {part} SET actor_name = 'x'",
        "DELETE FROM {part}",
        "TRUNCATE {part}",
    ],
)
def test_the_database_refuses_every_change(statement):
    event = audit_record(actor=make_user("mei"), action="a", target="t")
    part = f"accounts_auditevent_{event.at:%Y%m}"

    with pytest.raises((InternalError, IntegrityError), match="never changed"), transaction.atomic():
        connection.cursor().execute(statement.format(part=part))

    assert AuditEvent.objects.get().target == "t"


@pytest.mark.django_db
def test_events_outlive_the_account_with_its_name():
    user = make_user("mei")
    audit_record(actor=user, action="a", target="t")
    user.delete()

    assert AuditEvent.objects.get().actor_name == "mei"


@pytest.mark.django_db
def test_months_are_made_ahead_and_take_what_was_written_before(settings):
    event = audit_record(actor=make_user("mei"), action="a", target="late")
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('ragsite.audit_change', pg_current_xact_id()::text, true)")
        cursor.execute("UPDATE accounts_auditevent SET at = '2031-05-07T00:00:00Z'")
        cursor.execute("SELECT set_config('ragsite.audit_change', '', true)")
        cursor.execute("SELECT count(*) FROM accounts_auditevent_default")
        assert cursor.fetchone() == (1,)

    made = audit_partitions_make(today=date(2031, 5, 20))

    assert made == [f"accounts_auditevent_2031{month}" for month in ("05", "06", "07")]
    assert audit_partitions_make(today=date(2031, 5, 20)) == []
    with connection.cursor() as cursor:
        cursor.execute("SELECT target FROM accounts_auditevent_203105")
        assert cursor.fetchall() == [("late",)]
    assert AuditEvent.objects.get(pk=event.pk).at == datetime(2031, 5, 7, tzinfo=UTC)


@pytest.mark.django_db
def test_old_months_go_whole_and_it_is_recorded(settings):
    audit_partitions_make(today=date(2019, 11, 3))
    settings.AUDIT_MONTHS = 0
    assert audit_partitions_drop() == []
    settings.AUDIT_MONTHS = 12

    assert audit_partitions_drop(today=date(2020, 12, 1)) == ["accounts_auditevent_201911"]
    assert AuditEvent.objects.filter(action="audit.retention").count() == 1
    assert {"accounts_auditevent_201912", "accounts_auditevent_202001"} <= tables()


@pytest.mark.django_db
def test_the_export_has_what_the_page_shows_and_is_recorded(client):
    root, other = make_admin("root"), make_admin("other", tenant=make_tenant("elsewhere"))
    for actor, action in ((root, "set.create"), (root, "set.delete"), (other, "set.create")):
        audit_record(actor=actor, action=action, target="=HYPERLINK(1)")
    tenant_admin = Client()
    tenant_admin.force_login(other)
    client.force_login(root)

    answer = client.get("/admin/accounts/auditevent/export/?action=set.create")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig"))))
    theirs = b"".join(tenant_admin.get("/admin/accounts/auditevent/export/").streaming_content).decode()

    assert [(row["actor"], row["target"]) for row in rows] == [("other", "'=HYPERLINK(1)"), ("root", "'=HYPERLINK(1)")]
    assert "root" not in theirs
    assert AuditEvent.objects.filter(action="audit.export", actor_name="root").exists()
    employee = Client()
    employee.force_login(make_user("mei", is_staff=True))
    assert employee.get("/admin/accounts/auditevent/export/").status_code == 403


@pytest.mark.django_db
def test_rights_are_recorded_before_and_after_and_bulk_deletions_one_by_one(client):
    client.force_login(make_admin("root"))
    people = [make_user("mei", clearance=1), make_user("li")]
    data = {
        "username": "mei",
        "tenant": people[0].tenant_id,
        "clearance": 3,
        "interests": "",
    }

    assert client.post(f"/admin/accounts/user/{people[0].pk}/change/", data).status_code == 302
    roles = {"positions": ["administrator"], "creates_sets": "on"}
    assert client.post(f"/admin/accounts/user/{people[0].pk}/rights/", roles).status_code == 302
    events = AuditEvent.objects.filter(action="user.change").order_by("pk")
    assert [event.data["changes"] for event in events] == [
        {"clearance": [1, 3]},
        {"is_staff": [False, True], "is_superuser": [False, True], "can_create_sets": [False, True]},
    ]
    ids = [person.pk for person in people]
    client.post("/admin/accounts/user/", {"action": "delete_selected", "_selected_action": ids, "post": "yes"})
    assert set(AuditEvent.objects.filter(action="user.delete").values_list("target", flat=True)) == {"mei", "li"}


@long_released
@pytest.mark.django_db(transaction=True)
def test_events_of_earlier_versions_are_carried_over_with_their_names_and_back():
    user = make_user("mei")
    event = audit_record(actor=user, action="demo.load", target="t", note="kept")
    try:
        migrations_unapply("accounts", "0008")
        with connection.cursor() as cursor:
            cursor.execute("SELECT id, actor_id, data->>'note' FROM accounts_auditevent")
            assert cursor.fetchall() == [(event.pk, user.pk, "kept")]
    finally:
        migrations_apply("accounts", "0008")

    found = AuditEvent.objects.get()
    assert (found.pk, found.at, found.actor_name, found.data) == (event.pk, event.at, "mei", {"note": "kept"})
    assert Tenant.objects.get(pk=user.tenant_id).demo_loaded
    assert audit_record(actor=user, action="a", target="t").pk > event.pk
