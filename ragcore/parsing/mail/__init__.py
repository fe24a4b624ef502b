"""Saved messages: .eml and .msg."""
