"""Writing feedback."""

from feedback.services.cases import case_move
from feedback.services.ratings import cited_documents_rate
from feedback.services.signals import signal_record
from feedback.services.votes import vote_record

__all__ = ["case_move", "cited_documents_rate", "signal_record", "vote_record"]
