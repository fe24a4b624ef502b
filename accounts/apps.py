from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = _("People and access")

    def ready(self) -> None:
        """Register what ends when a person leaves."""
        from accounts.people import endings  # noqa: F401
