"""Write docs/roles.md from the code that enforces rights: `python scripts/roles_page.py`.

Acts are those that selectors and services ask (accounts/roles.py, knowledge/rights.py); pages of the administration are
asked for their permissions with a made-up person of each role; scopes are read from the routes.
tests/security/test_roles.py compares the page with the code, and the code with what real requests are answered.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
PAGE = ROOT / "docs" / "roles.md"
RIGHTS = ("view", "add", "change", "delete")
HEAD = """\
# Roles and rights

For administrators and security reviewers. This page is generated from the code that enforces it by
`python scripts/roles_page.py`. In a table, ✓ means yes and – no.

A role follows from the fields of a person and from the people of a knowledge set. Owners and editors have rights in
their own objects, all but platform administrators in their own tenant. Reading depends on clearance and visibility,
for administrators, too. What one may not see or change is answered with 404, a missing right or scope with 403.
"""

ADMIN_NOTE = """\
Every act on a page also asks the rights in the object. Lists show only rows that the person may list. Editors, owners
and reviewers need the staff flag.
"""
SCOPES_NOTE = """\
A key may do what its user may do, within its scopes. Browsers have no scopes. A route that declares none is closed to
keys. All addresses below `/scim/v2` need `directory`, and a key of an administrator or of a service account that one
owns.
"""


def page() -> str:
    """The whole page as Markdown. Needs Django, no database."""
    from accounts.roles import HELD_BY, Role

    roles = _table(["Role", "Who"], ([role.label, HELD_BY[role]] for role in Role))
    parts = [HEAD, roles, "## Acts\n", _acts(), "## Pages of the administration\n", ADMIN_NOTE, _admin_pages()]
    return "\n".join([*parts, "## Scopes of API keys\n", SCOPES_NOTE, _scopes(), "### Routes\n", _routes()])


def admin_rights() -> dict[str, dict[Any, set[str]]]:
    """Page of the administration → role → what it may do there, as the page's own permission methods say."""
    from django.contrib import admin

    from accounts.roles import Role

    return {
        model._meta.label: {role: set(_allowed(model_admin, _request(role))) for role in Role}
        for model, model_admin in sorted(admin.site._registry.items(), key=lambda item: item[0]._meta.label)
    }


def _allowed(model_admin: Any, request: Any) -> Iterator[str]:
    from django.contrib import admin

    if not admin.site.has_permission(request):
        return
    for right in RIGHTS:
        has: Callable[..., bool] = getattr(model_admin, f"has_{right}_permission")
        if model_admin.has_module_permission(request) and has(request):
            yield right


def _request(role: Any) -> Any:
    """A request of a person of this role to a page; what would be looked up is there already."""
    from django.http import HttpRequest

    from accounts.models import Tenant, User
    from accounts.roles import ADMINISTRATORS, REVIEW_PERMISSION, Role
    from accounts.scope import Scope

    is_admin = role in ADMINISTRATORS
    tenant = Tenant(pk=1, is_default=role == Role.PLATFORM_ADMIN)
    user: Any = User(pk=1, tenant=tenant, is_staff=role != Role.EMPLOYEE, is_superuser=is_admin)
    user._perm_cache = {REVIEW_PERMISSION} if role == Role.REVIEWER else set()
    kind = {Role.PLATFORM_ADMIN: "everything", Role.TENANT_ADMIN: "tenant"}.get(role, "nothing")
    request: Any = HttpRequest()
    request.user, request.path = user, "/admin/"
    request._admin_scope = Scope(tenant_id=1, user_id=1, clearance=0, administers=kind)  # type: ignore[arg-type]
    request._curates_sets, request._keeps_sets = role in (Role.OWNER, Role.EDITOR), role == Role.OWNER
    return request


def _acts() -> str:
    from accounts.roles import ACTS, Role
    from knowledge import rights  # declares its acts

    assert rights.SET_LIST.code in ACTS
    rows = (
        [act.on, act.says, *(_mark(role in act.roles) for role in Role), act.besides]
        for act in sorted(ACTS.values(), key=lambda act: act.on)
    )
    return _table(["On", "Act", *(role.label for role in Role), "Besides"], rows)


def _admin_pages() -> str:
    from accounts.roles import Role

    rows = (
        [f"`{label}`", *(", ".join(right for right in RIGHTS if right in may[role]) or "–" for role in Role)]
        for label, may in admin_rights().items()
    )
    return _table(["Page", *(role.label for role in Role)], rows)


def _scopes() -> str:
    from accounts.key_scopes import SCOPE_HELP, KeyScope

    return _table(["Scope", "For"], ([f"`{scope}`", SCOPE_HELP[scope]] for scope in KeyScope))


def _routes() -> str:
    from ragsite.route_scopes import route_scopes, tool_scopes

    rows = [[f"`{route.method} {route.path}`", f"`{route.scope}`"] for route in route_scopes()]
    rows += [[f"MCP tool `{name}`", f"`{scope}`"] for name, scope in tool_scopes().items()]
    return _table(["Route", "Scope"], rows)


def _mark(is_so: bool) -> str:
    return "✓" if is_so else "–"


def _table(head: list[Any], rows: Iterable[list[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    import django
    from django.utils import translation

    django.setup()
    with translation.override("en"):
        PAGE.write_text(page(), encoding="utf-8")
