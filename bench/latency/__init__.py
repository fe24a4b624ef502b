"""Time to the first word of a running product: `python -m bench.latency`."""
