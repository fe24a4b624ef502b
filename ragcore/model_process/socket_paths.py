"""Unix sockets at paths of any length: the kernel takes 107 bytes, folders of data may be longer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MOST_BYTES = 103  # of a path on every system


@contextmanager
def short_path(path: Path) -> Iterator[str]:
    """A name of the same socket that the kernel takes, valid inside. Raises OSError where there is none."""
    if len(os.fsencode(path)) <= MOST_BYTES:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
