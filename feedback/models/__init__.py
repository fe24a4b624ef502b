"""Votes, signals, bad cases."""

from feedback.models.cases import BadCase
from feedback.models.votes import Signal, Vote

__all__ = ["BadCase", "Signal", "Vote"]
