"""What a person made work ends with their account, whichever way it is deactivated."""

from __future__ import annotations

import ast
import io
import itertools
import re
import time
from datetime import timedelta
from typing import Any

import pytest
from bs4 import BeautifulSoup
from django.apps import apps
from django.contrib import admin
from django.contrib.admin import ModelAdmin
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from accounts.access_events import Access
from accounts.models import ApiKey, AuditEvent, User, UserGroup
from accounts.people.leaving import STAYS, endings, person_leave, remaining
from accounts.people.records import PersonRecord
from accounts.people.services import people_import, person_deactivate
from accounts.scim.people import Directory, person_patch, person_remove
from accounts.scim.resources import person_id
from accounts.selectors import scope_for
from accounts.services import api_key_create
from accounts.sign_in.models import BrowserSession
from accounts.sign_in.sessions import OVER, access_end
from chat.conversations.sharing import link_create
from chat.models import Conversation, Message, SharedLink
from evaluation.models import EvaluationRun, GoldenSet
from evaluation.queue import RUN_EVALUATION
from knowledge.models import AccessRequest, KnowledgeSet, Source
from knowledge.services.sources import sources_start_due
from knowledge.services.sources.credentials import credentials_encrypt
from tests.api.test_webhooks import send
from tests.factories import make_admin, make_set, make_tenant, make_user
from tests.house.sources import modules
from tests.security.oracle.forms import form_of
from work.services import work_start

SECRET = "a secret of enough length"
REMOVED = {"owners_removed", "editors_removed", "members_removed"}
HOOKS = ("feed", "feed at rest", "feed of the robot")
AGES = itertools.count()  # in seconds, so that no two signed requests are the same

# ── the list is complete ────────────────────────────────────────────────────────────────────────


def relations() -> set[str]:
    """Every column of the database that leads to a person or a key."""
    found = set()
    for model in apps.get_models(include_auto_created=True):
        for field in model._meta.get_fields():
            if getattr(field, "concrete", False) and field.related_model in (User, ApiKey):
                found.add(f"{model._meta.label}.{field.name}")
    return found


def test_each_relation_to_a_person_says_whether_it_ends_with_them():
    ended = [relation for one in endings() for relation in one.relations]

    assert relations() - {*ended, *STAYS} == set(), "say in the endings of its app what becomes of it"
    assert {*ended, *STAYS} - relations() == set(), "no longer there"
    assert len(ended) == len(set(ended))
    assert not set(ended) & STAYS.keys()
    assert all(len(reason) > 10 for reason in STAYS.values())


# ── what ends ───────────────────────────────────────────────────────────────────────────────────


class World:
    """A person with one of everything that works without them."""


@pytest.fixture
def world(db: None) -> Any:
    made = World()
    made.root, made.heir = make_admin("root"), make_user("heir")
    made.eve = make_user("eve")
    home = make_set("home", owners=[made.eve])
    closed = make_set("closed", owners=[made.root], visibility=KnowledgeSet.Visibility.MEMBERS)
    robot = {"is_service": True, "service_owner": made.eve, "password": "!"}
    made.robot = User.objects.create(username="robot", tenant=made.eve.tenant, **robot)
    made.keys = {one.username: api_key_create(user=one, name="k")[1] for one in (made.eve, made.robot)}
    made.browser = Client()
    made.browser.force_login(made.eve)
    made.source = source_of(made.eve, "nightly", kind="folder", schedule="daily", next_run=timezone.now())
    hook = {"kind": "webhook", "credentials": credentials_encrypt({"secret": SECRET})}
    source_of(made.eve, "feed", **hook)
    source_of(made.eve, "feed at rest", enabled=False, **hook)
    source_of(made.robot, "feed of the robot", **hook)
    made.request = AccessRequest.objects.create(knowledge_set=closed, user=made.eve)
    talk = Conversation.objects.create(tenant=made.eve.tenant, user=made.eve, channel="web", title="t")
    message = Message.objects.create(conversation=talk, question="What?", answer="That.", state="done")
    made.link = link_create(scope=scope_for(made.eve), message_id=message.pk, is_whole=False, days=7)
    golden = GoldenSet.objects.create(tenant=made.eve.tenant, name="golden")
    made.run = EvaluationRun.objects.create(golden_set=golden, requested_by=made.eve, state="running")
    job = {"kind": RUN_EVALUATION, "subject": f"evaluation_run:{made.run.pk}", "arguments": {"run_id": made.run.pk}}
    work_start(**job, tenant_id=golden.tenant_id, author=made.eve)
    made.home = home
    return made


