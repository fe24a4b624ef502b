"""Character recognition in a process of its own (D9): client.py asks, worker.py reads."""
