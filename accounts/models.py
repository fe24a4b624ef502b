"""Tenants, people, keys and the audit log."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit.actions import ACTIONS
from accounts.key_scopes import KeyScope
from accounts.scim.models import DirectoryEntry as DirectoryEntry
from accounts.sign_in.models import AuthenticatorApp as AuthenticatorApp
from accounts.sign_in.models import BrowserSession as BrowserSession
from accounts.sign_in.models import ExternalIdentity as ExternalIdentity
from accounts.sign_in.models import RecoveryCodes as RecoveryCodes

MAX_SHARE = 100  # of the queues; a tenant without a share counts as one with this


class ClearanceLevel(models.IntegerChoices):
    """How secret a document is, and up to which level a person may read."""

    PUBLIC = 0, _("Public")
    INTERNAL = 1, _("Internal")
    CONFIDENTIAL = 2, _("Confidential")
    STRICTLY_CONFIDENTIAL = 3, _("Strictly confidential")
    SECRET = 4, _("Secret")


MAX_CLEARANCE = max(ClearanceLevel.values)


class Tenant(models.Model):
    """An organisation whose documents, people and statistics never mix with another's."""

    name = models.CharField(_("name"), max_length=64, unique=True)
    is_default = models.BooleanField(_("is the default tenant"), default=False)
    max_sets = models.PositiveIntegerField(
        _("maximum knowledge sets"), null=True, blank=True, help_text=_("If empty, there is no limit.")
    )
    max_documents = models.PositiveIntegerField(
        _("maximum documents"), null=True, blank=True, help_text=_("If empty, there is no limit.")
    )
    max_megabytes = models.PositiveIntegerField(
        _("maximum size of originals (MB)"),
        null=True,
        blank=True,
        help_text=_("Counts all versions. If empty, there is no limit."),
    )
    queue_share = models.PositiveSmallIntegerField(
        _("share of the processing queues"),
        null=True,
        blank=True,
        validators=[MinValueValidator(1), MaxValueValidator(MAX_SHARE)],
        help_text=_("Relative share while other tenants wait: 1 beside 3 gets a quarter. If empty, there is no limit."),
    )
    demo_loaded = models.BooleanField(_("has the samples"), default=False, editable=False)
    created = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("tenant")
        verbose_name_plural = _("tenants")
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["is_default"], condition=models.Q(is_default=True), name="accounts_one_default_tenant"
            )
        ]

    def __str__(self) -> str:
        return self.name


class User(AbstractUser):
    """A person or a service account, with the work profile that retrieval may use."""

    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="users", verbose_name=_("tenant"))
    clearance = models.PositiveSmallIntegerField(
        _("clearance"),
        choices=ClearanceLevel.choices,
        default=ClearanceLevel.PUBLIC,
        validators=[MinValueValidator(0), MaxValueValidator(MAX_CLEARANCE)],
    )
    department = models.CharField(_("department"), max_length=128, blank=True)
    product = models.CharField(_("product"), max_length=128, blank=True)
    role = models.CharField(_("role"), max_length=128, blank=True)
    locale = models.CharField(
        _("language"),
        max_length=64,
        blank=True,
        help_text=_("Such as zh-CN or en: of mails, and of pages until the person chooses another."),
    )
    interests = ArrayField(models.CharField(max_length=64), default=list, blank=True, verbose_name=_("interests"))
    use_profile = models.BooleanField(
        _("personalise results"),
        default=True,
        help_text=_(
            "Passages that match your department, product, interests and recent knowledge sets rank slightly higher."
        ),
    )
    record_use = models.BooleanField(
        _("record how I use answers"),
        default=True,
        help_text=_(
            "Copying, opening sources, reading time, stopping and rephrasing show where answers fail. Reviewers see "
            "them with question and answer."
        ),
    )
    must_change_password = models.BooleanField(
        _("choose a new password"),
        default=False,
        help_text=_("Asked for at the next sign-in with this password."),
    )
    user_groups = models.ManyToManyField(
        "accounts.UserGroup", blank=True, related_name="members", verbose_name=_("user groups")
    )

    can_create_sets = models.BooleanField(
        _("may create knowledge sets"), default=False, help_text=_("Administrators always may.")
    )
    is_service = models.BooleanField(
        _("service account"), default=False, help_text=_("Works with API keys only; cannot sign in on the web.")
    )
    service_owner = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="service_accounts",
        verbose_name=_("owner of the service account"),
    )

    REQUIRED_FIELDS: ClassVar = []

    class Meta(AbstractUser.Meta):
        verbose_name = _("user")  # type: ignore[assignment]
        verbose_name_plural = _("users")  # type: ignore[assignment]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(clearance__lte=MAX_CLEARANCE), name="accounts_user_clearance_in_range"
            ),
            models.CheckConstraint(
                condition=models.Q(is_service=False, service_owner=None)
                | models.Q(is_service=True, service_owner__isnull=False, password__startswith="!"),  # noqa: S106 - of unusable ones
                name="accounts_service_has_owner_and_no_password",
            ),
        ]

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """Sessions end when this changes: with the password, and where REQUIRE_TOTP begins to hold for the person."""
        hashed: str = super()._get_session_auth_hash(secret)  # type: ignore[misc]
        return f"{hashed}:second-factor" if settings.REQUIRE_TOTP and self.is_staff else hashed


