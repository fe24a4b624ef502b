from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class EvaluationConfig(AppConfig):
    name = "evaluation"
    verbose_name = _("Evaluation")

    def ready(self) -> None:
        """Changes of knowledge sets are published through the gate of golden sets; kinds of notifications that only
        tasks send are known where they are read.
        """
        from evaluation.services import endings, experiment_watch, weekly_sending  # noqa: F401
        from evaluation.services.golden_gate import GoldenGate
        from knowledge.services.publish_gate import publish_gate_register

        publish_gate_register(GoldenGate())
