"""Announcements of administrators above the chat of a tenant."""
