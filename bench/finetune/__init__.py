"""Fitted query vectors on public sets, on questions about documents that were not there when they were fitted."""
