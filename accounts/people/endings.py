"""What of this app ends with a person."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import ApiKey, User
from accounts.people.leaving import (
    Ending,
    NewSecret,
    ends_with_person,
    person_leave,
    secrets_replace,
    stays_after_person,
)
from accounts.services import api_key_revoke
from accounts.sign_in.models import BrowserSession
from accounts.sign_in.sessions import sessions_end


def _service_accounts(user: User) -> QuerySet[User]:
    return user.service_accounts.filter(is_active=True).order_by("username")


def _end_service_accounts(user: User, actor: User) -> None:
    """With all that they have made work themselves."""
    for account in _service_accounts(user):
        person_leave(user=account, actor=actor)


def _hand_over_service_accounts(user: User, to: User, actor: User) -> None:
    _service_accounts(user).update(service_owner=to)


def _replace_secrets_of_service_accounts(user: User, actor: User) -> list[NewSecret]:
    """Their keys are revoked, and the secrets of their sources replaced."""
    new_secrets: list[NewSecret] = []
    for account in _service_accounts(user):
        _end_keys(account, actor)
        new_secrets += secrets_replace(user=account, actor=actor, codes=["sources"])
    return new_secrets


def _keys(user: User) -> QuerySet[ApiKey]:
    return user.api_keys.filter(revoked=None).order_by("name")


def _end_keys(user: User, actor: User) -> None:
    for key in _keys(user).select_related("user"):
        api_key_revoke(key=key, actor=actor)


def _sessions(user: User) -> QuerySet[BrowserSession]:
    return BrowserSession.objects.filter(user=user, expire_date__gt=timezone.now())


def _end_sessions(user: User, actor: User) -> None:
    """Open sockets and streams, those of keys and MCP too, are closed by all web processes."""
    sessions_end(user=user, actor=actor, with_keys=True)


ends_with_person(
    Ending(
        code="service_accounts",
        is_named=True,
        label=_("Service accounts, with their keys"),
        relations=("accounts.User.service_owner",),
        rows=_service_accounts,
        end=_end_service_accounts,
        hand_over=_hand_over_service_accounts,
        replace_secrets=_replace_secrets_of_service_accounts,
    )
)
ends_with_person(
    Ending(
        code="keys", is_named=True, label=_("API keys"), relations=("accounts.ApiKey.user",), rows=_keys, end=_end_keys
    )
)
ends_with_person(
    Ending(
        code="sessions",
        label=_("Browsers that are signed in"),
        relations=("accounts.BrowserSession.user",),
        rows=_sessions,
        end=_end_sessions,
    )
)
stays_after_person(
    "a sign-in needs it, and nobody signs in to an inactive account",
    *("accounts.AuthenticatorApp.user", "accounts.RecoveryCodes.user", "accounts.ExternalIdentity.user"),
    *("otp_totp.TOTPDevice.user", "otp_static.StaticDevice.user"),
)
stays_after_person(
    "a right, which an inactive account cannot use",
    *("accounts.User_user_groups.user", "accounts.User_groups.user", "accounts.User_user_permissions.user"),
)
stays_after_person("tells who did something", "accounts.AuditEvent.actor", "admin.LogEntry.user")
stays_after_person("the directory knows the account by it, and may bring it back", "accounts.DirectoryEntry.user")
