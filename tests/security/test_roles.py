"""The matrix of roles: the page says what the code says, and the code does it, also in the administration."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.test import Client, RequestFactory
from django.urls import reverse

from accounts.models import ApiKey, AuditEvent, Tenant, User, UserGroup
from accounts.roles import Role
from accounts.services import audit_record
from evaluation.models import GoldenCase, GoldenSet
from feedback.models import BadCase
from knowledge.models import Document, KnowledgeSet, LanguageModel, SearchModel, Source
from tests.api.test_documents import bulk, line, upload
from tests.api.world import client_of, document_make, error_of, message_make
from tests.factories import ingest, make_admin, make_set, make_user

ROOT = Path(__file__).resolve().parents[2]
SETS = "/api/v1/knowledge-sets"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "roles_page.py"))


@pytest.fixture
def people(db) -> dict[Role, User]:
    """One person of each role in one tenant, and the administrator of the site."""
    tenant = Tenant.objects.create(name="plant")
    made = {
        Role.PLATFORM_ADMIN: make_admin("platform"),
        Role.TENANT_ADMIN: make_admin("tenant", tenant=tenant),
        **{
            role: make_user(role.value, tenant=tenant, is_staff=True)
            for role in (Role.OWNER, Role.EDITOR, Role.REVIEWER)
        },
        Role.EMPLOYEE: make_user("employee", tenant=tenant),
    }
    made[Role.REVIEWER].user_permissions.add(Permission.objects.get(codename="change_badcase"))
    return made


def set_of(people: dict[Role, User], **values: Any) -> KnowledgeSet:
    """A set of members in which the owner and the editor have their roles."""
    made = make_set(owners=[people[Role.OWNER]], visibility="members", **values)
    made.editors.add(people[Role.EDITOR])
    return made


def browser(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def test_the_page_of_roles_is_what_the_code_says(script):
    assert (ROOT / "docs" / "roles.md").read_text(encoding="utf-8") == script["page"]()


# ── acts ────────────────────────────────────────────────────────────────────────────────────────

CURATORS = {Role.PLATFORM_ADMIN, Role.TENANT_ADMIN, Role.OWNER, Role.EDITOR}
KEEPERS = CURATORS - {Role.EDITOR}
ADMINISTRATORS = KEEPERS - {Role.OWNER}
Act = Callable[[Any, KnowledgeSet, Document], Any]
ACTS: list[tuple[str, Act, set[Role], int]] = [  # name, request, who may, status for the others
    ("see", lambda c, s, d: c.get(f"{SETS}/{s.pk}"), set(Role), 404),
    ("open a document", lambda c, s, d: c.get(f"/api/v1/documents/{d.pk}"), CURATORS, 404),
    ("upload", lambda c, s, d: upload(c, s, content=b"words"), CURATORS, 404),
    ("delete a document", lambda c, s, d: c.delete(f"/api/v1/documents/{d.pk}"), CURATORS, 404),
    ("rename", lambda c, s, d: c.patch(f"{SETS}/{s.pk}", {"name": "Ours"}), KEEPERS, 404),
    ("open to everyone", lambda c, s, d: c.patch(f"{SETS}/{s.pk}", {"visibility": "everyone"}), KEEPERS, 404),
    ("see members", lambda c, s, d: c.get(f"{SETS}/{s.pk}/members"), KEEPERS, 404),
    ("change members", lambda c, s, d: c.put(f"{SETS}/{s.pk}/members", {"users": []}), KEEPERS, 404),
    ("make oneself owner", lambda c, s, d: c.put(f"{SETS}/{s.pk}/members", {"owners": ["owner"]}), KEEPERS, 404),
    ("compose", lambda c, s, d: c.put(f"{SETS}/{s.pk}/sources", []), KEEPERS, 404),
    ("ingest", lambda c, s, d: c.post(f"{SETS}/{s.pk}/ingest"), KEEPERS, 404),
    ("delete", lambda c, s, d: c.delete(f"{SETS}/{s.pk}"), KEEPERS, 404),
    ("make a source", lambda c, s, d: c.post("/api/v1/sources", {"name": s.code, "kind": "webhook"}), KEEPERS, 403),
    ("make a set", lambda c, s, d: c.post(SETS, {"name": "New", "code": f"new-{s.code}"}), ADMINISTRATORS, 403),
    ("make a user", lambda c, s, d: c.post("/api/v1/users", {"username": f"u-{s.code}"}), ADMINISTRATORS, 403),
]


@pytest.mark.parametrize(("name", "act", "allowed", "refusal"), ACTS, ids=[row[0] for row in ACTS])
def test_each_role_does_what_its_row_says(people, name, act, allowed, refusal):
    for role, user in people.items():
        theirs = set_of(people)
        before = (KnowledgeSet.objects.count(), Document.objects.filter(deleted=None).count(), User.objects.count())

        response = act(client_of(user), theirs, document_make(theirs))

        if role in allowed:
            assert response.status_code < 400, (role, response.content)
        else:
            assert response.status_code == refusal, (role, response.content)
            after = (KnowledgeSet.objects.count(), Document.objects.filter(deleted=None).count(), User.objects.count())
            assert after == (before[0], before[1] + 1, before[2])
            assert list(theirs.owners.all()) == [people[Role.OWNER]]


def test_an_editor_edits_nothing_that_is_also_in_a_set_of_others(people):
    mine, others = set_of(people), make_set(tenant=people[Role.OWNER].tenant)
    document = document_make(mine, others)

    assert client_of(people[Role.EDITOR]).delete(f"/api/v1/documents/{document.pk}").status_code == 404


def test_who_is_given_the_right_makes_sets_and_nobody_becomes_an_owner_otherwise(people):
    employee = people[Role.EMPLOYEE]
    assert not employee.owned_sets.exists()
    employee.can_create_sets = True
    employee.save()

    made = client_of(employee).post(SETS, {"name": "New", "code": "new"})

    assert made.status_code == 201
    assert [row.code for row in employee.owned_sets.all()] == ["new"]


# ── quotas ──────────────────────────────────────────────────────────────────────────────────────


def test_a_tenant_has_no_more_sets_documents_and_bytes_than_its_quota(people):
    tenant, client = people[Role.TENANT_ADMIN].tenant, client_of(people[Role.TENANT_ADMIN])
    theirs = set_of(people)
    Tenant.objects.filter(pk=tenant.pk).update(max_sets=2, max_documents=2, max_megabytes=1)

    sets = [client.post(SETS, {"name": "New", "code": code}) for code in ("one", "two")]
    loaded = bulk(client, "".join(line(external_id=f"x-{n}", sets=[theirs.pk]) for n in range(3))).json()
    again = upload(client, theirs, content=b"more")
    Tenant.objects.filter(pk=tenant.pk).update(max_documents=9)
    large = upload(client, theirs, content=b"x" * 2**20)

    assert [answer.status_code for answer in sets] == [201, 403]
    assert (loaded["accepted"], [row["code"] for row in loaded["rejected"]]) == (2, ["quota_exceeded"])
    assert {error_of(answer)["code"] for answer in (sets[1], again, large)} == {"quota_exceeded"}
    assert "2" in error_of(again)["message"]
    Tenant.objects.filter(pk=tenant.pk).update(max_megabytes=None)
    assert upload(client, theirs, content=b"x" * 2**20).status_code == 202


# ── the administration ──────────────────────────────────────────────────────────────────────────


def test_each_role_opens_the_pages_of_the_administration_that_the_matrix_says(people, script):
    matrix = script["admin_rights"]()
    set_of(people)

    for role, user in people.items():
        client, request = browser(user), RequestFactory().get("/admin/")
        request.user = user
        for model, model_admin in admin.site._registry.items():
            may = matrix[model._meta.label][role]
            for right, page in (("view", "changelist"), ("add", "add")):
                if right in may:
                    assert getattr(model_admin, f"has_{right}_permission")(request), (role, model, right)
                else:
                    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}")
                    assert client.get(address).status_code in (302, 403), (role, model, right)


MARK = "zzhidden"


def strangers_things() -> None:
    """One of everything in another tenant, each with a name of its own that is never to be seen elsewhere."""
    tenant = Tenant.objects.create(name=f"{MARK} tenant")
    user = make_user(f"{MARK}user", tenant=tenant)
    made = make_set(f"{MARK}-set", owners=[user], tenant=tenant)
    LanguageModel.objects.create(name=f"{MARK}-model")
    SearchModel.objects.create(name=f"{MARK}-search-model", vectors=f"{MARK}-search-model")
    Source.objects.create(tenant=tenant, name=f"{MARK} source").set_sources.create(knowledge_set=made)
    document_make(made, title=f"{MARK} document")
    UserGroup.objects.create(tenant=tenant, name=f"{MARK} group")
    ApiKey.objects.create(user=user, name=f"{MARK} key", prefix="rs_", digest="d")
    audit_record(actor=user, action="set.create", target=f"{MARK} target")
    BadCase.objects.create(message=message_make(user, question=f"{MARK} question"), assignee=user)
    golden = GoldenSet.objects.create(tenant=tenant, name=f"{MARK} golden set")
    GoldenCase.objects.create(golden_set=golden, question=f"{MARK} case")


def test_no_name_of_another_tenant_is_in_a_list_filter_form_or_completion(people):
    set_of(people)
    strangers_things()
    client = browser(people[Role.TENANT_ADMIN])
    completed = [(KnowledgeSet, name) for name in ("owners", "editors", "members", "member_groups")]

    pages = [
        reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}")
        for model in admin.site._registry
        for page in ("changelist", "add")
    ]
    for model, field in [*completed, (User, "service_owner")]:
        query = f"app_label={model._meta.app_label}&model_name={model._meta.model_name}&field_name={field}"
        pages.append(f"{reverse('admin:autocomplete')}?{query}&term={MARK}")
    answers = {address: client.get(address) for address in [*pages, reverse("admin:index")]}

    assert [
        address for address, answer in answers.items() if MARK in answer.content.decode().replace("term=", "")
    ] == []
    assert sum(answer.status_code == 200 for answer in answers.values()) > 25
    assert MARK in browser(people[Role.PLATFORM_ADMIN]).get(reverse("admin:accounts_user_changelist")).content.decode()


def test_objects_of_another_tenant_open_on_no_page_and_no_history(people):
    strangers_things()
    client = browser(people[Role.TENANT_ADMIN])

    for model, model_admin in admin.site._registry.items():
        row = model._default_manager.filter(**hidden_of(model_admin)).first()
        for page in ("change", "history", "delete"):
            if row is not None:
                name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}"
                answer = client.get(reverse(name, args=[row.pk]))
                assert answer.status_code in (302, 403, 404), (model, page)
                assert MARK not in answer.content.decode(), (model, page)


def test_what_was_done_to_a_row_in_the_admin_is_shown_to_administrators_only(people):
    owner = people[Role.OWNER]
    made = ingest(owner, make_set("shelf", owners=[owner], tenant=owner.tenant), page="The mast is high.")["page"]
    kind = ContentType.objects.get_for_model(Document)
    LogEntry.objects.create(
        user=owner, content_type=kind, object_id=str(made.pk), object_repr="x", action_flag=2, change_message=MARK
    )
    address = reverse("admin:knowledge_document_history", args=[made.pk])

    assert browser(owner).get(reverse("admin:knowledge_document_change", args=[made.pk])).status_code == 200
    assert browser(owner).get(address).status_code == 403
    assert MARK in browser(people[Role.TENANT_ADMIN]).get(address).content.decode()


def hidden_of(model_admin: Any) -> dict[str, Any]:
    if model_admin.model in (LanguageModel, SearchModel):
        return {}  # of the whole site
    tenant = Tenant.objects.get(name=f"{MARK} tenant")
    return {model_admin.tenant_path: tenant.pk}


@pytest.mark.parametrize(
    ("page", "lookup"),
    [
        ("chat_message", "answer__icontains"),
        ("chat_message", "conversation__user__password__startswith"),
        ("feedback_badcase", "message__answer__icontains"),
        ("feedback_badcase", "assignee__password__startswith"),
        ("accounts_user", "password__startswith"),
        ("accounts_apikey", "digest__startswith"),
        ("accounts_apikey", "revoked__year__gte__lte__regex"),
        ("accounts_auditevent", "data__icontains"),
    ],
)
def test_a_list_cannot_be_narrowed_by_what_it_does_not_show(people, page, lookup):
    address = reverse(f"admin:{page}_changelist")

    for role in (Role.TENANT_ADMIN, Role.REVIEWER):
        answer = browser(people[role]).get(address, {lookup: "a"})
        assert answer.status_code in (400, 403), role


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("chat_message", "created__gte=2026-01-01&status__exact=answered"),
        ("accounts_user", "is_staff__exact=1&clearance__exact=2"),
        ("accounts_apikey", "revoked__isempty=1"),
        ("accounts_auditevent", "at_from=2026-01-01&action=set.create"),
        ("feedback_badcase", "case=mine"),
        ("knowledge_document", "hands=all&clearance__exact=0"),
    ],
)
def test_the_filters_of_a_list_work(people, page, query):
    answer = browser(people[Role.TENANT_ADMIN]).get(f"{reverse(f'admin:{page}_changelist')}?{query}")

    assert answer.status_code == 200


def test_a_service_account_gets_no_password_by_the_administration(people):
    robot = make_user("robot", tenant=people[Role.OWNER].tenant)
    client = browser(people[Role.TENANT_ADMIN])
    address = reverse("admin:accounts_user_change", args=[robot.pk])
    form = {"username": "robot", "tenant": robot.tenant_id, "clearance": 0, "is_active": "on", "interests": ""}

    client.post(address, {**form, "service_owner": people[Role.OWNER].pk})

    robot.refresh_from_db()
    assert (robot.is_service, robot.service_owner, robot.has_usable_password()) == (True, people[Role.OWNER], False)
    password = reverse("admin:auth_user_password_change", args=[robot.pk])
    assert client.get(password).status_code == 403
    assert AuditEvent.objects.filter(action="user.change", target="robot").exists()
