"""`manage.py reindex`: build the vector and word indexes anew while people go on searching."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from knowledge.errors import MaintenanceRunningError
from knowledge.services.maintenance import indexes_rebuild


class Command(BaseCommand):
    help = "Build the vector and word indexes anew, one after another, without locking readers."

    def handle(self, **options: Any) -> None:
        try:
            for done in indexes_rebuild():
                sizes = f"{done.bytes_before / 1e6:.1f} MB before, {done.bytes_after / 1e6:.1f} MB now"
                self.stdout.write(f"{done.name}: {done.seconds:.1f} s, {sizes}")
        except MaintenanceRunningError as error:
            raise CommandError(error.message) from None
