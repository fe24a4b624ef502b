"""Many people at once: `make load USERS=100 MINUTES=2`."""
