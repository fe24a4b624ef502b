"""What a parsing process gives up before it opens a file from a stranger: memory, time, disk, network, programs.

Resource limits hold everywhere. System calls for networking and for starting programs are refused by a seccomp
filter, and the process is moved to an empty network, where the kernel permits; containers often forbid the latter.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
import sys

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
PR_SET_PDEATHSIG, PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS = 1, 22, 38
SECCOMP_MODE_FILTER = 2
# Berkeley packet filter: load a word, jump if equal, return
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1  # SECCOMP_RET_ERRNO with EPERM
# audit architecture and the numbers of: socket, execve, execveat, ptrace, io_uring_setup
_SYSTEM_CALLS = {
    "x86_64": (0xC000003E, (41, 59, 322, 101, 425)),
    "aarch64": (0xC00000B7, (198, 221, 281, 117, 425)),
}


def confine(*, memory_bytes: int, cpu_seconds: int, output_bytes: int) -> None:
    """Give up what parsing does not need; cannot be undone in this process."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (output_bytes, output_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        _leave_network(libc)
        _refuse_system_calls(libc)


def _leave_network(libc: ctypes.CDLL) -> bool:
    """Move to a network namespace without interfaces; False where the kernel or the container forbids it."""
    flags = CLONE_NEWNET if os.geteuid() == 0 else CLONE_NEWUSER | CLONE_NEWNET
    return bool(libc.unshare(flags) == 0 or libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0)


def _refuse_system_calls(libc: ctypes.CDLL) -> bool:
    """New sockets and new programs fail with EPERM; False on other machines than x86-64 and ARM64."""
    known = _SYSTEM_CALLS.get(platform.machine())
    if known is None:
        return False
    architecture, numbers = known
    last = len(numbers)
    code = [(_LOAD, 0, 0, 4), (_JUMP_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _REFUSE), (_LOAD, 0, 0, 0)]
    code += [(_JUMP_EQUAL, last - index, 0, number) for index, number in enumerate(numbers)]
    code += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    program = b"".join(struct.pack("HBBI", *step) for step in code)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(code), ctypes.addressof(buffer))
    return bool(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0) == 0)
