"""TOTP of an authenticator app, with recovery codes."""

from __future__ import annotations

import secrets
import string
from base64 import b32encode

import segno
from django.conf import settings
from django.db import transaction

from accounts.models import User
from accounts.services import audit_record
from accounts.sign_in.models import AuthenticatorApp, RecoveryCodes

CODES = 10
CODE_LENGTH = 10
LETTERS = "".join(set(string.ascii_lowercase + string.digits) - set("0o1il"))  # that nobody mistakes
NAME = "authenticator"


def has_second_factor(user: User) -> bool:
    """Whether the person has set one up."""
    return AuthenticatorApp.objects.filter(user=user, confirmed=True).exists()


def needs_second_factor(user: User) -> bool:
    """Whether the site wants one of this person."""
    return bool(settings.REQUIRE_TOTP and user.is_staff)


def codes_left(user: User) -> int:
    """Recovery codes that were not used yet."""
    return sum(device.token_set.count() for device in RecoveryCodes.objects.filter(user=user))


def second_factor_begin(user: User) -> AuthenticatorApp:
    """The device that is being set up: the same one until a code of it was given."""
    device = AuthenticatorApp.objects.filter(user=user, confirmed=False).first()
    return device or AuthenticatorApp.objects.create(user=user, name=NAME, confirmed=False)


@transaction.atomic
def second_factor_confirm(*, user: User, code: str) -> list[str]:
    """Take the device into use if the code is its; returns new recovery codes, or nothing for a wrong code."""
    device = AuthenticatorApp.objects.select_for_update().filter(user=user, confirmed=False).first()
    if device is None or not device.verify_token(code.replace(" ", "")):
        return []
    AuthenticatorApp.objects.filter(user=user, confirmed=True).delete()
    device.confirmed = True
    device.save(update_fields=["confirmed"])
    audit_record(actor=user, action="second_factor.set", target=user.username)
    return _codes_renew(user)


@transaction.atomic
def recovery_codes_renew(*, user: User) -> list[str]:
    """New codes; the earlier ones are worth nothing."""
    audit_record(actor=user, action="second_factor.codes", target=user.username)
    return _codes_renew(user)


@transaction.atomic
def second_factor_check(*, user: User, code: str) -> bool:
    """Whether the code is the app's of this moment, used for the first time, or an unused recovery code."""
    plain = code.replace(" ", "")
    app = AuthenticatorApp.objects.select_for_update().filter(user=user, confirmed=True).first()
    if app is not None and plain.isdigit() and app.verify_token(plain):
        return True
    codes = RecoveryCodes.objects.select_for_update().filter(user=user).first()
    if codes is not None and codes.verify_token(code):
        audit_record(actor=user, action="second_factor.recovery", target=user.username, left=codes_left(user))
        return True
    return False


@transaction.atomic
def second_factor_remove(*, user: User, actor: User) -> bool:
    """Sign-ins no longer ask for a code; False if there was none."""
    removed = [kind.objects.filter(user=user).delete()[0] for kind in (AuthenticatorApp, RecoveryCodes)]
    if any(removed):
        audit_record(actor=actor, action="second_factor.remove", target=user.username)
    return any(removed)


def secret_text(device: AuthenticatorApp) -> str:
    """The secret for typing it in, in groups of four."""
    text = b32encode(device.bin_key).decode()
    return " ".join(text[start : start + 4] for start in range(0, len(text), 4))


def secret_picture(device: AuthenticatorApp) -> str:
    """The secret as a QR code: SVG without styles."""
    return segno.make(device.config_url, error="m").svg_inline(scale=4, border=3, light="#fff", dark="#000")


def _codes_renew(user: User) -> list[str]:
    RecoveryCodes.objects.filter(user=user).delete()
    device = RecoveryCodes.objects.create(user=user, name=NAME)
    codes = ["".join(secrets.choice(LETTERS) for _ in range(CODE_LENGTH)) for _ in range(CODES)]
    for code in codes:
        device.token_set.create(token=RecoveryCodes.digest(code))
    half = CODE_LENGTH // 2
    return [f"{code[:half]}-{code[half:]}" for code in codes]
