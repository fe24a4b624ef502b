"""Pages of the admin beside Django's lists and forms: declared where their view is, collected by the admin of a model.

    @admin_page("lab/", of=GoldenCase, name="evaluation_lab", allowed=judges_quality)
    def lab_view(request: HttpRequest) -> HttpResponseBase: ...

The address stands below the list of the model. A page of the class itself is a method, declared without `of`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import Model
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

Permission = Callable[[HttpRequest], bool]
View = Callable[..., HttpResponseBase]
ViewT = TypeVar("ViewT", bound=View)
DECLARED = "admin_pages"  # the attribute of a method that holds its pages

_PAGES: dict[type[Model], list[AdminPage]] = defaultdict(list)


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A line of the menu. `section`: one of `ragsite.admin_menu.SECTIONS`; `icon`: a name of Material Symbols."""

    section: str
    title: Any
    icon: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminPage:
    """An address and its view. `arguments`: given to the view beside those of the route."""

    route: str
    name: str
    view: View
    allowed: Permission | None
    menu: MenuEntry | None
    arguments: Mapping[str, Any]

    def may_open(self, request: HttpRequest) -> bool:
        """Whether the person may open it."""
        return self.allowed is None or self.allowed(request)

    def pattern(self, *, view: View, site: admin.AdminSite) -> URLPattern:
        """The address with its view, which staff open; 403 for whom `allowed` turns away."""

        @wraps(view)
        def opened(request: HttpRequest, **arguments: Any) -> HttpResponseBase:
            if not self.may_open(request):
                raise PermissionDenied
            return view(request, **arguments)

        wrapped: Any = site.admin_view(opened)  # type: ignore[type-var]
        return path(self.route, wrapped, dict(self.arguments), name=self.name)


def admin_page(
    route: str,
    *,
    name: str,
    of: type[Model] | None = None,
    allowed: Permission | None = None,
    menu: MenuEntry | None = None,
    **arguments: Any,
) -> Callable[[ViewT], ViewT]:
    """Declares a view as a page of the admin. `allowed`: who may open it; without it all staff reach the view.

    `of`: the model below whose list the address stands; left out for methods of its admin class, which have no `menu`.
    """

    def declared(view: ViewT) -> ViewT:
        page = AdminPage(route=route, name=name, view=view, allowed=allowed, menu=menu, arguments=arguments)
        if of is not None:
            _PAGES[of].append(page)
        else:
            setattr(view, DECLARED, (page, *getattr(view, DECLARED, ())))
        return view

    return declared


def page_urls(model_admin: admin.ModelAdmin[Any]) -> list[URLPattern]:
    """The addresses of the pages that are declared for a model and in its admin class."""
    site = model_admin.admin_site
    functions = [page.pattern(view=page.view, site=site) for page in _PAGES.get(model_admin.model, ())]
    methods = [page.pattern(view=method, site=site) for page, method in _method_pages(model_admin)]
    return functions + methods


def _method_pages(model_admin: admin.ModelAdmin[Any]) -> Iterator[tuple[AdminPage, View]]:
    names = dict.fromkeys(name for part in reversed(type(model_admin).__mro__) for name in vars(part))
    for name in names:
        for page in getattr(getattr(type(model_admin), name, None), DECLARED, ()):
            yield page, getattr(model_admin, name)


def menu_pages(section: str) -> Iterator[tuple[AdminPage, MenuEntry]]:
    """Pages that declare an entry in this section of the menu, in the order of their addresses."""
    declared = [page for pages in _PAGES.values() for page in pages]
    for page in sorted(declared, key=lambda page: page.name):
        if page.menu is not None and page.menu.section == section:
            yield page, page.menu


def page_response(
    request: HttpRequest, template: str, content: Mapping[str, Any], *, status: int = 200
) -> TemplateResponse:
    """A page in the frame of the admin; `content` are the variables of the template, `title` among them."""
    return TemplateResponse(request, template, {**admin.site.each_context(request), **content}, status=status)


def import_pages(package: str) -> None:
    """Import every module of a package, so that what they declare is known."""
    for module in iter_modules(import_module(package).__path__, f"{package}."):
        import_module(module.name)
