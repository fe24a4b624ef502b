"""`manage.py check_index [--repair]`: recount the index; exits with 1 where something is wrong."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from knowledge.services.maintenance import index_check, index_repair


class Command(BaseCommand):
    help = "Count the index again and look for documents that are only half there; exits with 1 if anything is wrong."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--repair", action="store_true", help="write the counts anew")

    def handle(self, *, repair: bool, **options: Any) -> None:
        drifts = index_check()
        for drift in drifts:
            self.stdout.write(
                f"{drift.kind}: {drift.what} (tenant {drift.tenant_id}): {drift.stored} stored, {drift.counted} counted"
            )
        if drifts and repair:
            drifts = index_repair(drifts)
            self.stdout.write(f"Counted again; {len(drifts)} differences are left.")
        if drifts:
            raise SystemExit(1)
        self.stdout.write("The index says what its entries say.")
