"""Pages that are declared at their views: their addresses, who may open them, their line in the menu."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.test import RequestFactory
from django.urls import reverse

from accounts.admin import pages
from accounts.admin.base import TenantAdmin
from accounts.admin.pages import MenuEntry, admin_page, menu_pages, page_urls
from evaluation.models import GoldenSet
from ragsite.admin_menu import PAGES, SECTIONS, navigation, sections
from tests.admin.conftest import signed_in


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Declarations of the test are gone after it."""
    monkeypatch.setattr(pages, "_PAGES", {model: list(known) for model, known in pages._PAGES.items()})
    return pages._PAGES


def request_of(user: Any, path: str = "/admin/") -> Any:
    request = RequestFactory().get(path)
    request.user = user
    return request


def pattern(model_admin: Any, name: str) -> Any:
    return next(one for one in page_urls(model_admin) if one.name == name)


def test_a_function_is_a_page_of_its_model(declared, administrator):
    @admin_page("sum/<int:pk>/", of=GoldenSet, name="evaluation_sum")
    def view(request, pk):
        return HttpResponse(f"sum of {pk}")

    found = pattern(admin.site.get_model_admin(GoldenSet), "evaluation_sum")

    assert str(found.pattern) == "sum/<int:pk>/"
    assert found.callback(request_of(administrator), pk=3).content == b"sum of 3"
    assert view(None, pk=4).content == b"sum of 4"  # a declaration changes nothing in the view


def test_who_is_not_allowed_is_turned_away_before_the_view_runs(declared, administrator):
    @admin_page("never/", of=GoldenSet, name="evaluation_never", allowed=lambda request: False)
    def view(request):
        raise AssertionError

    with pytest.raises(PermissionDenied):
        pattern(admin.site.get_model_admin(GoldenSet), "evaluation_never").callback(request_of(administrator))


def test_somebody_who_is_no_staff_is_sent_to_sign_in(declared, administrator):
    administrator.is_staff = False

    @admin_page("open/", of=GoldenSet, name="evaluation_open")
    def view(request):
        raise AssertionError

    answer = pattern(admin.site.get_model_admin(GoldenSet), "evaluation_open").callback(request_of(administrator))

    assert answer.status_code == 302
    assert answer["Location"].startswith(reverse("admin:login"))


def test_a_method_is_a_page_of_its_class_once_for_each_declaration(administrator):
    class Above(TenantAdmin):
        @admin_page("<int:pk>/stop/", name="evaluation_stop", verb="stop")
        @admin_page("<int:pk>/start/", name="evaluation_start", verb="start")
        def act(self, request, pk, verb):
            return HttpResponse(f"above: {verb} {pk}")

    class Below(Above):
        @admin_page("<int:pk>/stop/", name="evaluation_stop", verb="stop")
        def act(self, request, pk, verb):
            return HttpResponse(f"below: {verb} {pk}")

    assert [one.name for one in page_urls(Above(GoldenSet, admin.site)) if "st" in one.name][-2:] == [
        "evaluation_stop",
        "evaluation_start",
    ]
    [found] = [one for one in page_urls(Below(GoldenSet, admin.site)) if one.name == "evaluation_stop"]
    assert found.callback(request_of(administrator), pk=5, **found.default_args).content == b"below: stop 5"
    assert "evaluation_start" not in {one.name for one in page_urls(Below(GoldenSet, admin.site))}


def test_a_page_may_declare_its_line_in_the_menu(declared, administrator, owner):
    @admin_page(
        "menu/",
        of=GoldenSet,
        name="evaluation_lab",  # an address that exists
        allowed=lambda request: request.user == administrator,
        menu=MenuEntry("tuning", "Declared", "tune"),
    )
    def view(request):
        raise AssertionError

    assert [(page.name, entry.title) for page, entry in menu_pages("tuning")] == [("evaluation_lab", "Declared")]
    assert list(menu_pages("evaluation")) == []
    titles = [entry.title for _title, entries in sections() for entry in entries]
    assert titles.count("Declared") == 1
    assert [len(SECTIONS), len(PAGES)] == [len(list(sections()))] * 2

    def shown(user: Any) -> bool:
        return any(item["title"] == "Declared" for part in navigation(request_of(user)) for item in part["items"])

    assert shown(administrator)
    assert not shown(owner)


def test_pages_of_every_app_are_collected_from_their_modules(administrator):
    """Nothing lists them: a module in the package of an app is enough."""
    assert signed_in(administrator).get(reverse("admin:evaluation_experiments")).status_code == 200
    assert signed_in(administrator).get(reverse("admin:knowledge_knowledgeset_setup")).status_code == 200
    assert signed_in(administrator).get(reverse("admin:accounts_user_setup")).status_code == 200
