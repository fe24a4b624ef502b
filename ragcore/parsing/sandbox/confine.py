"""Limits that a process sets for itself before it opens an untrusted file.

They cover memory, time, disk, network, programs and privileges. Resource limits hold everywhere. On Linux the process
also leaves the network, drops root, restricts the files that it may open (Landlock) and refuses system calls (seccomp);
each as far as the kernel permits it. The numbers and structures of Landlock are those of <linux/landlock.h>; they are
the same on every machine.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import stat
import struct
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

import ragcore
from ragcore.parsing.sandbox.system_calls import refuse_system_calls

NOBODY = 65534
CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x00020000, 0x10000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
_CAPABILITY_VERSION = 0x20080522
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
_SYSTEM_FOLDERS = ("/usr", "/lib", "/lib64", "/bin", "/opt", "/var/cache/fontconfig", "/dev/urandom")
_NULL, TMP = Path("/dev/null"), Path("/tmp")  # noqa: S108 (programs expect this very path)
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/fonts", "/etc/localtime", "/etc/mime.types", "/etc/alternatives")
_PACKAGE = Path(ragcore.__file__).resolve().parent  # all of our own modules
_LIBREOFFICE = ("/etc/libreoffice", "/var/lib/libreoffice", "/var/spool/libreoffice")  # as Debian spreads it
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15  # known from ABI 2, 3 and 5 on
_REMOVE_FILE, _MAKE_SOCKET = 1 << 5, 1 << 9
_FIRST_ABI = (1 << 13) - 1
SIGNALS_ABI = 6
_TCP, _SCOPES = 0b11, 0b11  # bind and connect; abstract sockets and signals
_READING = _EXECUTE | _READ_FILE | _READ_DIR
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL


MEASURES = ("limits", "network", "user", "files", "signals", "system_calls")
REQUIRED = ("limits", "files", "system_calls")  # without these a file could read or reach what is not its own
UNCONFINED_EXIT = 71  # status of a process that was to be confined and could not be


def confine(
    *, memory_bytes: int, cpu_seconds: int, output_bytes: int, workspace: Path | None = None, required: bool = False
) -> frozenset[str]:
    """Give up what parsing does not need; cannot be undone in this process. Returns which MEASURES are in force.

    A process with a `workspace` may write in that folder, start programs and talk to them over local sockets, all
    under the same limits; without one it can do none of this. With `required` a process that cannot have all of
    REQUIRED ends here (SystemExit with UNCONFINED_EXIT).
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    if workspace is not None:  # large programs map libraries and fonts, which cost addresses but no memory
        resource.setrlimit(resource.RLIMIT_DATA, (memory_bytes // 2, memory_bytes // 2))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (output_bytes, output_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    measures = {"limits"} | (_confine_on_linux(workspace) if sys.platform == "linux" else set())
    if required and not measures.issuperset(REQUIRED):
        raise SystemExit(UNCONFINED_EXIT)
    return frozenset(measures)


def _confine_on_linux(workspace: Path | None) -> set[str]:
    """The measures that the kernel and the container permit."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    network = _leave_network(libc)
    user = os.geteuid() != 0 or _drop_root(workspace) or _drop_capabilities(libc)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)  # a change of user clears it
    workspaces = [workspace] if workspace else []
    files = restrict_files(libc, readable=_needed(), writable=[_NULL, *workspaces], sockets=[TMP] if workspace else [])
    signals = files and _landlock_abi(libc) >= SIGNALS_ABI
    system_calls = refuse_system_calls(libc, programs=workspace is not None)
    alone = system_calls and workspace is None  # the filter refuses every socket and signals to others
    in_force = {
        "network": network or alone,
        "user": user,
        "files": files,
        "signals": signals or alone,
        "system_calls": system_calls,
    }
    return {name for name, is_taken in in_force.items() if is_taken}


def private_tmp(folder: Path) -> Path:
    """Let a folder stand in the place of /tmp for this process and the programs that it starts.

    To be called before `confine`. Returns where the folder is now: /tmp, or where it was if the kernel or the
    container forbids it, or if our own program lies below /tmp and would vanish.
    """
    if sys.platform != "linux" or any(path.resolve().is_relative_to(TMP) for path in _installation()):
        return folder
    libc = ctypes.CDLL(None, use_errno=True)
    flags = CLONE_NEWNS if os.geteuid() == 0 else CLONE_NEWUSER | CLONE_NEWNS
    if libc.unshare(flags) != 0 or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        return folder
    return TMP if libc.mount(os.fsencode(folder), os.fsencode(TMP), None, MS_BIND, None) == 0 else folder


def _leave_network(libc: ctypes.CDLL) -> bool:
    """Move to a network namespace without interfaces; False where the kernel or the container forbids it."""
    flags = CLONE_NEWNET if os.geteuid() == 0 else CLONE_NEWUSER | CLONE_NEWNET
    return bool(libc.unshare(flags) == 0 or libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0)


def _drop_root(workspace: Path | None) -> bool:
    """Become nobody if this is root; False where that cannot be, or the installation would be out of reach."""
    if os.geteuid() != 0 or not all(_open_to_all(path) for path in (*_installation(), *_parents(workspace))):
        return False
    try:
        if workspace is not None:
            os.chown(workspace, NOBODY, NOBODY)
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError:  # inside a user namespace, or without the capability
        return False
    return True


def _drop_capabilities(libc: ctypes.CDLL) -> bool:
    """Root without capabilities is a user like others who owns root's files, and those Landlock keeps closed."""
    header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
    return bool(libc.capset(header, bytes(24)) == 0)  # effective, permitted, inheritable, twice 32 bits each


def _installation() -> list[Path]:
    """Where this interpreter, its packages and our own modules lie, one file of each that must be readable."""
    libraries = [Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib")]
    prefixes = [Path(sys.prefix), Path(sys.base_prefix)]
    return [Path(__file__).resolve(), _PACKAGE, *libraries, *prefixes, *map(Path, _imported())]


def _imported() -> set[str]:
    """Folders on the path that hold packages; the working folder, which holds the site's data, is not one."""
    here = {"", str(Path.cwd())}
    return {entry for entry in sys.path if entry not in here and Path(entry).exists()}


def _needed() -> list[Path]:
    """All that a parser may read: the interpreter, the libraries, our modules, fonts. Nothing of the site's data."""
    return [*_installation()[1:], *map(Path, (*_SYSTEM_FOLDERS, *_SYSTEM_FILES, *_LIBREOFFICE))]


def _parents(path: Path | None) -> list[Path]:
    return [path.parent] if path is not None else []


def _open_to_all(path: Path) -> bool:
    """Whether everybody may read a path and come to it."""
    try:
        return bool(path.stat().st_mode & stat.S_IROTH) and all(
            parent.stat().st_mode & stat.S_IXOTH for parent in path.resolve().parents
        )
    except OSError:
        return False


def restrict_files(
    libc: ctypes.CDLL, *, readable: Iterable[Path], writable: Iterable[Path] = (), sockets: Iterable[Path] = ()
) -> bool:
    """Only what lies beneath these paths can be opened from now on; open descriptors keep working.

    Newer kernels also refuse TCP, and signals to processes that are not confined together with this one.

    In `sockets`, local sockets may be made and removed, nothing else.
    The process must have set "no new privileges". False, with nothing changed, where the kernel has no Landlock.
    """
    abi = _landlock_abi(libc)
    if abi < 1:
        return False
    handled = _FIRST_ABI | (_REFER if abi > 1 else 0) | (_TRUNCATE if abi > 2 else 0) | (_IOCTL if abi > 4 else 0)
    attributes = struct.pack("Q", handled)
    if abi >= SIGNALS_ABI:  # no TCP, and neither signals nor abstract sockets to processes outside
        attributes = struct.pack("QQQ", handled, _TCP, _SCOPES)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
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


def _landlock_abi(libc: ctypes.CDLL) -> int:
    """Version of the kernel's Landlock; below 1: none."""
    return int(libc.syscall(_CREATE_RULESET, None, 0, _VERSION_FLAG))


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
