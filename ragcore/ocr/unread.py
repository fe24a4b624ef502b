"""Pictures whose text nobody has read, counted by reason in the metadata of a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from ragcore.types import ParsedDocument

# left_out: over the limit of pictures, or not kept; time: the time was over; damaged: it cannot be decoded
Reason = Literal["left_out", "time", "damaged"]

_PREFIX = "pictures_unread_"


def unread_metadata(counts: Mapping[Reason, int]) -> dict[str, str]:
    """Entries for the metadata; reasons that did not occur are left out."""
    return {f"{_PREFIX}{reason}": str(count) for reason, count in counts.items() if count}


def unread_counts(document: ParsedDocument) -> dict[str, int]:
    """How many pictures of a document are unread, by reason. A file may write there, too: numbers only."""
    named = (
        (name.removeprefix(_PREFIX), value) for name, value in document.metadata.items() if name.startswith(_PREFIX)
    )
    return {reason: int(value) for reason, value in named if reason in get_args(Reason) and value.isdecimal()}
