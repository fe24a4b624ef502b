"""Small GGUF files: headers as llama.cpp's converter writes them, with tensors of zeros."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

QWEN: Mapping[str, Any] = {
    "general.architecture": "qwen2",
    "general.type": "model",
    "general.name": "Tiny Qwen",
    "qwen2.block_count": 2,
    "qwen2.context_length": 4096,
    "qwen2.embedding_length": 64,
    "qwen2.attention.head_count": 4,
    "qwen2.attention.head_count_kv": 2,
    "tokenizer.ggml.tokens": ["<s>", "a", "b"],
    "tokenizer.ggml.scores": [0.5, 0.25, 0.125],
    "tokenizer.chat_template": "{{ messages }}",
}
TENSORS = ((2, (64, 32)), (0, (64,)))  # type and dimensions: 64 blocks of 18 bytes, 64 floats
ALIGNMENT = 32


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def packed(value: Any) -> bytes:
    """A value with its type before it."""
    match value:
        case bool():
            return struct.pack("<I?", 7, value)
        case int():
            return struct.pack("<II", 4, value)
        case float():
            return struct.pack("<If", 6, value)
        case str():
            return struct.pack("<I", 8) + text(value)
        case bytes():
            return value  # as it is
    elements = [packed(element) for element in value]
    return struct.pack("<I", 9) + elements[0][:4] + struct.pack("<Q", len(value)) + b"".join(e[4:] for e in elements)


def header(
    values: Mapping[str, Any] = QWEN,
    tensors: Sequence[tuple[int, tuple[int, ...]]] = TENSORS,
    *,
    version: int = 3,
    counts: tuple[int, int] | None = None,
) -> tuple[bytes, int]:
    """The header, and how many bytes the whole file has to have for tensors of the types F32 and Q4_0."""
    parts = [b"GGUF", struct.pack("<IQQ", version, *(counts or (len(tensors), len(values))))]
    parts += [text(key) + packed(value) for key, value in values.items()]
    offset = end = 0
    for number, (kind, dimensions) in enumerate(tensors):
        sizes = struct.pack(f"<I{len(dimensions)}Q", len(dimensions), *dimensions)
        parts.append(text(f"tensor.{number}") + sizes + struct.pack("<IQ", kind, offset))
        weights = 1
        for dimension in dimensions:
            weights *= dimension
        end = offset + (weights * 4 if kind == 0 else weights // 32 * 18)
        offset = -(-end // ALIGNMENT) * ALIGNMENT
    head = b"".join(parts)
    return head, -(-len(head) // ALIGNMENT) * ALIGNMENT + end


def write_gguf(path: Path, values: Mapping[str, Any] = QWEN, *, missing_bytes: int = 0, **options: Any) -> Path:
    """A file that is whole, or lacks so many bytes at its end. It takes no space on the disk, however large it is."""
    head, size = header(values, **options)
    with path.open("wb") as file:
        file.write(head)
        file.truncate(size - missing_bytes)
    return path
