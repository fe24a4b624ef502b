"""Opens, verifies and restores stored originals.

An original is read as a whole against its SHA-256 once. Afterwards its size and time of change are compared, which the
row of its version remembers, until one of them is another.
"""

from __future__ import annotations

import logging
from hashlib import sha256
from typing import IO, Any

from django.core.files.base import File
from django.core.files.storage import Storage
from django.db.models.fields.files import FieldFile

from knowledge.file_errors import FileDamagedError, FileMissingError
from knowledge.models import DocumentVersion

logger = logging.getLogger(__name__)

PIECE_BYTES = 1024 * 1024
Fault = DocumentVersion.FileFault


def stored_open(field: FieldFile) -> File[Any]:
    """A stored file for reading bytes. Raises FileMissingError."""
    try:
        return field.open("rb")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        logger.error("a stored file is missing: %s", field.name)  # noqa: TRY400 (its traceback says nothing more)
        raise FileMissingError from error


def original_open(version: DocumentVersion) -> File[Any]:
    """The original of a version, verified. Raises FileMissingError, FileDamagedError."""
    original_check(version)
    return stored_open(version.file)


def original_check(version: DocumentVersion) -> None:
    """Compare the original with its SHA-256 and record the result. Raises FileMissingError, FileDamagedError."""
    mark = _mark_of(version.file)
    if mark and mark == version.file_verified:
        return
    if not mark:
        _record(version, fault=Fault.MISSING)
        raise FileMissingError
    with stored_open(version.file) as file:
        is_right = _digest(file) == version.sha256
    if not is_right:
        logger.error("the original of version %s is damaged: %s", version.pk, version.file.name)
        _record(version, fault=Fault.DAMAGED)
        raise FileDamagedError
    _record(version, verified=mark)


def original_fault(version: DocumentVersion) -> str:
    """ "": the original is there and right, or none is kept; else a value of DocumentVersion.FileFault."""
    if not version.file:
        return ""
    try:
        original_check(version)
    except FileMissingError:
        return Fault.MISSING
    except FileDamagedError:
        return Fault.DAMAGED
    return ""


def originals_restore(*, tenant_id: int, digest: str, content: File[Any]) -> int:
    """Write these bytes back wherever a version of the tenant has lost them; returns how many files came back.

    `digest`: SHA-256 of the content, hex. Versions that have their file are left alone.
    """
    rows = DocumentVersion.objects.filter(document__tenant_id=tenant_id, document__sha256=digest, sha256=digest)
    restored: set[str] = set()
    for version in rows.exclude(file="").select_related("document"):
        name = str(version.file.name)
        if name not in restored and original_fault(version):
            file_replace(version.file.storage, name, content)
            restored.add(name)
        if name in restored:
            version.file_verified = ""
            original_check(version)
            logger.warning("the original of version %s was restored", version.pk)
    return len(restored)


def is_stored(storage: Storage, name: str, *, digest: str, size_bytes: int) -> bool:
    """Whether a file of this name holds exactly these bytes."""
    if not storage.exists(name) or storage.size(name) != size_bytes:
        return False
    with storage.open(name, "rb") as file:
        return _digest(file) == digest


def file_replace(storage: Storage, name: str, content: File[Any]) -> None:
    """Write a file under this very name. Raises OSError."""
    content.seek(0)
    if hasattr(storage, "replace"):
        storage.replace(name, content)
    else:
        storage.delete(name)
        storage.save(name, content)


def _digest(file: IO[bytes] | File[Any]) -> str:
    digest = sha256()
    while piece := file.read(PIECE_BYTES):
        digest.update(piece)
    return digest.hexdigest()


def _mark_of(field: FieldFile) -> str:
    """Size and time of change of a stored file; "" where there is none."""
    try:
        changed = field.storage.get_modified_time(str(field.name))
        return f"{field.storage.size(str(field.name))}:{changed.timestamp():.6f}"
    except (FileNotFoundError, NotADirectoryError):
        return ""


def _record(version: DocumentVersion, *, fault: str = "", verified: str = "") -> None:
    if (version.file_fault, version.file_verified) == (fault, verified):
        return
    version.file_fault, version.file_verified = fault, verified
    DocumentVersion.objects.filter(pk=version.pk).update(file_fault=fault, file_verified=verified)
