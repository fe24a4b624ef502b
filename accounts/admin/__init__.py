"""Admin pages for people and access."""

from accounts.admin import access, audit

__all__ = ["access", "audit"]
