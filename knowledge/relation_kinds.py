"""How one document can stand to another: the kinds of relations, each with its words from either end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext_lazy, pgettext_lazy

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise as Words


REPLACES, EXTENDS, BELONGS_TO, LINKS = "replaces", "extends", "belongs_to", "links"
DESIGN_OF, DEVELOPED_BY, TESTED_BY = "design_of", "developed_by", "tested_by"
FEATURE = (DESIGN_OF, DEVELOPED_BY, TESTED_BY)  # between the documents of one feature


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationKind:
    """A kind. It is written once, from source to target; the other end sees `inverse`."""

    code: str
    label: Words  # what the source is to the target
    inverse: str  # code from the other end
    inverse_label: Words
    is_chain: bool = False  # no document comes back to itself along it


KINDS: Mapping[str, RelationKind] = {
    kind.code: kind
    for kind in (
        RelationKind(
            code=REPLACES,
            label=gettext_lazy("replaces"),
            inverse="replaced_by",
            inverse_label=gettext_lazy("replaced by"),
            is_chain=True,
        ),
        RelationKind(
            code=EXTENDS,
            label=gettext_lazy("extends"),
            inverse="extended_by",
            inverse_label=gettext_lazy("extended by"),
            is_chain=True,
        ),
        RelationKind(
            code=BELONGS_TO,
            label=gettext_lazy("belongs to"),
            inverse="has_part",
            inverse_label=pgettext_lazy("relation of documents", "contains"),
            is_chain=True,
        ),
        RelationKind(
            code=DESIGN_OF,
            label=gettext_lazy("is the design of"),
            inverse="designed_in",
            inverse_label=gettext_lazy("is designed in"),
        ),
        RelationKind(
            code=DEVELOPED_BY,
            label=gettext_lazy("is developed in"),
            inverse="develops",
            inverse_label=gettext_lazy("develops"),
        ),
        RelationKind(
            code=TESTED_BY,
            label=gettext_lazy("is tested by"),
            inverse="tests",
            inverse_label=gettext_lazy("tests"),
        ),
        RelationKind(
            code=LINKS,
            label=gettext_lazy("links to"),
            inverse="linked_from",
            inverse_label=gettext_lazy("linked from"),
        ),
    )
}
CHOICES = tuple((kind.code, kind.label) for kind in KINDS.values())
INVERSES: Mapping[str, str] = {kind.inverse: kind.code for kind in KINDS.values()}
WORDS: Mapping[str, Words] = {
    **{kind.code: kind.label for kind in KINDS.values()},
    **{kind.inverse: kind.inverse_label for kind in KINDS.values()},
}
CODES = tuple(sorted(WORDS))  # of kinds and of their inverses


def directions(codes: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """The kinds to follow from source to target, and those to follow backwards. Without codes: all, both ways.

    Raises KeyError for what is neither a kind nor the inverse of one.
    """
    codes = frozenset(codes)
    if not codes:
        return frozenset(KINDS), frozenset(KINDS)
    if unknown := codes - WORDS.keys():
        raise KeyError(min(unknown))
    return codes & KINDS.keys(), frozenset(INVERSES[code] for code in codes & INVERSES.keys())
