"""System calls that a confined process may make, as a seccomp filter.

Parsing gets a list of what it may do: memory, descriptors that are open, reading files, threads, time. All else fails
with EPERM: programs, sockets, other processes, namespaces, and changing files, also where the kernel's other means do
not reach (`chmod` knows no Landlock). A process that starts programs (LibreOffice) needs too much for such a list; it
gets one of what is refused. Numbers are those of x86-64 and ARM64.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from collections.abc import Iterable
from dataclasses import dataclass

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
# Berkeley packet filter: load a word, jump if equal, if greater or equal, if bits are set, return
_LOAD, _JUMP_EQUAL, _JUMP_FROM, _JUMP_BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 38  # SECCOMP_RET_ERRNO with EPERM, ENOSYS
_NUMBER, _ARCHITECTURE = 0, 4  # offsets in struct seccomp_data
_ARGUMENTS = (16, 24, 32)  # low halves of the first three
_SECOND_ABI = 0x40000000  # x32 calls the same kernel functions under other numbers
_NEWER = 443  # libraries try calls from here on, and older ones where there is no such call
_NAMESPACES = 0x7E020000  # CLONE_NEW*
_THREAD = 0x00010000  # CLONE_THREAD
AF_UNIX = 1

# name, number on x86-64, number on ARM64; the most frequent ones first
_ALLOWED = """
read 0 63, write 1 64, mmap 9 222, munmap 11 215, brk 12 214, futex 202 98, lseek 8 62, fstat 5 80, close 3 57,
openat 257 56, newfstatat 262 79, mprotect 10 226, madvise 28 233, mremap 25 216, pread64 17 67, pwrite64 18 68,
readv 19 65, writev 20 66, preadv 295 69, pwritev 296 70, preadv2 327 286, pwritev2 328 287, sendfile 40 71,
copy_file_range 326 285, open 2 -, stat 4 -, lstat 6 -, access 21 -, readlink 89 -, openat2 437 437, statx 332 291,
fstatfs 138 44, statfs 137 43, faccessat 269 48, faccessat2 439 439, readlinkat 267 78, getdents 78 -,
getdents64 217 61, getcwd 79 17, chdir 80 49, fchdir 81 50, umask 95 166, flock 73 32, fadvise64 221 223,
fsync 74 82, fdatasync 75 83, dup 32 23, dup2 33 -, dup3 292 24, pipe 22 -, pipe2 293 59, close_range 436 436,
poll 7 -, select 23 -, ppoll 271 73, pselect6 270 72, eventfd2 290 19, memfd_create 319 279, ftruncate 77 46,
rt_sigaction 13 134, rt_sigprocmask 14 135, rt_sigreturn 15 139, sigaltstack 131 132, rt_sigpending 127 136,
rt_sigtimedwait 128 137, restart_syscall 219 128, nanosleep 35 101, clock_nanosleep 230 115, clock_gettime 228 113,
clock_getres 229 114, gettimeofday 96 169, time 201 -, times 100 153, getitimer 36 102, setitimer 38 103, alarm 37 -,
getpid 39 172, gettid 186 178, getppid 110 173, getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177,
getgroups 115 158, getresuid 118 148, getresgid 120 150, getpgrp 111 -, getpgid 121 155, getsid 124 156,
capget 125 90, uname 63 160, sysinfo 99 179, getrusage 98 165, getrlimit 97 163, getrandom 318 278, getcpu 309 168,
getpriority 140 141, sched_yield 24 124, sched_getaffinity 204 123, sched_setaffinity 203 122,
sched_getparam 143 121, sched_getscheduler 145 120, sched_get_priority_max 146 125, sched_get_priority_min 147 126,
arch_prctl 158 -, set_tid_address 218 96, set_robust_list 273 99, get_robust_list 274 100, rseq 334 293,
membarrier 324 283, mlock 149 228, munlock 150 229, mincore 27 232, msync 26 227, get_mempolicy 239 236, exit 60 93,
exit_group 231 94
"""
_REFUSED = """
ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440, kcmp 312 272,
pidfd_getfd 438 438, pidfd_send_signal 424 424, io_uring_setup 425 425, io_uring_enter 426 426,
io_uring_register 427 427, unshare 272 97, setns 308 268, mount 165 40, umount2 166 39, move_mount 429 429,
open_tree 428 428, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, mount_setattr 442 442,
pivot_root 155 41, chroot 161 51, name_to_handle_at 303 264, open_by_handle_at 304 265, bpf 321 280,
perf_event_open 298 241, userfaultfd 323 282, keyctl 250 219, add_key 248 217, request_key 249 218,
init_module 175 105, finit_module 313 273, delete_module 176 106, kexec_load 246 104, kexec_file_load 320 294
"""
_CONDITIONAL = """
clone 56 220, clone3 435 435, kill 62 129, tgkill 234 131, prlimit64 302 261, ioctl 16 29, fcntl 72 25,
prctl 157 167, socket 41 198
"""
_TERMINAL = (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # is it one, what waits, closed on exec
_DESCRIPTOR = (*range(8), 36, 37, 38, 1030, 1033, 1034)  # F_DUPFD … F_SETLKW, their newer forms, seals; no F_SETOWN
_NAMING = (15, 16, 23, 0x53564D41)  # PR_SET_NAME, PR_GET_NAME, PR_CAPBSET_READ, PR_SET_VMA

Step = tuple[int, int, int, int]  # code, jump if true, jump if false, operand
_END: tuple[Step, Step] = ((_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE))


@dataclass(frozen=True)
class _Machine:
    architecture: int  # as the kernel's audit names it
    column: int  # of the tables above


_MACHINES = {"x86_64": _Machine(0xC000003E, 1), "aarch64": _Machine(0xC00000B7, 2)}


def refuse_system_calls(libc: ctypes.CDLL, *, programs: bool) -> bool:
    """Install the filter; False, with nothing changed, where it cannot be: other machines, kernels without seccomp.

    `programs`: for a process that starts others. "No new privileges" must have been set.
    """
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        return False
    steps = _filter(machine, os.getpid(), programs=programs)
    program = b"".join(struct.pack("HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(buffer))
    return bool(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0) == 0)


def _filter(machine: _Machine, pid: int, *, programs: bool) -> list[Step]:
    steps: list[Step] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_EQUAL, 1, 0, machine.architecture),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, _NUMBER),
        (_JUMP_FROM, 0, 1, _SECOND_ABI),
        (_RETURN, 0, 0, _REFUSE),
    ]
    special = _numbers(_CONDITIONAL, machine)
    if programs:
        steps += _answers(_numbers(_REFUSED, machine).values(), _REFUSE)
        steps += _answers([special["clone3"]], _UNKNOWN)  # its flags lie in memory, where a filter cannot look
        steps += _where(special["clone"], _without_bits(_NAMESPACES))
        steps += _where(special["socket"], _among(0, [AF_UNIX]))
        return [*steps, (_RETURN, 0, 0, _ALLOW)]
    steps += _answers(_numbers(_ALLOWED, machine).values(), _ALLOW)
    steps += _answers([special["clone3"]], _UNKNOWN)
    steps += _where(special["clone"], [*_without_bits(_NAMESPACES)[:-1], (_JUMP_BITS, 0, 1, _THREAD), *_END])
    for name in ("kill", "tgkill"):  # `abort` sends a signal to its own process
        steps += _where(special[name], _among(0, [pid]))
    steps += _where(special["prlimit64"], _among(0, [0, pid]))
    steps += _where(special["ioctl"], _among(1, _TERMINAL))
    steps += _where(special["fcntl"], _among(1, _DESCRIPTOR))
    steps += _where(special["prctl"], _among(0, _NAMING))
    return [*steps, (_JUMP_FROM, 0, 1, _NEWER), (_RETURN, 0, 0, _UNKNOWN), (_RETURN, 0, 0, _REFUSE)]


def _numbers(table: str, machine: _Machine) -> dict[str, int]:
    rows = (entry.split() for entry in table.replace("\n", " ").split(","))
    return {row[0]: int(row[machine.column]) for row in rows if row[machine.column] != "-"}


def _answers(numbers: Iterable[int], answer: int) -> list[Step]:
    return [step for number in numbers for step in ((_JUMP_EQUAL, 0, 1, number), (_RETURN, 0, 0, answer))]


def _where(number: int, check: list[Step]) -> list[Step]:
    """For this call the check decides."""
    return [(_JUMP_EQUAL, 0, len(check), number), *check]


def _among(argument: int, values: Iterable[int]) -> list[Step]:
    checks = [step for value in values for step in ((_JUMP_EQUAL, 0, 1, value), (_RETURN, 0, 0, _ALLOW))]
    return [(_LOAD, 0, 0, _ARGUMENTS[argument]), *checks, (_RETURN, 0, 0, _REFUSE)]


def _without_bits(bits: int) -> list[Step]:
    return [(_LOAD, 0, 0, _ARGUMENTS[0]), (_JUMP_BITS, 0, 1, bits), (_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
