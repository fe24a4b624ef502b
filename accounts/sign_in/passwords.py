"""Changing passwords: one's own, and those that administrators give."""

from __future__ import annotations

from django.contrib.auth.password_validation import password_validators_help_texts
from django.db import transaction

from accounts.models import User
from accounts.services import audit_record
from accounts.sign_in.sessions import sessions_end


def password_rules() -> list[str]:
    """What a new password has to be like."""
    return password_validators_help_texts()


@transaction.atomic
def password_set(*, user: User, password: str) -> None:
    """A person's new password of their own, which the form has validated. All sessions end."""
    user.set_password(password)
    user.must_change_password = False
    user.save(update_fields=["password", "must_change_password"])
    audit_record(actor=user, action="password.change", target=user.username)
    sessions_end(user=user, actor=user)


@transaction.atomic
def password_given(*, user: User, actor: User) -> None:
    """After an administrator has set somebody's password: all sessions end, and its owner chooses another one."""
    user.must_change_password = user.has_usable_password() and user.pk != actor.pk
    user.save(update_fields=["must_change_password"])
    audit_record(actor=actor, action="password.give", target=user.username)
    sessions_end(user=user, actor=actor)
