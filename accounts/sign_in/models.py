"""Sessions with their people, second factors, and identities at other providers."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession, BaseSessionManager
from django.db import models
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice


class BrowserSession(AbstractBaseSession):
    """A session of a browser; without a person before the sign-in is complete."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.CASCADE,
        related_name="browser_sessions",
        verbose_name=_("user"),
    )
    reference = models.CharField(max_length=32, unique=True)  # names the session without being its secret key
    address = models.CharField(_("address"), max_length=64, blank=True)
    agent = models.CharField(_("browser"), max_length=300, blank=True)
    last_seen = models.DateTimeField(_("last active"), default=timezone.now)

    objects: ClassVar = BaseSessionManager()

    class Meta(AbstractBaseSession.Meta):
        abstract = False
        verbose_name = _("browser session")  # type: ignore[assignment]
        verbose_name_plural = _("browser sessions")  # type: ignore[assignment]

    @classmethod
    def get_session_store_class(cls) -> type:
        from accounts.sessions import SessionStore

        return SessionStore


class AuthenticatorApp(TOTPDevice):
    """A TOTP device (RFC 6238) whose secret is not in the database alone.

    The stored key is random, and the secret is made from it and SECRET_KEY. Attempts are counted by
    `accounts.sign_in.throttle`, whose delays end, and not by the library, whose delays double without end.
    """

    class Meta:
        proxy = True

    @property
    def bin_key(self) -> bytes:
        """The 20 bytes that the authenticator app knows."""
        return salted_hmac("accounts.authenticator", self.key, algorithm="sha256").digest()[:20]

    def get_throttle_factor(self) -> int:
        return 0


class RecoveryCodes(StaticDevice):
    """One-time codes for a lost device, stored as keyed digests."""

    class Meta:
        proxy = True

    def get_throttle_factor(self) -> int:
        return 0

    @staticmethod
    def digest(code: str) -> str:
        """As stored; upper case, spaces and hyphens do not matter."""
        plain = code.replace("-", "").replace(" ", "").lower()
        return salted_hmac("accounts.recovery", plain, algorithm="sha256").hexdigest()[:16]

    def verify_token(self, token: str) -> bool:
        """Whether the code is one of the unused ones; it is used up by this."""
        return bool(super().verify_token(self.digest(token)))


class ExternalIdentity(models.Model):
    """Who a person is at an OpenID provider: names may change there, the subject does not."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="identities", verbose_name=_("user")
    )
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name = _("external identity")
        verbose_name_plural = _("external identities")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="accounts_one_user_for_a_subject")
        ]

    def __str__(self) -> str:
        return f"{self.subject} @ {self.issuer}"
