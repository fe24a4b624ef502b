"""Many people at once: places for answers, fair use of threads, rates, open sockets, Redis."""
