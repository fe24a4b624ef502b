"""Runs of golden sets: started, asked, measured, compared and shown."""