class UserGroup(models.Model):
    """People of one tenant who share access to knowledge sets."""

    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="user_groups", verbose_name=_("tenant"))
    name = models.CharField(_("name"), max_length=128)
    external_id = models.CharField(max_length=255, blank=True, editable=False)  # of the directory that keeps it

    class Meta:
        verbose_name = _("user group")
        verbose_name_plural = _("user groups")
        ordering: ClassVar = ["name"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "name"], name="accounts_group_name_once_a_tenant")
        ]

    def __str__(self) -> str:
        return self.name


class ApiKey(models.Model):
    """A secret that acts for one user, within its scopes. `prefix` is shown, `digest` is SHA-256 of the whole key."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_keys", verbose_name=_("user")
    )
    name = models.CharField(_("name"), max_length=64)
    prefix = models.CharField(_("starts with"), max_length=16)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    scopes = ArrayField(
        models.CharField(max_length=16, choices=KeyScope.choices), default=list, blank=True, verbose_name=_("scopes")
    )
    expires = models.DateTimeField(_("expires"), null=True, blank=True, help_text=_("If empty, it never expires."))
    requests_per_minute = models.PositiveIntegerField(
        _("requests per minute"), null=True, blank=True, help_text=_("If empty, there is no separate limit.")
    )
    created = models.DateTimeField(_("created"), auto_now_add=True)
    last_used = models.DateTimeField(_("last used"), null=True, blank=True)
    revoked = models.DateTimeField(_("revoked"), null=True, blank=True)

    class Meta:
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        ordering: ClassVar = ["-created"]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def scope_labels(self) -> list[str]:
        """The scopes in words, in the order of their declaration."""
        return [str(scope.label) for scope in KeyScope if scope in self.scopes]

    @property
    def is_expired(self) -> bool:
        """Whether the key has stopped working by itself."""
        return self.expires is not None and self.expires <= timezone.now()


class AuditEvent(models.Model):
    """One recorded act. A trigger refuses changes and deletions; the table has a partition for each month.

    Names are copied, and nothing here refers to rows that may go: the log outlives accounts.
    """

    at = models.DateTimeField(_("time"), auto_now_add=True)
    tenant = models.ForeignKey(
        "accounts.Tenant",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="+",
        verbose_name=_("tenant"),
    )
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="+",
        verbose_name=_("actor"),
    )
    actor_name = models.CharField(_("actor"), max_length=150, blank=True)
    action = models.CharField(_("action"), max_length=64)
    target = models.CharField(_("target"), max_length=256, blank=True)
    data = models.JSONField(_("details"), default=dict, blank=True)

    class Meta:
        verbose_name = _("audit event")
        verbose_name_plural = _("audit log")
        ordering: ClassVar = ["-at"]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "-at"], name="accounts_audit_tenant"),
            models.Index(fields=["action", "-at"], name="accounts_audit_action"),
            models.Index(fields=["actor", "-at"], name="accounts_audit_actor"),
        ]

    def __str__(self) -> str:
        return " · ".join(filter(None, (str(ACTIONS.get(self.action, self.action)), self.target)))
