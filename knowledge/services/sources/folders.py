"""Folders as sources: only where the operator allows it, and never out of the folder by a link."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from knowledge.errors import FolderNotAllowedError, FolderUnreadableError, ItemUnreadableError, OutsideFolderError
from knowledge.services.documents import upload_check
from knowledge.services.sources.items import FetchedItem, Item, Stamp, UnreadableItem
from ragcore.errors import RagError


def folder_allowed(location: str) -> Path:
    """The real folder of a location below one of SOURCE_FOLDERS. Raises FolderNotAllowedError."""
    folder = Path(location)
    if not folder.is_absolute():
        raise FolderNotAllowedError("relative")
    real = folder.resolve()
    if not any(real.is_relative_to(Path(allowed).resolve()) for allowed in settings.SOURCE_FOLDERS):
        raise FolderNotAllowedError
    if not real.is_dir():
        raise FolderNotAllowedError("missing")
    return real


def folder_items(root: Path) -> Iterator[Item | UnreadableItem]:
    """Files below a folder in the order of their names; what is hidden is left out.

    Links to files inside are followed; links to folders are not, since what lies inside is listed where it is.
    Raises FolderUnreadableError where the folder itself cannot be listed.
    """
    if not root.is_dir():
        raise FolderUnreadableError
    yield from _below(root, root)


def _below(root: Path, folder: Path) -> Iterator[Item | UnreadableItem]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        if folder == root:
            raise FolderUnreadableError from error
        yield _unlisted(root, folder, FolderUnreadableError("subfolder"), hides=True)
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from _below(root, path)
        elif entry.is_symlink() and not _is_inside(root, path):
            yield _unlisted(root, path, OutsideFolderError())
        elif not path.is_dir():
            yield _item(root, path)


def _item(root: Path, path: Path) -> Item | UnreadableItem:
    try:
        found = path.stat()
        name = str(path.relative_to(root))
        name.encode()
    except (OSError, UnicodeEncodeError):
        return _unlisted(root, path, ItemUnreadableError())
    if not stat.S_ISREG(found.st_mode):
        return _unlisted(root, path, ItemUnreadableError("not_a_file"))
    return Item(
        external_id=name.replace(os.sep, "/"),
        name=path.name,
        stamp=_stamp(found),
        read=lambda known: _read(root, path),
    )


def _read(root: Path, path: Path) -> FetchedItem:
    """The bytes of a file that is still inside, opened without following a link that was put there meanwhile."""
    real = path.resolve()
    descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(descriptor)
        if not (_is_inside(root, real) and os.path.samestat(found, real.stat()) and stat.S_ISREG(found.st_mode)):
            raise OSError(OutsideFolderError.default_message)
        upload_check(name=path.name, size_bytes=found.st_size)
        content = file.read(settings.MAX_UPLOAD_BYTES + 1)
    upload_check(name=path.name, size_bytes=len(content))
    return FetchedItem(name=path.name, content=content, stamp=_stamp(found))


def _stamp(found: os.stat_result) -> Stamp:
    return {"size": found.st_size, "mtime_ns": found.st_mtime_ns}


def _is_inside(root: Path, path: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a ring of links
        return False


def _unlisted(root: Path, path: Path, error: RagError, *, hides: bool = False) -> UnreadableItem:
    shown = str(path.relative_to(root)).encode("utf-8", "replace").decode()
    return UnreadableItem(path=shown, error=error, hides=hides)
