"""The people and clients of the API tests."""

from tests.api.conftest import alice, bob, eve, root, world

__all__ = ["alice", "bob", "eve", "root", "world"]
