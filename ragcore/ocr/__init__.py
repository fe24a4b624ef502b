"""Character recognition in a process of its own: client.py asks, worker.py reads."""
