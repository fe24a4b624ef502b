"""Outlook messages in memory: a writer of compound files (MS-CFB, version 3) just large enough for them."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

SECTOR, MINI = 512, 64
FREE, END, FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
CUTOFF = 4096  # streams from this size on have sectors of their own

Tree = Mapping[str, "bytes | Tree"]  # name -> stream or folder


@dataclass
class _Entry:
    name: str
    kind: int  # 1 folder, 2 stream, 5 root
    data: bytes = b""
    right: int = FREE
    child: int = FREE


def ole_bytes(tree: Tree) -> bytes:
    """A compound file with these streams and folders."""
    entries = [_Entry("Root Entry", 5)]
    entries[0].child = _add(tree, entries)
    mini, mini_fat, places = _mini_stream(entries)
    entries[0].data = mini
    directory_sectors = -(-len(entries) // 4)
    big = [(index, entry.data) for index, entry in enumerate(entries) if entry.kind != 1 and len(entry.data) >= CUTOFF]
    if mini and len(mini) < CUTOFF:
        big.append((0, mini))
    chains = [directory_sectors, -(-len(mini_fat) * 4 // SECTOR), *(-(-len(data) // SECTOR) for _, data in big)]
    fat, starts = _fat(chains)
    for (index, _), start in zip(big, starts[2:], strict=True):
        places[index] = start
    directory = b"".join(_entry_bytes(entry, places.get(index, END)) for index, entry in enumerate(entries))
    body = [directory, struct.pack(f"<{len(mini_fat)}I", *mini_fat), *(data for _, data in big)]
    padded = b"".join(_padded(part, b"\xff" if position == 1 else b"\0") for position, part in enumerate(body))
    return _head(fat, starts, chains) + _padded(struct.pack(f"<{len(fat)}I", *fat), b"\xff") + padded


def _add(tree: Tree, entries: list[_Entry]) -> int:
    """Entries of a folder as a list that goes to the right; the number of the first one."""
    first = previous = FREE
    for name, content in sorted(tree.items()):
        number = len(entries)
        entries.append(_Entry(name, 2, content) if isinstance(content, bytes) else _Entry(name, 1))
        if previous == FREE:
            first = number
        else:
            entries[previous].right = number
        previous = number
        if not isinstance(content, bytes):
            entries[number].child = _add(content, entries)
    return first


def _mini_stream(entries: list[_Entry]) -> tuple[bytes, list[int], dict[int, int]]:
    """Small streams in a row, the table of their pieces, and where each begins."""
    mini, table, places = b"", [], {}
    for index, entry in enumerate(entries):
        if entry.kind == 2 and 0 < len(entry.data) < CUTOFF:
            count, start = -(-len(entry.data) // MINI), len(table)
            places[index] = start
            table += [*range(start + 1, start + count), END]
            mini += entry.data.ljust(count * MINI, b"\0")
    return mini, table, places


def _fat(chains: list[int]) -> tuple[list[int], list[int]]:
    """The table of sectors, itself first, and where each chain begins."""
    own = 1
    while own * (SECTOR // 4) < own + sum(chains):
        own += 1
    fat, starts = [FAT] * own, []
    for count in chains:
        starts.append(len(fat) if count else END)
        fat += [*range(len(fat) + 1, len(fat) + count), END] if count else []
    return fat, starts


def _head(fat: list[int], starts: list[int], chains: list[int]) -> bytes:
    tables = fat.count(FAT)
    head = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += struct.pack("<IIIII", 0, tables, starts[0], 0, CUTOFF)
    head += struct.pack("<IIII", starts[1], chains[1], END, 0)
    return head + struct.pack("<109I", *range(tables), *[FREE] * (109 - tables))


def _entry_bytes(entry: _Entry, start: int) -> bytes:
    raw = entry.name.encode("utf-16-le")
    head = raw.ljust(64, b"\0") + struct.pack("<HBBIII", len(raw) + 2, entry.kind, 1, FREE, entry.right, entry.child)
    return head + bytes(36) + struct.pack("<IQ", 0 if entry.kind == 1 else start, len(entry.data))


def _padded(data: bytes, filler: bytes) -> bytes:
    return data + filler * (-len(data) % SECTOR)


# ── messages ────────────────────────────────────────────────────────────────────────────────────

STRING, STRING8, BINARY, INTEGER = 0x001F, 0x001E, 0x0102, 0x0003


def message(
    *,
    texts: Mapping[int, str],
    html: bytes = b"",
    rich: bytes = b"",
    parts: Tree | None = None,
    head: int = 32,
    narrow: Mapping[int, bytes] | None = None,
    numbers: Mapping[int, int] | None = None,
) -> dict[str, bytes | Tree]:
    """The streams of a message: text properties by their id, HTML or compressed RTF body, folders of attachments.

    `narrow` are text properties in 8 bits.
    """
    values: dict[tuple[int, int], bytes] = {(key, STRING): text.encode("utf-16-le") for key, text in texts.items()}
    if html:
        values[0x1013, BINARY] = html
    if rich:
        values[0x1009, BINARY] = rich
    values |= {(key, STRING8): content for key, content in (narrow or {}).items()}
    return {**_properties(values, head, numbers or {}), **(parts or {})}


def recipient(name: bytes) -> dict[str, bytes | Tree]:
    """The streams of a recipient with a name in 8 bits."""
    return _properties({(0x3001, STRING8): name}, 8)


def attachment(name: str | bytes, content: bytes, *, key: str = "") -> dict[str, bytes | Tree]:
    """The streams of an attached file. A name in bytes is one in 8 bits."""
    values = {(0x3701, BINARY): content}
    if isinstance(name, bytes):
        values[0x3707, STRING8] = name
    else:
        values[0x3707, STRING] = name.encode("utf-16-le")
    if key:
        values[0x3712, STRING] = key.encode("utf-16-le")
    return _properties(values, 8)


def attached_message(inner: Tree) -> dict[str, bytes | Tree]:
    return {**_properties({}, 8), "__substg1.0_3701000D": inner}


def _properties(
    values: Mapping[tuple[int, int], bytes], head: int, numbers: Mapping[int, int] | None = None
) -> dict[str, bytes | Tree]:
    table = bytes(head) + b"".join(
        struct.pack("<HHIQ", kind, key, 6, len(data)) for (key, kind), data in values.items()
    )
    table += b"".join(struct.pack("<HHIQ", INTEGER, key, 6, value) for key, value in (numbers or {}).items())
    return {
        "__properties_version1.0": table,
        **{f"__substg1.0_{key:04X}{kind:04X}": data for (key, kind), data in values.items()},
    }