def source_of(owner: User, name: str, **values: Any) -> Source:
    return Source.objects.create(tenant=owner.tenant, owner=owner, name=name, **values)


def status_of_webhook(name: str, *, secret: str = SECRET) -> int:
    """What a system hears that still knows the secret; the event changes nothing."""
    event = {"event": "delete", "external_id": "x"}
    return send(name, event, secret=secret, at=time.time() - next(AGES)).status_code


def status_of(key: str) -> int:
    return APIClient(headers={"Authorization": f"Bearer {key}"}).get("/api/v1/documents").status_code


def through_a_list(world: Any) -> None:
    records = [PersonRecord(username="eve", active=False)]
    people_import(records, tenant=world.eve.tenant, actor=world.root, dry_run=False, deactivate=False)


def through_a_list_without_them(world: Any) -> None:
    records = [PersonRecord(username=name) for name in ("root", "heir", "robot")]
    people_import(records, tenant=world.eve.tenant, actor=world.root, dry_run=False, deactivate=True)


def through_the_page(world: Any) -> None:
    client = Client()
    client.force_login(world.root)
    address = f"/admin/accounts/user/{world.eve.pk}/leave/"
    assert client.post(address, {"act": "deactivate"}).status_code == 302


def of_both(world: Any) -> list[User]:
    """An owner of service accounts is erased and deleted only after these."""
    return [world.robot, world.eve]


def through_erasure(world: Any) -> None:
    for user in of_both(world):
        on_the_list(world, "erase_person", user, confirmed="yes")


def through_the_command(world: Any) -> None:
    for user in of_both(world):
        call_command("person", "erase", user.username, actor="root", yes=True, stdout=io.StringIO())


def without_own_rows(world: Any) -> None:
    """Whoever has keys or conversations cannot be deleted, only erased; the others leave sources behind."""
    client = Client()
    client.force_login(world.root)
    assert client.post(f"/admin/accounts/user/{world.robot.pk}/delete/", {"post": "yes"}).status_code == 403
    Conversation.objects.filter(user=world.eve).delete()
    ApiKey.objects.all().delete()


def through_deletion(world: Any) -> None:
    without_own_rows(world)
    client = Client()
    client.force_login(world.root)
    for user in of_both(world):
        assert client.post(f"/admin/accounts/user/{user.pk}/delete/", {"post": "yes"}).status_code == 302


def through_deletion_of_several(world: Any) -> None:
    without_own_rows(world)
    for user in of_both(world):
        on_the_list(world, "delete_selected", user, post="yes")


def on_the_list(world: Any, action: str, user: User, **form: str) -> None:
    client = Client()
    client.force_login(world.root)
    chosen = {"action": action, "_selected_action": [user.pk], **form}
    assert client.post("/admin/accounts/user/", chosen).status_code == 302
    assert not User.objects.filter(pk=user.pk).exists()


def directory_of_root(world: Any) -> Directory:
    return Directory(tenant=world.eve.tenant, actor=world.root)


def through_a_directory(world: Any) -> None:
    person_remove(directory=directory_of_root(world), scim_id=person_id(world.eve), precondition=lambda _row: None)


def through_a_directory_that_deactivates(world: Any) -> None:
    body = {
        "schemas": ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        "Operations": [{"op": "replace", "path": "active", "value": False}],
    }
    who = {"directory": directory_of_root(world), "scim_id": person_id(world.eve)}
    person_patch(**who, body=body, precondition=lambda _row: None)


