"""The notifications app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class NotificationsConfig(AppConfig):
    name = "notifications"
    verbose_name = _("notifications")

    def ready(self) -> None:
        """Say that nothing of it ends when a person leaves."""
        from notifications import endings  # noqa: F401
