"""Keeping another search backend in step with Postgres, and moving tenants there and back (D39)."""

from knowledge.services.backends.applying import backend_changes_apply
from knowledge.services.backends.checking import BackendChecked, backend_check
from knowledge.services.backends.moving import Copied, backend_copy, backend_leave, backend_refresh

__all__ = [
    "BackendChecked",
    "Copied",
    "backend_changes_apply",
    "backend_check",
    "backend_copy",
    "backend_leave",
    "backend_refresh",
]
