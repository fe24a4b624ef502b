"""Signing in with a password that an LDAP directory checks, by django-auth-ldap (extra `ldap`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from django.conf import settings
from django_auth_ldap.backend import LDAPBackend

from accounts.models import User
from accounts.people.ldap_records import ldap_record
from accounts.people.records import RecordError
from accounts.people.services import person_upsert
from accounts.services import tenant_ensure_default


class LdapBackend(LDAPBackend):  # type: ignore[misc]  # the package is optional
    """Accounts of the directory: made at the first sign-in, brought up to date at each."""

    def authenticate_ldap_user(self, ldap_user: Any, password: str) -> User | None:
        """The person, if the directory takes the password and an account may be theirs."""
        if not password:  # a bind without one succeeds as nobody
            return None
        return super().authenticate_ldap_user(ldap_user, password)  # type: ignore[no-any-return]

    def get_user(self, user_id: int) -> User | None:
        """Who a session belongs to; nobody once they are deactivated here."""
        user: User | None = super().get_user(user_id)
        return user if user is not None and user.is_active else None

    def get_or_build_user(self, username: str, ldap_user: Any) -> tuple[User, bool]:
        """Raises self.ldap_error's kind, which refuses the sign-in, where the account is not one of the directory."""
        groups: Collection[str] = ldap_user.group_names if settings.LDAP_GROUP_BASE else ()
        attributes: Mapping[str, list[str]] = ldap_user.attrs
        try:
            record = ldap_record(username, attributes, groups if settings.LDAP_GROUP_BASE else None)
            user = User.objects.filter(username=record.username).first()
            if user is not None and user.has_usable_password():
                raise RecordError("an account with a password of its own has this name")
            if user is not None and user.is_service:
                raise RecordError("a service account has this name")
            person_upsert(record, tenant=tenant_ensure_default(), actor=user)
        except RecordError as error:
            raise ldap_user.AuthenticationFailed(str(error)) from error
        return User.objects.get(username=record.username), False
