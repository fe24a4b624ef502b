"""`manage.py check_files [--full] [--repair]`: missing and damaged files; exits with 1 if there are any."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from knowledge.services.file_checks import files_check, files_orphaned, files_repair

WORDS = {
    "missing": "original is missing",
    "damaged": "original is damaged",
    "missing_text": "read text is missing",
    "missing_pdf": "PDF for pictures of pages is missing",
    "missing_picture": "picture is missing",
}


class Command(BaseCommand):
    help = "Compare stored files with the rows that name them; exits with 1 if any is missing or damaged."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--full", action="store_true", help="read every original against its SHA-256")
        parser.add_argument("--repair", action="store_true", help="forget lost files that are made of originals")

    def handle(self, *, full: bool, repair: bool, **options: Any) -> None:
        problems = list(files_check(is_full=full))
        for problem in problems:
            self.stdout.write(
                f"document {problem.document_id} version {problem.version} (tenant {problem.tenant_id}): "
                f"{WORDS[problem.kind]}: {problem.name}"
            )
        if repair:
            self.stdout.write(f"{files_repair(problems)} lost files are made again when they are needed.")
            problems = [problem for problem in problems if problem.is_original or problem.kind == "missing_picture"]
        orphans = files_orphaned()
        self.stdout.write(
            f"{orphans.files} files ({orphans.size_bytes} bytes) belong to nothing; the purge removes them."
        )
        if problems:
            self.stdout.write(
                "Originals come back by uploading the same file again, or from a backup of DATA_DIR/files."
            )
            raise SystemExit(1)
        self.stdout.write("All other files are there.")
