"""The app of background work."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class WorkConfig(AppConfig):
    name = "work"
    verbose_name = _("Background work")

    def ready(self) -> None:
        """Say which work ends with the person who started it."""
        from work import endings  # noqa: F401
