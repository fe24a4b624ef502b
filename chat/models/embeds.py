"""Chats on other pages: where they may be shown, the keys that vouch for people, and sessions that are open there."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy


def embed_code() -> str:
    """A new public name of an embedded chat: part of its addresses, and the audience of its tokens."""
    return secrets.token_hex(10)


class Embed(models.Model):
    """A chat of some knowledge sets that pages of named origins may show."""

    class Subject(models.TextChoices):
        USERNAME = "username", _("User name")
        EMAIL = "email", _("E-mail address")
        DIRECTORY = "directory", _("ID in the directory (SCIM externalId)")
        OIDC = "oidc", _("Subject at the sign-in provider (OpenID Connect)")

    class Theme(models.TextChoices):
        AUTO = "auto", pgettext_lazy("appearance", "As the page")
        LIGHT = "light", _("Light")
        DARK = "dark", _("Dark")

    class Language(models.TextChoices):
        AUTO = "auto", pgettext_lazy("language", "As the page")
        EN = "en", "English"
        ZH = "zh-hans", "简体中文"

    class Position(models.TextChoices):
        RIGHT = "right", _("Bottom right")
        LEFT = "left", _("Bottom left")

    tenant = models.ForeignKey("accounts.Tenant", on_delete=models.CASCADE, related_name="+", verbose_name=_("tenant"))
    name = models.CharField(
        _("name"), max_length=64, help_text=_("Conversations that begin there are marked with it, such as HR portal.")
    )
    code = models.CharField(_("code"), max_length=20, unique=True, default=embed_code, editable=False)
    is_active = models.BooleanField(
        _("enabled"), default=True, help_text=_("Disabling ends all open chats on the pages at once.")
    )
    origins = ArrayField(models.CharField(max_length=255), verbose_name=_("origins"))  # `https://host[:port]`
    sets = models.ManyToManyField("knowledge.KnowledgeSet", related_name="embeds", verbose_name=_("knowledge sets"))
    subject = models.CharField(
        _("the token names people by"), max_length=9, choices=Subject.choices, default=Subject.USERNAME
    )
    token_seconds = models.PositiveIntegerField(
        _("maximum lifetime of a token (seconds)"),
        default=300,
        validators=[MinValueValidator(30), MaxValueValidator(600)],
        help_text=_("30 to 600. A token begins one chat and cannot be used again."),
    )
    session_minutes = models.PositiveIntegerField(
        _("maximum length of a chat session (minutes)"),
        default=60,
        validators=[MinValueValidator(5), MaxValueValidator(480)],
        help_text=_(
            "5 to 480. After it the page has to vouch for the person again, which data-token-url does automatically."
        ),
    )
    title = models.CharField(_("title"), max_length=80, blank=True)
    title_zh = models.CharField(_("Chinese title"), max_length=80, blank=True)
    greeting = models.TextField(_("opening text"), max_length=500, blank=True)
    greeting_zh = models.TextField(_("Chinese opening text"), max_length=500, blank=True)
    theme = models.CharField(_("appearance"), max_length=5, choices=Theme.choices, default=Theme.AUTO)
    language = models.CharField(_("language"), max_length=7, choices=Language.choices, default=Language.AUTO)
    position = models.CharField(_("place on the page"), max_length=5, choices=Position.choices, default=Position.RIGHT)
    created = models.DateTimeField(_("created"), auto_now_add=True)
    last_used = models.DateTimeField(_("last used"), null=True, blank=True, editable=False)
    last_refused = models.DateTimeField(null=True, blank=True, editable=False)
    last_reason = models.CharField(max_length=32, blank=True, editable=False)  # of EmbedRefusedError

    class Meta:
        verbose_name = _("embedded chat")
        verbose_name_plural = _("embedded chats")
        ordering: ClassVar = ["name", "pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "name"], name="chat_embed_name_once_a_tenant"),
            models.CheckConstraint(
                condition=models.Q(token_seconds__lte=600, session_minutes__lte=480), name="chat_embed_short_lived"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def session_length(self) -> timedelta:
        """How long a session lasts at most."""
        return timedelta(minutes=self.session_minutes)


class EmbedKey(models.Model):
    """A key with which pages sign: a secret of ours, sealed, or the public half of a key of theirs."""

    class Algorithm(models.TextChoices):
        HS256 = "HS256", _("HS256: a secret that this site makes")
        RS256 = "RS256", _("RS256: public RSA key")
        ES256 = "ES256", _("ES256: public key on curve P-256")
        EDDSA = "EdDSA", _("EdDSA: public Ed25519 key")

    embed = models.ForeignKey(Embed, on_delete=models.CASCADE, related_name="keys", verbose_name=_("embedded chat"))
    algorithm = models.CharField(_("algorithm"), max_length=5, choices=Algorithm.choices, default=Algorithm.HS256)
    sealed = models.TextField(blank=True, editable=False)  # knowledge.sealed_text; of HS256
    public_key = models.TextField(_("public key (PEM)"), blank=True)
    fingerprint = models.CharField(_("fingerprint"), max_length=16)  # beginning of SHA-256, to tell keys apart
    created = models.DateTimeField(_("created"), auto_now_add=True)
    last_used = models.DateTimeField(_("last used"), null=True, blank=True)

    class Meta:
        verbose_name = _("key of an embedded chat")
        verbose_name_plural = _("keys of embedded chats")
        ordering: ClassVar = ["created", "pk"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(algorithm="HS256", public_key="") | models.Q(sealed="") & ~models.Q(public_key=""),
                name="chat_embed_key_of_one_kind",
            )
        ]

    def __str__(self) -> str:
        return f"{self.algorithm} {self.fingerprint}"


class EmbedSession(models.Model):
    """A person in an embedded chat, after the page has vouched for them.

    Stored is the SHA-256 of the bearer, not the bearer. Each token begins one session:
    `token_digest` stays until the token has expired and the session is over.
    """

    embed = models.ForeignKey(Embed, on_delete=models.CASCADE, related_name="sessions", verbose_name=_("embedded chat"))
    key = models.ForeignKey(EmbedKey, null=True, on_delete=models.CASCADE, related_name="+")  # null: a preview
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="embed_sessions", verbose_name=_("user")
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    token_digest = models.CharField(max_length=64, editable=False)
    origin = models.CharField(_("origin"), max_length=255)
    created = models.DateTimeField(_("created"), auto_now_add=True)
    expires = models.DateTimeField(_("expires"))
    ended = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("session of an embedded chat")
        verbose_name_plural = _("sessions of embedded chats")
        ordering: ClassVar = ["-created", "-pk"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["embed", "token_digest"], name="chat_embed_token_once")
        ]
        indexes: ClassVar = [models.Index(fields=["expires"], name="chat_embed_session_expires")]

    def __str__(self) -> str:
        return f"{self.embed_id}/{self.pk}"

    @property
    def reference(self) -> str:
        """What the session is called in messages between processes (accounts.access_events)."""
        return f"embed-{self.pk}"

    @property
    def is_over(self) -> bool:
        return self.ended is not None or self.expires <= timezone.now()
