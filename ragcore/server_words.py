"""What a model server has said, for `detail` of an error: clients of several packages tell it alike."""

from __future__ import annotations

SAID_CHARACTERS = 500


def server_words(text: str, *, key: str = "") -> str:
    """The beginning of what a server has answered, in one line and without the key, which some servers repeat."""
    return " ".join((text.replace(key, "…") if key else text).replace("\0", "").split())[:SAID_CHARACTERS]
