"""Admin pages for people and access."""

from accounts.admin import access, audit, groups, keys

__all__ = ["access", "audit", "groups", "keys"]
