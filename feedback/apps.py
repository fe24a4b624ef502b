from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class FeedbackConfig(AppConfig):
    name = "feedback"
    verbose_name = _("Feedback")

    def ready(self) -> None:
        """Erasing a person also makes sets forget what they learnt from their acts."""
        from feedback import endings, ranking_from_use  # noqa: F401
