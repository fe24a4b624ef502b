"""Admin pages for people and access."""

from accounts.admin import access, keys

__all__ = ["access", "keys"]
