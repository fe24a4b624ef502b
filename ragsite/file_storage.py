"""Files in DATA_DIR that are there as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage

UNFINISHED = ".part"  # ending of a file that is being written; the purge removes those of killed processes


class WholeFileStorage(FileSystemStorage):
    """Django's, which writes beside the final name and renames.

    A full disk or a killed process leaves nothing under a name that a row may refer to. Raises OSError.
    """

    def _save(self, name: str, content: File[Any]) -> str:
        folder = Path(self.path(name)).parent
        folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=UNFINISHED)
        try:
            with os.fdopen(handle, "wb") as file:
                for piece in content.chunks():
                    file.write(piece if isinstance(piece, bytes) else piece.encode())
            Path(temporary).chmod(self.file_permissions_mode or 0o600)
            return self._publish(temporary, name)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise

    def _publish(self, temporary: str, name: str) -> str:
        """Give the file its name, or a free one like it where somebody has taken that meanwhile."""
        while True:
            path = Path(self.path(name))
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
            except FileExistsError:
                name = self.get_available_name(name)
                continue
            try:
                Path(temporary).replace(path)
            except OSError:
                path.unlink(missing_ok=True)
                raise
            return name.replace("\\", "/")

    def replace(self, name: str, content: File[Any]) -> None:
        """Write a file under this very name, in the place of what may be there. Raises OSError."""
        fresh = self._save(self.get_available_name(name), content)
        if fresh == name:
            return
        try:
            Path(self.path(fresh)).replace(self.path(name))
        except OSError:
            with suppress(OSError):
                self.delete(fresh)
            raise
