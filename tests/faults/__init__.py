"""kill -9 anywhere, and nothing that was acknowledged is lost: `make faults`."""
