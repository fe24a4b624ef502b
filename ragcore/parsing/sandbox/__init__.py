"""Processes that parse one untrusted file with limited memory, time, files and network."""
