"""What the search needs of the graph of entities, as a protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ragcore.types.graph import Node, Place

FloatArray = npt.NDArray[np.float32]


class EntityGraph(Protocol):
    """Entities with their places, as far as the bound scope may see them; what owners rejected is left out."""

    def named(self, keys: Sequence[str]) -> Mapping[str, Node]:
        """Entities by their keys."""
        ...

    def alike(self, keys: Sequence[str], *, least: float, limit: int) -> Mapping[str, Sequence[tuple[Node, float]]]:
        """For each key the entities with a similar one, with their similarity from `least` to 1, best first."""
        ...

    def near(self, vector: FloatArray, *, least: float, limit: int) -> Sequence[tuple[Node, float]]:
        """Entities whose names mean what float32[768] does, with their cosine from `least`, best first.

        Names that have no vector yet are left out.
        """
        ...

    def other_names(self, nodes: Sequence[Node]) -> Mapping[int, Sequence[Node]]:
        """Entities that passages, the lexicon or owners say are the same, by id."""
        ...

    def places(self, entities: Sequence[int], *, heads: int, each: int) -> Sequence[Place]:
        """Places of these entities: up to `heads` in titles and headings and up to `each` in texts, for each."""
        ...

    def inside(self, chunks: Sequence[int]) -> tuple[Sequence[Place], Mapping[int, Node]]:
        """Every place in these passages, and the entities by id."""
        ...

    def degrees(self, entities: Sequence[int], *, most: int) -> Mapping[int, int]:
        """How many places each of these entities has, counted up to `most`."""
        ...
