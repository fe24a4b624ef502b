"""Admin pages for people and access."""

from accounts.admin import access, people

__all__ = ["access", "people"]
