"""`manage.py purge [--days N] [--dry-run]`: remove for good what was deleted or replaced long ago."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from knowledge.services.deletion import purge


class Command(BaseCommand):
    help = "Remove deleted documents and replaced versions that no citation needs, with their files and terms."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--days", type=int, default=settings.PURGE_AFTER_DAYS, help="how long they are kept (PURGE_AFTER_DAYS)"
        )
        parser.add_argument("--dry-run", action="store_true", help="only say how much it would be")

    def handle(self, *, days: int, dry_run: bool, **options: Any) -> None:
        if days < 0:
            raise CommandError("--days cannot be negative.")
        removed = purge(days=days, dry_run=dry_run)
        self.stdout.write(
            f"{'Would remove' if dry_run else 'Removed'} {removed.versions} versions, {removed.documents} documents, "
            f"{removed.terms} terms and {removed.files} files ({removed.file_bytes / 1e6:.1f} MB)."
        )