WAYS = {
    "service": lambda world: person_deactivate(user=world.eve, actor=world.root),
    "list": through_a_list,
    "missing in list": through_a_list_without_them,
    "directory": through_a_directory,
    "directory deactivates": through_a_directory_that_deactivates,
    "page": through_the_page,
    "erase": through_erasure,
    "command": through_the_command,
    "delete": through_deletion,
    "delete selected": through_deletion_of_several,
}
DOORS = {  # each function of the product that ends a person, and the ways that lead through it
    "accounts/people/services.py:person_deactivate": {"service", "page", "missing in list"},
    "accounts/people/services.py:_record": {"list"},  # files, directories and claims
    "accounts/people/services.py:_deactivate_others": {"missing in list"},
    "accounts/people/endings.py:_end_service_accounts": {"service", "list", "missing in list", "page"},
    "accounts/people/leaving.py:person_delete": {"delete", "delete selected"},
    "accounts/scim/people.py:person_remove": {"directory"},
    "accounts/scim/people.py:_set_active": {"directory deactivates"},
    "accounts/privacy/erase.py:person_erase": {"erase", "command"},
    "accounts/management/commands/person.py:handle": {"command"},
    "accounts/admin/leaving.py:leaving_view": {"page"},
    "accounts/admin/privacy.py:erase_person": {"erase"},
    "accounts/admin/access.py:delete_model": {"delete", "delete selected"},
}
ENDS = {"person_leave", "person_deactivate", "person_erase", "person_delete"}
MAY_WRITE = {  # the only ones that touch the row itself
    "accounts/people/leaving.py:person_leave",
    "accounts/people/leaving.py:person_delete",
    "accounts/privacy/erase.py:person_erase",
    "accounts/people/services.py:person_upsert",  # then `_record`
    "accounts/scim/people.py:_set_active",  # of those who come back
}


WORDS = re.compile("is_active =|is_active=|" + "|".join(ENDS) + r"|\bUser\b[\s\S]*\.(?:delete|_raw_delete)\(")


def is_of_people(node: ast.expr, names: set[str]) -> bool:
    """Whether an expression is a person or rows of people: `user`, `User.objects…`."""
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return isinstance(node, ast.Name) and node.id in {"User", *names}


def ends_a_row(call: ast.Call, names: set[str]) -> bool:
    """Whether people are deleted or their `is_active` is written: by a method of rows, or as an attribute."""
    if not isinstance(call.func, ast.Attribute):
        return False
    written = {word.arg for word in call.keywords}
    is_write = call.func.attr in {"delete", "_raw_delete"} or (call.func.attr == "update" and "is_active" in written)
    chain = ast.unparse(call.func.value)
    others = any(f".{name}" in chain for name in ("sessions", "api_keys", "identities", "service_accounts"))
    return is_write and not others and is_of_people(call.func.value, names)


def test_the_list_of_doors_is_complete():
    callers, writers = set(), set()
    for module in modules():
        if not WORDS.search(module.text):
            continue
        for function in module.functions():
            place = f"{module}:{function.name}"
            arguments = [*function.args.args, *function.args.kwonlyargs]
            of_people = {
                a.arg for a in arguments if a.annotation and "User" in re.findall(r"\w+", ast.unparse(a.annotation))
            }
            for node in ast.walk(function):
                if (
                    isinstance(node, ast.For)
                    and is_of_people(node.iter, of_people)
                    and isinstance(node.target, ast.Name)
                ):
                    of_people.add(node.target.id)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ENDS:
                    callers.add(place)
                if isinstance(node, ast.Call) and ends_a_row(node, of_people):
                    writers.add(place)
                if isinstance(node, ast.Assign) and any(
                    isinstance(t, ast.Attribute) and t.attr == "is_active" for t in node.targets
                ):
                    writers.add(place)

    assert callers == DOORS.keys(), "each door has a way in WAYS that a test goes"
    assert set().union(*DOORS.values()) == WAYS.keys()
    assert writers == MAY_WRITE
    page = admin.site._registry[User]
    assert {type(page).delete_model, type(page).delete_queryset} & {
        ModelAdmin.delete_model,
        ModelAdmin.delete_queryset,
    } == set()


