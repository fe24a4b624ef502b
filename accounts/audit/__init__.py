"""The audit log: who did what, added to and never changed."""
