"""Asking questions. The same functions serve web, REST, the OpenAI-compatible API and evaluation."""

from chat.services.answers import answer_run
from chat.services.batches import BatchItem, answer_batch
from chat.services.sweeping import turns_sweep
from chat.services.turns import answer_now, turn_start, turn_stop, turns_shutdown
from chat.types import AnswerRequest

__all__ = [
    "AnswerRequest",
    "BatchItem",
    "answer_batch",
    "answer_now",
    "answer_run",
    "turn_start",
    "turn_stop",
    "turns_shutdown",
    "turns_sweep",
]