@pytest.mark.every_row
@pytest.mark.parametrize("way", WAYS)
def test_nothing_of_a_leaver_goes_on_and_coming_back_brings_nothing_back(world, way):
    assert {status_of(key) for key in world.keys.values()} == {200}
    assert world.browser.get("/conversations").status_code == 200
    assert [status_of_webhook(name) for name in HOOKS] == [202, 401, 202]

    WAYS[way](world)

    def is_over() -> None:
        assert {name: status_of(key) for name, key in world.keys.items()} == {"eve": 401, "robot": 401}
        assert not BrowserSession.objects.filter(user=world.eve).exists()
        assert not any(link.is_open for link in SharedLink.objects.all())
        assert not Source.objects.filter(enabled=True).exists()
        assert set(Source.objects.values_list("schedule", "credentials")) == {("manual", "")}
        assert [status_of_webhook(name) for name in HOOKS] == [401, 401, 401]
        assert sources_start_due() == []
        assert not AccessRequest.objects.filter(state="open").exists()
        assert EvaluationRun.objects.get(pk=world.run.pk).state == "cancelled"
        assert world.browser.get("/conversations").status_code == 302
        assert not User.objects.filter(username="robot", is_active=True).exists()
        for key in ApiKey.objects.all():
            assert access_end(Access(user_id=key.user_id, key=key.pk)) == OVER

    is_over()
    records = [PersonRecord(username="eve", active=True)]
    people_import(records, tenant=world.eve.tenant, actor=world.root, dry_run=False, deactivate=False)
    assert User.objects.get(username="eve").is_active
    is_over()


def test_nothing_of_the_old_tenant_goes_on_for_somebody_who_is_moved_to_another(world):
    other = make_tenant("other")
    world.home.editors.add(world.eve)
    world.home.members.add(world.eve)
    world.home.owners.add(world.heir)
    world.eve.user_groups.add(UserGroup.objects.create(tenant=world.eve.tenant, name="crew"))
    page = Client()
    page.force_login(world.root)
    address = f"/admin/accounts/user/{world.eve.pk}/change/"

    said = page.post(address, {**form_of(page.get(address).content.decode()), "tenant": other.pk})

    eve = User.objects.get(pk=world.eve.pk)
    assert (said.status_code, eve.tenant, eve.is_active) == (302, other, True)
    assert {name: status_of(key) for name, key in world.keys.items()} == {"eve": 401, "robot": 401}
    assert [status_of_webhook(name) for name in HOOKS] == [401, 401, 401]
    assert not Source.objects.filter(enabled=True).exists()
    assert world.browser.get("/conversations").status_code == 302
    assert not User.objects.filter(username="robot", is_active=True).exists()
    assert AuditEvent.objects.get(action="user.move", target="eve").data["ended"]["keys"] == 1
    assert [list(people.all()) for people in (world.home.owners, world.home.editors, world.home.members)] == [
        [world.heir],
        [],
        [],
    ]
    assert not eve.user_groups.exists()
    removed = [event.data for event in AuditEvent.objects.filter(action="set.members", target="home")]
    assert {role for data in removed for role in data if data[role] == "eve"} == REMOVED


def test_no_key_is_made_for_a_service_account_of_another_tenant(world):
    User.objects.filter(pk=world.eve.pk).update(tenant=make_tenant("other"))  # by a program that knows none of this
    client = Client()
    client.force_login(User.objects.get(pk=world.eve.pk))

    said = client.post("/api/v1/api-keys", {"username": "robot", "name": "k"}, content_type="application/json")

    assert said.status_code == 404


def test_the_log_says_what_ended_and_a_second_time_ends_nothing(world):
    ended = person_leave(user=world.eve, actor=world.root)

    event = AuditEvent.objects.get(action="user.deactivate", target="eve")
    counts = {"service_accounts": 1, "keys": 1, "sessions": 1, "links": 1, "sources": 3, "access_requests": 1}
    assert event.data["ended"] == ended == {**counts, "sets": 1, "background_work": 1}
    assert AuditEvent.objects.filter(action="api_key.revoke").count() == 2
    assert set(person_leave(user=world.eve, actor=world.root)) == {"sets"}  # which stay


def test_a_key_of_a_service_account_is_nobodys_where_its_owner_is_inactive(world):
    key = ApiKey.objects.get(user=world.robot)

    User.objects.filter(pk=world.eve.pk).update(is_active=False)  # by a program that knows none of this

    assert status_of(world.keys["robot"]) == 401
    assert access_end(Access(user_id=world.robot.pk, key=key.pk)) == OVER


def test_what_has_ended_already_is_not_told(world):
    ApiKey.objects.update(revoked=timezone.now())
    SharedLink.objects.update(expires=timezone.now() - timedelta(seconds=1))

    told = {one.ending.code for one in remaining(world.eve)}

    assert not told & {"keys", "links"}
    assert "service_accounts" in told


