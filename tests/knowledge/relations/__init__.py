"""Relations between documents."""
