"""Versions of an answer: the turns of a conversation are a tree, of which one branch is shown.

Asking again and editing an earlier question make another version beside the first; follow-ups belong to the branch that
they were asked in.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from accounts.errors import NotFoundError
from chat.models import Conversation, Message


@dataclass(frozen=True)
class Branches:
    """Turns of one conversation in the order in which they were asked.

    `parents`: turn → the turn that it follows, None for a first one. `leaf`: the last turn of the branch that is shown;
    None: no turn has been placed in the tree, and all of them stand in one line.
    """

    parents: Mapping[uuid.UUID, uuid.UUID | None]
    leaf: uuid.UUID | None = None

    def path_to(self, message_id: uuid.UUID | None) -> list[uuid.UUID]:
        """The branch from its first turn to this one; [] for None."""
        path: dict[uuid.UUID, None] = {}
        while message_id is not None and message_id in self.parents and message_id not in path:
            path[message_id] = None
            message_id = self.parents[message_id]
        return [*reversed(path)]

    @cached_property
    def shown(self) -> list[uuid.UUID]:
        """The turns of the branch that is shown, in order."""
        return self.path_to(self.leaf) if self.leaf in self.parents else list(self.parents)

    def end_of(self, message_id: uuid.UUID) -> uuid.UUID:
        """The last turn below this one, by way of the newest version at each turn."""
        visited = {message_id}
        while (below := self._children.get(message_id)) and below[-1] not in visited:
            message_id = below[-1]
            visited.add(message_id)
        return message_id

    def versions_of(self, message_id: uuid.UUID) -> list[uuid.UUID]:
        """This turn and those that were asked in its place, the oldest first."""
        if self.leaf is None:
            return [message_id]
        return self._children[self.parents[message_id]]

    def branch_with(self, message_id: uuid.UUID | None) -> list[uuid.UUID]:
        """The branch that holds this turn: the one that is shown if it does, else the newest below the turn."""
        if message_id is None or self.leaf is None or message_id in self.shown:
            return self.shown
        return self.path_to(self.end_of(message_id))

    def with_turn(self, message_id: uuid.UUID, parent: uuid.UUID | None) -> Branches:
        """These turns and a new one, which is shown."""
        return Branches(parents={**self.parents, message_id: parent}, leaf=message_id)

    @cached_property
    def _children(self) -> dict[uuid.UUID | None, list[uuid.UUID]]:
        children: dict[uuid.UUID | None, list[uuid.UUID]] = {}
        for pk, parent in self.parents.items():
            children.setdefault(parent, []).append(pk)
        return children


def branches_of(conversation: Conversation) -> Branches:
    """The turns of a stored conversation; the caller has checked whose it is."""
    rows = Message.objects.filter(conversation_id=conversation.pk).order_by("created", "pk")
    return Branches(parents=dict(rows.values_list("pk", "parent_id")), leaf=conversation.leaf_id)


def parent_of_new(branches: Branches, *, instead_of: uuid.UUID | None, after: uuid.UUID | None) -> uuid.UUID | None:
    """The turn that a new one follows: as the turn whose place it takes, or else at the end of a branch.

    `after`: a turn of the branch that the asker sees; where turns were added to it meanwhile, the new one comes behind
    them. None: the branch that is shown. Raises NotFoundError for a turn that is not of this conversation.
    """
    reference = instead_of or after
    if reference is not None and reference not in branches.parents:
        raise NotFoundError("message", message=str(reference))
    if instead_of is not None:
        return branches.parents[instead_of]
    end = after or next(reversed(branches.shown), None)
    return branches.end_of(end) if end is not None else None