# ── the page of the administrator ───────────────────────────────────────────────────────────────


@pytest.fixture
def root_page(world):
    client = Client()
    client.force_login(world.root)

    def at(path: str = "leave", **form: Any) -> BeautifulSoup:
        address = f"/admin/accounts/user/{world.eve.pk}/{path}/"
        answer = client.post(address, form, follow=True) if form else client.get(address)
        assert answer.status_code == 200
        return BeautifulSoup(answer.content, "html.parser")

    return at


def test_the_page_says_what_ends_before_it_does(world, root_page):
    text = root_page().get_text(" ", strip=True)

    assert "Service accounts, with their keys: robot" in text
    assert "Sources, with their schedule and secrets: feed, feed at rest, nightly" in text
    assert "Shared links: 1" in text
    assert User.objects.get(pk=world.eve.pk).is_active
    person = root_page("change")
    assert person.select_one(f"a[href$='/user/{world.eve.pk}/leave/']")
    assert not person.select("input[name=is_active]")  # no box that ends all this without a word


WHAT = ["service_accounts", "sources", "sets"]


def test_what_is_handed_over_goes_on(world, root_page):
    what = WHAT
    root_page(act="deactivate", what=what, to="heir")

    assert not User.objects.get(pk=world.eve.pk).is_active
    assert status_of(world.keys["robot"]) == 200
    assert status_of(world.keys["eve"]) == 401
    world.source.refresh_from_db()
    assert (world.source.owner, world.source.enabled, world.source.schedule) == (world.heir, True, "daily")
    assert world.heir in world.home.owners.all()
    event = AuditEvent.objects.get(action="user.hand_over")
    assert (event.data["to"], event.data["given"]) == ("heir", {**dict.fromkeys(what, 1), "sources": 3})


def test_keys_and_secrets_of_what_is_handed_over_are_replaced_unless_that_is_unticked(world, root_page):
    assert root_page().select_one("input[name=replaces_secrets]").has_attr("checked")

    page = root_page(act="deactivate", what=WHAT, to="heir", replaces_secrets="on")

    secrets = {one.get_text(): one.find_next("code").get_text() for one in page.select(".rs-secrets dt")}
    assert secrets.keys() == set(HOOKS)
    assert {status_of(key) for key in world.keys.values()} == {401}
    assert [status_of_webhook(name) for name in HOOKS] == [401, 401, 401]
    assert [status_of_webhook(name, secret=secrets[name]) for name in HOOKS] == [202, 401, 202]  # one is at rest
    assert User.objects.get(username="robot").service_owner == world.heir
    assert AuditEvent.objects.filter(action="source.credentials").count() == 3
    assert AuditEvent.objects.filter(action="api_key.revoke").count() == 2
    again = root_page()
    assert not again.select(".rs-secrets")
    assert not any(secret in str(again) for secret in secrets.values())


def test_secrets_of_what_is_not_handed_over_are_not_replaced(world, root_page):
    page = root_page(act="hand_over", what=["sets"], to="heir", replaces_secrets="on")

    assert not page.select(".rs-secrets")
    assert {status_of(key) for key in world.keys.values()} == {200}
    assert [status_of_webhook(name) for name in HOOKS] == [202, 401, 202]


@pytest.mark.parametrize("name", ["", "eve", "robot", "nobody"])
def test_only_an_active_person_takes_something_over(world, root_page, name):
    page = root_page(act="deactivate", what=["service_accounts"], to=name)

    assert "Choose another person of the same tenant." in page.get_text()
    assert User.objects.get(pk=world.eve.pk).is_active
    world.robot.refresh_from_db()
    assert world.robot.service_owner == world.eve


def test_nobody_deactivates_themselves_and_only_administrators_anybody(world):
    client = Client()
    client.force_login(world.root)
    client.post(f"/admin/accounts/user/{world.root.pk}/leave/", {"act": "deactivate"})
    assert User.objects.get(pk=world.root.pk).is_active

    client.force_login(world.heir)
    assert client.post(f"/admin/accounts/user/{world.eve.pk}/leave/", {"act": "deactivate"}).status_code in (302, 403)
    assert User.objects.get(pk=world.eve.pk).is_active
