"""As whom the database runs: PostgreSQL refuses root, containers and fresh machines often have nobody else."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from ragsite.embedded.processes import ServiceError, launcher

UNPRIVILEGED_NAMES = ("nobody", "postgres", "daemon")


@dataclass(frozen=True, slots=True)
class NamespaceIdentity:
    """Root outside, `uid` inside a user namespace; files stay root's."""

    uid: int

    def options(self) -> dict[str, object]:
        return {"kind": "namespace", "uid": self.uid}


@dataclass(frozen=True, slots=True)
class UserIdentity:
    """Another user of this machine, who must be able to reach the data folder and the programs."""

    uid: int
    gid: int

    def options(self) -> dict[str, object]:
        return {"kind": "user", "uid": self.uid, "gid": self.gid}

    def take_over(self, folder: Path) -> None:
        """Give an empty folder to the user."""
        os.chown(folder, self.uid, self.gid)

    def require_access(self, *paths: Path) -> None:
        """Raises ServiceError naming the first folder that the user cannot enter; nobody else's mode is changed."""
        for path in paths:
            for folder in reversed(path.resolve().parents):
                if not self._may_enter(folder):
                    raise ServiceError(
                        f"PostgreSQL does not run as root, and user {pwd.getpwuid(self.uid).pw_name} cannot enter "
                        f"{folder}. Start as an ordinary user, or choose a DATA_DIR that every user can reach."
                    )

    def _may_enter(self, folder: Path) -> bool:
        found = folder.stat()
        if found.st_uid == self.uid:
            return bool(found.st_mode & 0o100)
        return bool(found.st_mode & (0o010 if found.st_gid == self.gid else 0o001))


Identity = NamespaceIdentity | UserIdentity | None  # None: as we are


def choose_identity(database: Path) -> Identity:
    """Ourselves where we are no root and have a name; else the owner of the database, a namespace, another user."""
    if os.geteuid() != 0:
        return None if _has_name(os.geteuid()) else _nameless()
    if database.exists() and (owner := database.stat()).st_uid != 0:
        return UserIdentity(owner.st_uid, owner.st_gid)
    account = _unprivileged_account()
    inside = NamespaceIdentity(account.pw_uid)
    return inside if _is_allowed(inside) else UserIdentity(account.pw_uid, account.pw_gid)


def _nameless() -> Identity:
    """Containers run with user ids that the system does not know by name; initdb insists on one."""
    inside = NamespaceIdentity(_unprivileged_account().pw_uid)
    return inside if _is_allowed(inside) else None


def _has_name(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _unprivileged_account() -> pwd.struct_passwd:
    """A user that the system knows by name, because initdb looks it up."""
    accounts = {account.pw_name: account for account in pwd.getpwall() if account.pw_uid != 0}
    if not accounts:
        raise ServiceError("PostgreSQL does not run as root, and this system knows no other user.")
    return next((accounts[name] for name in UNPRIVILEGED_NAMES if name in accounts), next(iter(accounts.values())))


def _is_allowed(identity: NamespaceIdentity) -> bool:
    """Whether the kernel lets us make a user namespace; many containers forbid it."""
    probe = [*launcher(identity.options()), sys.executable, "-I", "-S", "-c", "import os; assert os.geteuid()"]
    return subprocess.run(probe, capture_output=True, check=False, timeout=20).returncode == 0
