"""Replaces this process by a program that ends with its parent and, where needed, runs in a user namespace.

Run as a script in a fresh interpreter (`python -I -S launch.py OPTIONS PROGRAM ARGUMENT...`): that is safe where a
`preexec_fn` is not, because the parent may have threads. OPTIONS is JSON: `parent` (process id), `death_signal`, and
`identity`: null, {"kind": "namespace", "uid": n} or {"kind": "user", "uid": n, "gid": n}.

Linux clears the death signal when credentials change, so the identity is taken first.
Only the standard library is imported: -S hides everything else, and the start takes some 15 ms.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from pathlib import Path
from typing import Any

CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
CANNOT_START = 126  # what shells use for a program that cannot be executed


def enter_user_namespace(uid: int) -> None:
    """Root on files outside, user `uid` inside: PostgreSQL refuses root, but only asks geteuid().

    The kernel still sees root's uid, so the data folder needs no other owner and its parents no other mode.
    Raises OSError where user namespaces are forbidden.
    """
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    Path("/proc/self/setgroups").write_text("deny")  # required before a gid map may be written
    Path("/proc/self/uid_map").write_text(f"{uid} {outer_uid} 1")
    Path("/proc/self/gid_map").write_text(f"{uid} {outer_gid} 1")


def become_user(uid: int, gid: int) -> None:
    """Give up root for good."""
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def die_with(parent: int, death_signal: int) -> None:
    """Ask the kernel for a signal when the parent ends. Elsewhere than on Linux nothing of the kind exists."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the kernel knew
        sys.exit(CANNOT_START)


def main(options: dict[str, Any], command: list[str]) -> None:
    identity = options["identity"]
    if identity and identity["kind"] == "namespace":
        enter_user_namespace(identity["uid"])
    elif identity:
        become_user(identity["uid"], identity["gid"])
    die_with(options["parent"], options["death_signal"])
    os.execv(command[0], command)  # noqa: S606 - no shell is what we want


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]), sys.argv[2:])
    except OSError as error:
        sys.stderr.write(f"cannot start {sys.argv[2]}: {error}\n")
        sys.exit(CANNOT_START)
