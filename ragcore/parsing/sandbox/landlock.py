"""Landlock: which files a process may still touch, enforced by the kernel and never to be undone (D9).

Numbers and structures are those of <linux/landlock.h>; they are the same on every machine.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15  # known from ABI 2, 3 and 5 on
_REMOVE_FILE, _MAKE_SOCKET = 1 << 5, 1 << 9
_FIRST_ABI = (1 << 13) - 1
_READING = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL


def restrict_files(
    libc: ctypes.CDLL, *, readable: Iterable[Path], writable: Iterable[Path] = (), sockets: Iterable[Path] = ()
) -> bool:
    """Only what lies beneath these paths can be opened from now on; open descriptors keep working.

    In `sockets`, local sockets may be made and removed, nothing else.
    The process must have set "no new privileges". False, with nothing changed, where the kernel has no Landlock.
    """
    abi = libc.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    if abi < 1:
        return False
    handled = _FIRST_ABI | (_REFER if abi > 1 else 0) | (_TRUNCATE if abi > 2 else 0) | (_IOCTL if abi > 4 else 0)
    ruleset = libc.syscall(_CREATE_RULESET, struct.pack("Q", handled), 8, 0)
    if ruleset < 0:
        return False
    try:
        for path in readable:
            _allow(libc, ruleset, path, handled & _READING)
        for path in writable:
            _allow(libc, ruleset, path, handled)
        for path in sockets:
            _allow(libc, ruleset, path, _MAKE_SOCKET | _REMOVE_FILE)
        return bool(libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0)
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, path: Path, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # what does not exist needs no rule
        return
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            access &= _OF_FILES
        libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", access, descriptor), 0)
    finally:
        os.close(descriptor)
