"""Models of folders in one process, which the other processes of a machine ask over a unix socket.

`ModelProcess` (client) sends texts and gets numbers, `ModelServer` loads models and computes: questions first, long
batches in slices between them.
"""
