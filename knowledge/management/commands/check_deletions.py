"""`manage.py check_deletions [--repair]`: what is left of deleted documents, and removing it."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from knowledge.services.leftovers import leftovers_count, leftovers_remove


class Command(BaseCommand):
    help = "Look for what is left of deleted documents in tables, index, files and search backend; exits with 1 if any."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--days",
            type=int,
            default=settings.PURGE_AFTER_DAYS,
            help="how long ago they were deleted (PURGE_AFTER_DAYS)",
        )
        parser.add_argument("--repair", action="store_true", help="remove it")

    def handle(self, *, days: int, repair: bool, **options: Any) -> None:
        if days < 0:
            raise CommandError("--days cannot be negative.")
        leftovers = leftovers_remove(days=days) if repair else leftovers_count(days=days)
        self.stdout.write(
            f"Left: {leftovers.documents} documents, {leftovers.entries} index entries, {leftovers.files} files, "
            f"{leftovers.in_backend} entries of the other search backend. "
            f"{leftovers.cited} documents are cited by stored answers (PURGE_CITED)."
        )
        if not leftovers.is_clean:
            raise SystemExit(1)
