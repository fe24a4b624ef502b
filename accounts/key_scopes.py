"""What an API key may be used for. Every route of the API declares the scope that it needs."""

from __future__ import annotations

from typing import Any, Final

from django.db import models
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


class KeyScope(models.TextChoices):
    """A key never gives more than its user may do; its scopes say how much of that."""

    ASK = "ask", pgettext_lazy("scope", "Ask")
    READ = "read", pgettext_lazy("scope", "Read")
    WRITE = "write", pgettext_lazy("scope", "Write")
    MANAGE = "manage", pgettext_lazy("scope", "Manage")
    KEYS = "keys", pgettext_lazy("scope", "Create keys")
    DIRECTORY = "directory", pgettext_lazy("scope", "Directory")


SCOPE_HELP: Final[dict[KeyScope, Any]] = {
    KeyScope.ASK: _("search, answers, feedback"),
    KeyScope.READ: _("knowledge sets, documents, jobs, notifications"),
    KeyScope.WRITE: _("add, change and delete documents; request access"),
    KeyScope.MANAGE: _("knowledge sets, members, sources, people"),
    KeyScope.KEYS: _("create API keys"),
    KeyScope.DIRECTORY: _("add, change and deactivate people and user groups by SCIM"),
}
OF_ADMINISTRATORS: Final = frozenset({KeyScope.KEYS, KeyScope.DIRECTORY})  # only they give these
LEAST_SCOPES: Final = (KeyScope.ASK, KeyScope.READ)  # ticked in forms: what asking and reading need
EVERYDAY_SCOPES: Final = tuple(scope for scope in KeyScope if scope not in OF_ADMINISTRATORS)
ALL_SCOPES: Final = tuple(KeyScope)
