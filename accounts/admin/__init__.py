"""Admin pages for people and access."""

from accounts.admin import access

__all__ = ["access"]
