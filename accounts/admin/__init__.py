"""Admin pages for people and access."""

from accounts.admin import access, audit, keys

__all__ = ["access", "audit", "keys"]
