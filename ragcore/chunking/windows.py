"""Windows over text that stays one chunk, so that the index sees all of it (D10)."""

from __future__ import annotations

from collections.abc import Sequence

from ragcore.chunking.atoms import Atomiser
from ragcore.chunking.packing import Packer
from ragcore.ports import TokenCounter
from ragcore.types import Block


def windows(blocks: Sequence[Block], counter: TokenCounter, *, limit: int, overlap: float) -> list[str]:
    """Texts of at most `limit` tokens that cover the blocks in order, cut where chunks would be cut.

    Each begins with the last sentences of the one before, about `overlap` of it. Sections do not matter.
    """
    present = [block for block in blocks if block.text.strip()]
    atoms = Atomiser(counter, limit).all_atoms(present, 0, len(present))
    return [piece.text for piece in Packer(counter, limit // 2, limit, overlap).pack(atoms)]
