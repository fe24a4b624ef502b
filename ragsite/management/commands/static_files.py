"""`manage.py static_files`: collects and compresses static files where they have changed since the last time."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command
from django.core.management.base import BaseCommand

MARK = ".collected"  # in STATIC_ROOT: of which files it was made
FORMAT = "1"  # change it when the storage makes other files of the same ones


class Command(BaseCommand):
    help = "Collect, hash and compress static files, unless nothing has changed since the last time."

    def handle(self, **options: Any) -> None:
        mark, fingerprint = Path(settings.STATIC_ROOT) / MARK, _fingerprint()
        if mark.exists() and mark.read_text(encoding="utf-8") == fingerprint:
            return
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)
        mark.write_text(fingerprint, encoding="utf-8")


def _fingerprint() -> str:
    """Of names, sizes and times of all files; says nothing of their content, and costs no reading of them."""
    digest = hashlib.sha256(FORMAT.encode())
    for finder in get_finders():
        for name, storage in finder.list([]):
            status = Path(storage.path(name)).stat()
            digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
