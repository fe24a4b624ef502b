from django.apps import AppConfig
from django.conf import settings
from django.utils.translation import gettext_lazy as _


class KnowledgeConfig(AppConfig):
    name = "knowledge"
    verbose_name = _("Knowledge")

    def ready(self) -> None:
        """Register the system checks, what ends or begins with a person, faults of disks."""
        from knowledge import checks  # noqa: F401
        from knowledge.disk_space import disk_fault
        from knowledge.services import endings, erasure, people_rights  # noqa: F401
        from ragcore.parsing.sandbox.process import POLICY
        from work.faults import fault_reader

        fault_reader(disk_fault)
        POLICY.required = settings.REQUIRE_SANDBOX
