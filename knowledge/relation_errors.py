"""Errors of relations between documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ragcore.errors import PermanentError, Sentence


class RelationInvalidError(PermanentError):
    """Two documents cannot stand to each other like this."""

    code = "relation_invalid"
    default_message = "These documents cannot be related like this."
    reasons: ClassVar[Mapping[str, Sentence]] = {
        "circle": "This would lead in a circle: “%(target)s” already leads to “%(source)s”.",
        "itself": "A document cannot be related to itself.",
        "kind": "There is no kind of relation '%(kind)s'. The kinds are: %(known)s.",
        "tenants": "Both documents must belong to the same tenant.",
        "many": "A document has at most %(limit)s relations that were set by hand.",
    }
