"""The texts by which a chunk is found besides its own: summaries, questions, captions, table rows."""

from ragcore.representations.entries import RepresentationResult, RepresentationText, represent
from ragcore.representations.writer import GIVE_UP_AFTER, EntryKind, Failure, Missed

__all__ = [
    "GIVE_UP_AFTER",
    "EntryKind",
    "Failure",
    "Missed",
    "RepresentationResult",
    "RepresentationText",
    "represent",
]
