"""Puts characters together again that a server has cut between two pieces of a stream.

A model may end a token in the middle of a character. Some servers send such halves: as bytes that are no UTF-8, or as
one half of a surrogate pair in JSON. Halves without the other one become U+FFFD, so a text can always be encoded.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field

_SURROGATE = re.compile("[\ud800-\udfff]")
_LONE = re.compile(
    "[\ud800-\udc7f\udd00-\udfff]"
)  # halves of pairs; between them: bytes, as `surrogateescape` has them
_LAST_HALF = re.compile("[\ud800-\udbff]\\Z")


def _utf8() -> codecs.IncrementalDecoder:
    return codecs.getincrementaldecoder("utf-8")("replace")


@dataclass(slots=True)
class SplitCharacters:
    """Feed the texts of one stream, decoded with `errors="surrogateescape"`, in order."""

    _held: str = ""  # the first half of a pair
    _bytes: codecs.IncrementalDecoder = field(default_factory=_utf8)
    _has_bytes: bool = False  # the decoder holds the beginning of a character

    def feed(self, text: str) -> str:
        """What is whole after this text."""
        if not self._held and not self._has_bytes and _SURROGATE.search(text) is None:
            return text
        joined = (self._held + text).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        half = _LAST_HALF.search(joined)
        self._held = half[0] if half else ""
        whole = _LONE.sub("�", joined[: len(joined) - len(self._held)])
        decoded = self._bytes.decode(whole.encode("utf-8", "surrogateescape"))
        self._has_bytes = bool(self._bytes.getstate()[0])
        return decoded

    def flush(self) -> str:
        """The rest at the end of the stream."""
        rest = self._bytes.decode(b"", final=True) + ("�" if self._held else "")
        self._held, self._has_bytes = "", False
        return rest
