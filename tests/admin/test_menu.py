"""The menu: a few everyday pages for each role, everything else one fold away, nothing missing."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.urls import reverse

from ragsite.admin_menu import EVERYDAY_LIMIT, sections
from tests.admin.conftest import signed_in

FROM_ANOTHER_PAGE = {"knowledge_ingestjob_changelist", "evaluation_gatedchange_changelist"}  # of a set, of a document


def menu(user, page: str = "admin:index") -> BeautifulSoup:
    soup = BeautifulSoup(signed_in(user).get(reverse(page)).content, "html.parser")
    return soup.select_one("#nav-sidebar-apps")


def links(part) -> list[str]:
    return [link["href"] for link in part.select("a")]


def everyday(user) -> list[str]:
    found = menu(user)
    advanced = set(links(found.select_one("details")))
    return [link for link in links(found) if link not in advanced]


@pytest.fixture
def reviewing_owner(owner, own_set, reviewer):
    owner.user_permissions.set(Permission.objects.filter(user=reviewer))
    return owner


@pytest.mark.parametrize(
    ("role", "first"),
    [
        ("administrator", "knowledge_knowledgeset_changelist"),
        ("owner", "knowledge_knowledgeset_changelist"),
        ("reviewer", "feedback_badcase_changelist"),
        ("reviewing_owner", "knowledge_knowledgeset_changelist"),
    ],
)
def test_a_role_reads_its_everyday_pages_at_a_glance(request, own_set, role, first):
    listed = everyday(request.getfixturevalue(role))

    assert listed[0] == reverse(f"admin:{first}")
    assert 5 <= len(listed) <= EVERYDAY_LIMIT
    assert len(listed) == len(set(listed))


def test_every_page_of_the_admin_is_in_the_menu_of_an_administrator(administrator):
    lists = {f"{model._meta.app_label}_{model._meta.model_name}_changelist" for model in admin.site._registry}
    pages = {entry.page for _title, entries in sections() for entry in entries}

    assert lists - pages == FROM_ANOTHER_PAGE
    assert sorted(links(menu(administrator))) == sorted(reverse(f"admin:{page}") for page in pages)


@pytest.mark.parametrize("role", ["owner", "reviewer"])
def test_every_page_of_a_menu_opens_for_its_role(request, own_set, role):
    user = request.getfixturevalue(role)

    assert {signed_in(user).get(link).status_code for link in links(menu(user))} == {200}


def test_the_fold_is_open_where_the_person_is_inside(administrator):
    inside = menu(administrator, "admin:knowledge_attribute_changelist").select_one("details")
    outside = menu(administrator, "admin:knowledge_document_changelist").select_one("details")

    assert "open" in inside.attrs
    assert inside.select_one("a[aria-current=page]")["href"] == reverse("admin:knowledge_attribute_changelist")
    assert "open" not in outside.attrs


def test_settings_for_every_day_come_first_and_the_others_are_folded_in_their_group(administrator):
    client = signed_in(administrator)
    client.post(reverse("admin:knowledge_knowledgeset_site"), {"retrieval.fused_limit": "90"})

    soup = BeautifulSoup(client.get(reverse("admin:knowledge_knowledgeset_site")).content, "html.parser")

    folded = {field["name"] for field in soup.select(".rs-options details [name]")}
    first = {field["name"] for field in soup.select(".rs-options [name]")} - folded
    assert len(first) < len(folded)
    assert {"answer.style", "retrieval.top_k", "retrieval.fused_limit"} <= first  # the last one: set here
    assert {"retrieval.neighbours", "answer.context_tokens"} <= folded


def test_a_fold_with_a_refused_setting_is_open(administrator):
    page = reverse("admin:knowledge_knowledgeset_site")

    soup = BeautifulSoup(signed_in(administrator).post(page, {"answer.context_tokens": "1"}).content, "html.parser")

    assert soup.select_one("[name='answer.context_tokens']").find_parent("details").has_attr("open")
    assert not soup.select_one("[name='retrieval.fused_limit']").find_parent("details").has_attr("open")
