"""Events of running turns, kept in Redis Streams (B5, D32).

Event n of a turn is the entry `0-n` of the stream `turn:{message}:events`, so that a reader resumes after any number,
in any process. The stream lives for an hour after the turn; then the stored message serves.
"""

from chat.streaming.hub import close_hub
from chat.streaming.log import TurnLog
from chat.streaming.reading import read_events

__all__ = ["TurnLog", "close_hub", "read_events"]
