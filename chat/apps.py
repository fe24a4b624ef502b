from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class ChatConfig(AppConfig):
    name = "chat"
    verbose_name = _("Conversations")

    def ready(self) -> None:
        """Register what is erased with a person, and what ends when one leaves."""
        from chat.conversations import endings, retention  # noqa: F401
