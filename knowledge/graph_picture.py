"""Where the nodes of a small graph are drawn: a force layout that gives the same picture for the same graph.

Fruchterman and Reingold, Graph Drawing by Force-directed Placement, 1991.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WIDTH, HEIGHT = 960, 560
MARGIN = 60
STEPS = 60
MOST_NODES = 300
LABEL = 22  # characters of a name that are drawn

Fact = tuple[int, str, str, str, str, str]  # id, key and name of the subject, relation, key and name of the object


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """An entity at its place."""

    name: str
    key: str
    x: int
    y: int
    degree: int
    is_centre: bool

    @property
    def label(self) -> str:
        """The name, shortened."""
        return self.name if len(self.name) <= LABEL else f"{self.name[: LABEL - 1]}…"

    @property
    def radius(self) -> int:
        """Pixels; larger for entities of many facts."""
        return min(16, 5 + self.degree)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A fact between two places, with the middle of the line for its words."""

    triple: int
    relation: str
    x1: int
    y1: int
    x2: int
    y2: int

    @property
    def label(self) -> str:
        """The relation, shortened."""
        return self.relation if len(self.relation) <= LABEL else f"{self.relation[: LABEL - 1]}…"

    @property
    def middle(self) -> tuple[int, int]:
        """Where the words stand."""
        return (self.x1 + self.x2) // 2, (self.y1 + self.y2) // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Nodes and edges in pixels of a WIDTH × HEIGHT area."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    width: int = WIDTH
    height: int = HEIGHT


def picture_of(facts: Sequence[Fact], *, centre: str = "") -> Picture:
    """Up to MOST_NODES entities, the first ones, and the facts between them."""
    names: dict[str, str] = {}
    for _id, subject, subject_name, _relation, object_, object_name in facts:
        for key, name in ((subject, subject_name), (object_, object_name)):
            if key in names or len(names) < MOST_NODES:
                names.setdefault(key, name)
    drawn = [fact for fact in facts if fact[1] in names and fact[4] in names]
    order = {key: number for number, key in enumerate(names)}
    pairs = [(order[fact[1]], order[fact[4]]) for fact in drawn]
    places = _layout(len(names), pairs, order.get(centre))
    degrees = [sum(number in pair for pair in pairs) for number in range(len(names))]
    nodes = tuple(
        Node(name=name, key=key, x=places[n][0], y=places[n][1], degree=degrees[n], is_centre=key == centre)
        for n, (key, name) in enumerate(names.items())
    )
    edges = tuple(
        Edge(triple=fact[0], relation=fact[3], x1=places[a][0], y1=places[a][1], x2=places[b][0], y2=places[b][1])
        for fact, (a, b) in zip(drawn, pairs, strict=True)
    )
    return Picture(nodes=nodes, edges=edges)


def _layout(count: int, pairs: Sequence[tuple[int, int]], centre: int | None) -> list[tuple[int, int]]:
    if count == 0:
        return []
    angles = np.arange(count) * 2.399963  # the golden angle: no two nodes begin at one place
    radii = np.sqrt((np.arange(count) + 0.5) / count)
    at = np.column_stack([np.cos(angles) * radii, np.sin(angles) * radii])
    distance = 1.6 / math.sqrt(count)
    ends = np.array([pair for pair in pairs if pair[0] != pair[1]], dtype=int).reshape(-1, 2)
    for step in range(STEPS):
        gaps = at[:, None, :] - at[None, :, :]
        distances = np.maximum(np.linalg.norm(gaps, axis=2), 0.01)
        moves = (gaps * (distance**2 / distances**2)[:, :, None]).sum(axis=1)
        if len(ends):
            pulls = at[ends[:, 0]] - at[ends[:, 1]]
            strength = np.linalg.norm(pulls, axis=1, keepdims=True) / distance
            np.add.at(moves, ends[:, 0], -pulls * strength)
            np.add.at(moves, ends[:, 1], pulls * strength)
        length = np.maximum(np.linalg.norm(moves, axis=1, keepdims=True), 1e-9)
        at = at + moves / length * np.minimum(length, 0.2 * (1 - step / STEPS))
        if centre is not None:
            at = at - at[centre]
    if centre is None:
        at = at - (at.max(axis=0) + at.min(axis=0)) / 2
    span = np.maximum(np.abs(at).max(axis=0), 1e-9)
    half = np.array([WIDTH / 2 - MARGIN * 1.6, HEIGHT / 2 - MARGIN])
    scaled = at / span * half + np.array([WIDTH / 2, HEIGHT / 2])
    return [(round(float(x)), round(float(y))) for x, y in scaled]
