"""What a source handler says, and what it makes of one document, as plain values (D10)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from knowledge.models import SourceHandler


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule: where the pattern matches, something is written. Words are those of HandlerRule's choices."""

    looks: str
    match: str
    pattern: str
    action: str
    attribute: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """A handler with its rules in order; the default does nothing."""

    whole: bool = False
    keep_latest: bool = False
    series_template: str = ""
    version_template: str = ""
    title_template: str = ""
    field_map: Mapping[str, str] = field(default_factory=dict)  # name in the source system -> attribute
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What a handler wants on a document. Nothing of it is written yet."""

    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""  # empty: as it is
    whole: bool = False  # not cut into passages
    skip: bool = False  # the document is left out
    series: str = ""
    series_version: str = ""
    slow: tuple[str, ...] = ()  # patterns that were given up after their time


def handler_value(row: SourceHandler) -> Handler:
    """The handler of a row, its rules read in one query."""
    rules = row.rules.values_list("looks", "match", "pattern", "action", "attribute", "value")
    names = ("looks", "match", "pattern", "action", "attribute", "value")
    return Handler(
        whole=row.splitting == SourceHandler.Splitting.WHOLE,
        keep_latest=row.keep_latest,
        series_template=row.series_template,
        version_template=row.version_template,
        title_template=row.title_template,
        field_map=dict(row.field_map),
        rules=tuple(Rule(**dict(zip(names, rule, strict=True))) for rule in rules.order_by("position", "id")),
    )
