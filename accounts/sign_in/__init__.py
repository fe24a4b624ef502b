"""Signing in on the web: delays, steps, second factor, other identity providers, sessions. Keys do not pass here."""
