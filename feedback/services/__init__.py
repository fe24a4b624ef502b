"""Writing feedback."""

from feedback.services.cases import case_move
from feedback.services.signals import signal_record
from feedback.services.votes import vote_record

__all__ = ["case_move", "signal_record", "vote_record"]
