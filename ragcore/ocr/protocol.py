"""Messages between OCR client and worker: a picture goes out as size and raw pixels, lines come back as JSON.

Request: width, height, channels as three big-endian 32-bit numbers, then height * width * channels bytes.
Answer: its length in bytes as one such number, then {"lines": […], "rss_bytes": n} or {"error": "why"}.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from ragcore.types import Pixels, RecognisedLine

Read = Callable[[int], bytes]  # reads exactly so many bytes or raises EOFError

_SIZE = struct.Struct(">III")
_LENGTH = struct.Struct(">I")
MAX_ANSWER_BYTES = 16 * 1024 * 1024
MAX_PICTURE_BYTES = 256 * 1024 * 1024


def encode_request(pixels: Pixels) -> bytes:
    """The message that carries a picture. Raises ValueError if its sizes and data do not agree."""
    size = pixels.width * pixels.height * pixels.channels
    if size != len(pixels.data) or not 0 < size <= MAX_PICTURE_BYTES or pixels.channels not in (1, 3):
        raise ValueError("the size of a picture and its data do not agree")
    return _SIZE.pack(pixels.width, pixels.height, pixels.channels) + pixels.data


def read_request(read: Read) -> Pixels:
    """The next picture. Raises EOFError when the client has gone."""
    width, height, channels = _SIZE.unpack(read(_SIZE.size))
    return Pixels(width=width, height=height, channels=channels, data=read(width * height * channels))


def encode_answer(answer: dict[str, Any]) -> bytes:
    """An answer of the worker."""
    body = json.dumps(answer).encode()
    return _LENGTH.pack(len(body)) + body


def lines_to_json(lines: Sequence[RecognisedLine]) -> list[dict[str, Any]]:
    """Lines as an answer carries them."""
    return [asdict(line) for line in lines]


def read_answer(read: Read) -> dict[str, Any]:
    """The next answer. Raises EOFError when the worker has gone, ValueError for a malformed answer."""
    (length,) = _LENGTH.unpack(read(_LENGTH.size))
    if length > MAX_ANSWER_BYTES:
        raise ValueError("the answer of the recogniser is too long")
    answer = json.loads(read(length))
    if not isinstance(answer, dict):
        raise ValueError("not an answer of the recogniser")
    return answer


def lines_from_json(answer: dict[str, Any]) -> list[RecognisedLine]:
    """The lines of an answer. Raises ValueError for anything else: the pictures are untrusted, so the answer is too."""
    try:
        return [
            RecognisedLine(
                text=str(line["text"]), **{key: float(line[key]) for key in ("score", "x0", "y0", "x1", "y1")}
            )
            for line in answer["lines"]
        ]
    except (KeyError, TypeError) as problem:
        raise ValueError("not an answer of the recogniser") from problem
