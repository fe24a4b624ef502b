from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class EvaluationConfig(AppConfig):
    name = "evaluation"
    verbose_name = _("Evaluation")

    def ready(self) -> None:
        """Options of knowledge sets are published through the gate of golden sets."""
        from evaluation.services.gates import OptionsGate
        from knowledge.services.option_gate import option_gate_register

        option_gate_register(OptionsGate())
