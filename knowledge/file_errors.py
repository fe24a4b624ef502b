"""Errors of stored files, of pictures of their pages, and of the disk on which they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence, TransientError


class StorageFullError(TransientError):
    """There is no room for another file, or nothing can be written; somebody has to make room."""

    code = "storage_full"
    default_message = "There is not enough space on the disk of this site. Please tell an administrator."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "reserve": "No more files are accepted: only %(free)s of disk space are left. Please tell an administrator.",
        "full": "The disk of this site is full; nothing was stored. Please tell an administrator.",
        "read_only": "The disk of this site cannot be written to; nothing was stored. Please tell an administrator.",
    }


class FileMissingError(PermanentError):
    """A stored file is not where it was stored; the bytes have to come back from a backup or by an upload."""

    code = "file_missing"
    default_message = "This file is missing on the server. Upload the same file again to restore it."


class FileDamagedError(PermanentError):
    """A stored file does not have the bytes that were uploaded."""

    code = "file_damaged"
    default_message = "This file is damaged on the server and is not shown. Upload the same file again to restore it."


class FileBusyError(TransientError):
    """So many files are being made that this one's turn did not come in time."""

    code = "busy"


class FileUnmakeableError(PermanentError):
    """A file cannot be made of what was chosen."""


class PicturesBusyError(FileBusyError):
    """So many pages are being drawn that this one's turn did not come in time."""

    default_message = "The picture of this page is not ready yet. It is tried again."
