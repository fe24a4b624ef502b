"""`manage.py load_benchmark DIR …`: public retrieval sets as knowledge sets with golden cases."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from accounts.models import User
from accounts.selectors import scope_for
from evaluation.services.golden import benchmark_load


class Command(BaseCommand):
    help = "Load folders with corpus.jsonl, queries.jsonl and qrels.tsv; the worker ingests them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folders", nargs="+", type=Path)
        parser.add_argument("--user", default="admin")

    def handle(self, *, folders: list[Path], user: str, **options: Any) -> None:
        actor = User.objects.get(username=user)
        for folder in folders:
            name = folder.parent.name if folder.name in ("dev", "heldout") else folder.name
            golden, accepted = benchmark_load(scope=scope_for(actor), actor=actor, folder=folder, name=name)
            self.stdout.write(
                f"{name}: job {accepted.job_id}, {accepted.accepted} documents, {golden.cases.count()} questions"
            )
