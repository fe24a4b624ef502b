"""Evaluates the rules of a source handler for a document and keeps only the latest of a series.

Patterns run in the `regex` library because it can stop in the middle of a match. The standard library cannot, and one
pattern such as `(a|aa)+$` would block a worker for ever.

Templates look like `TS {1}.{2}` or `Rel-{3|base36}`: names or groups, and functions on them.
"""

from __future__ import annotations

import fnmatch
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

import regex
from django.db import transaction
from django.db.models import QuerySet

from knowledge.errors import RuleInvalidError, SupersededError
from knowledge.models import Document, HandlerRule, SourceHandler
from knowledge.services.deletion import documents_withdraw
from knowledge.services.relations.statements import Statement
from knowledge.services.replacing import may_replace

MAX_PATTERN = 512  # characters
MAX_TEXT = 200_000  # characters of a document that rules look at
MATCH_SECONDS = 0.5  # for one rule on one document
CHECK_SECONDS = 0.2
HARD_TEXTS = ("a" * 3000 + "!", "ab" * 1500 + "!", "1" * 3000 + "!", " " * 3000 + "!", "a b-1_" * 500 + "!")
Match = HandlerRule.Match
HOLE = re.compile(r"\{(\w+)((?:\|\w+)*)\}")
FUNCTIONS: Mapping[str, Callable[[str], str]] = {
    "base36": lambda text: str(int(text, 36)),  # 3GPP writes version 16 as g, 10 as a
    "number": lambda text: str(int(text)),  # without zeros in front
    "upper": str.upper,
    "lower": str.lower,
    "words": lambda text: " ".join(re.split(r"[\s_\-]+", text.strip())),
    "depth": lambda text: str(1 + _indentation(text)),  # level of what follows white space
    "trail": lambda text: " > ".join(part for part in text.split("/") if part),  # a path as a page hierarchy
}
logger = logging.getLogger(__name__)
Action, Looks = HandlerRule.Action, HandlerRule.Looks
CLEARANCE, READERS = "clearance", "readers"  # what is mapped to these decides who may read, see security.py
SECURITY_TARGETS = frozenset({CLEARANCE, READERS})
REVIEW_BY = "review_by"  # what is mapped to it is the date by which the document is to be reviewed
NO_ATTRIBUTES = SECURITY_TARGETS | {REVIEW_BY}
HIDDEN = "_"  # attributes that begin with it serve templates and are not written on the document
MAX_VALUE = 512  # characters of an attribute
Key = tuple[tuple[int, int, str], ...]


# ── values ────────────────────────────────────────────────────────────────────────────────────────


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
class HandlerOutcome:
    """What a handler wants on a document. Nothing of it is written yet."""

    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    title: str = ""  # empty: as it is
    whole: bool = False  # not cut into passages
    skip: bool = False  # the document is left out
    series: str = ""
    series_version: str = ""
    slow: tuple[str, ...] = ()  # patterns that were given up after their time
    clearance: str | None = None  # as a rule says, for knowledge.services.handlers.security
    review_by: Any = None  # as the source or a rule says, for knowledge.services.handlers.review_dates
    relations: tuple[Statement, ...] = ()  # to other documents


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


# ── patterns ──────────────────────────────────────────────────────────────────────────────────────


def pattern_groups(*, match: str, pattern: str, text: str) -> Mapping[str, str] | None:
    """What the first match captured, "0" being all of it; None without a match. Case does not count.

    Raises TimeoutError after MATCH_SECONDS, RuleInvalidError for an expression that cannot be read.
    """
    return next(pattern_matches(match=match, pattern=pattern, text=text), None)


def pattern_matches(*, match: str, pattern: str, text: str) -> Iterator[Mapping[str, str]]:
    """The same for every match, in their order."""
    looked_at = text[:MAX_TEXT]
    if match == Match.CONTAINS:
        if pattern.casefold() in looked_at.casefold():
            yield {"0": pattern}
        return
    expression = _compiled(fnmatch.translate(pattern) if match == Match.GLOB else pattern)
    for found_match in expression.finditer(looked_at, timeout=MATCH_SECONDS):
        captured = {str(number): group or "" for number, group in enumerate(found_match.groups(), 1)}
        names = {name: group or "" for name, group in found_match.groupdict().items()}
        yield {"0": found_match.group(0), **captured, **names}


def pattern_check(*, match: str, pattern: str) -> None:
    """Raises RuleInvalidError for patterns that cannot be read, or that take long on texts made to be hard."""
    if not pattern or len(pattern) > MAX_PATTERN:
        raise RuleInvalidError("length", limit=MAX_PATTERN)
    if match != Match.REGEX:
        return
    expression = _compiled(pattern)
    try:
        for text in HARD_TEXTS:
            expression.search(text, timeout=CHECK_SECONDS)
    except TimeoutError:
        raise RuleInvalidError("slow", expression=pattern) from None


@lru_cache(maxsize=512)
def _compiled(expression: str) -> regex.Pattern[str]:
    try:
        return regex.compile(expression, flags=regex.IGNORECASE)
    except (regex.error, OverflowError, RecursionError) as error:
        raise RuleInvalidError("expression", expression=expression, problem=str(error)) from None


# ── templates ─────────────────────────────────────────────────────────────────────────────────────


def _indentation(text: str) -> int:
    """How often a text is indented, by four spaces or by a tab."""
    spaces = text.expandtabs(4)
    return (len(spaces) - len(spaces.lstrip()) + 2) // 4


def template_fill(template: str, values: Mapping[str, str]) -> str:
    """The template with its holes filled; empty where a hole has no value or a function cannot take it."""
    try:
        return HOLE.sub(lambda hole: _value(hole, values), template).strip()
    except (KeyError, ValueError):
        return ""


def template_check(template: str) -> None:
    """Raises RuleInvalidError for functions that do not exist and braces that belong to no hole."""
    for hole in HOLE.finditer(template):
        for name in filter(None, hole[2].split("|")):
            if name not in FUNCTIONS:
                functions = ", ".join(sorted(FUNCTIONS))
                raise RuleInvalidError("function", name=name, known=functions)
    if set(HOLE.sub("", template)) & set("{}"):
        raise RuleInvalidError("braces", template=template)


def _value(hole: re.Match[str], values: Mapping[str, str]) -> str:
    text = values[hole[1]]
    if not text:
        raise KeyError(hole[1])
    for name in filter(None, hole[2].split("|")):
        text = FUNCTIONS[name](text)
    return text


# ── evaluation ────────────────────────────────────────────────────────────────────────────────────


def handler_evaluate(
    *, handler: Handler, path: str, name: str, title: str, text: str | None, metadata: Mapping[str, Any]
) -> HandlerOutcome:
    """What the handler says about a document.

    With `text` None (at registration) rules about the text are left out; once it is known, all rules run again and
    the outcome replaces the former one. Rules run in order: later ones overwrite the attributes of earlier ones.
    Attributes whose names begin with `_` are only seen by templates. Rules for indentation are those of
    `document_nest`.
    """
    looked_at: dict[str, str | None] = {Looks.PATH: path, Looks.NAME: name, Looks.TITLE: title, Looks.TEXT: text}
    attributes = {
        ours: metadata[theirs]
        for theirs, ours in handler.field_map.items()
        if metadata.get(theirs) and ours not in NO_ATTRIBUTES
    }
    review_by = mapped_review_date(handler, metadata)
    clearance: str | None = None
    tags: list[str] = []
    slow: list[str] = []
    relations: list[Statement] = []
    whole, skip = handler.whole, False
    for rule in handler.rules:
        if rule.action == Action.RELATE:
            relations += _related(rule, looked_at.get(rule.looks), slow)
            continue
        groups = _groups(rule, looked_at.get(rule.looks), slow)
        if groups is None:
            continue
        value = template_fill(rule.value, groups)[:MAX_VALUE]
        match rule.action:
            case Action.ADD_TAG if value:
                tags.append(value[:64])
            case Action.SET_ATTRIBUTE if rule.attribute in SECURITY_TARGETS:
                clearance = value if value and rule.attribute == CLEARANCE else clearance
            case Action.SET_ATTRIBUTE if rule.attribute == REVIEW_BY:
                review_by = value or review_by
            case Action.SET_ATTRIBUTE if value and rule.attribute:
                attributes[rule.attribute] = value
            case Action.SPLIT_WHOLE:
                whole = True
            case Action.SKIP:
                skip = True
    values = _known({**metadata, **attributes}, path=path, name=name, title=title)
    return HandlerOutcome(
        tags=tuple(dict.fromkeys(tags)),
        metadata={key: value for key, value in attributes.items() if not key.startswith(HIDDEN)},
        title=template_fill(handler.title_template, values)[:512],
        whole=whole,
        skip=skip,
        series=template_fill(handler.series_template, values)[:256],
        series_version=template_fill(handler.version_template, values)[:128],
        slow=tuple(slow),
        clearance=clearance,
        review_by=review_by,
        relations=tuple(dict.fromkeys(relations)),
    )


def mapped_review_date(handler: Handler, metadata: Mapping[str, Any]) -> Any:
    """The value of the field that is mapped to the review date; of several the last that is there, None without."""
    values = (metadata.get(theirs) for theirs, ours in handler.field_map.items() if ours == REVIEW_BY)
    return next(reversed([value for value in values if value]), None)


def _groups(rule: Rule, text: str | None, slow: list[str]) -> Mapping[str, str] | None:
    if text is None:
        return None
    try:
        return pattern_groups(match=rule.match, pattern=rule.pattern, text=text)
    except TimeoutError:  # a document must not wait for a pattern; the handler's page shows which one it was
        logger.warning("a rule was given up after its time: %s", rule.pattern)
        slow.append(rule.pattern)
        return None


def _related(rule: Rule, text: str | None, slow: list[str]) -> list[Statement]:
    """One statement for each match: a text may link to many documents."""
    if text is None:
        return []
    try:
        every = list(pattern_matches(match=rule.match, pattern=rule.pattern, text=text))
    except TimeoutError:
        logger.warning("a rule was given up after its time: %s", rule.pattern)
        slow.append(rule.pattern)
        return []
    references = dict.fromkeys(template_fill(rule.value, groups)[:MAX_VALUE] for groups in every)
    return [Statement(kind=rule.attribute, reference=reference) for reference in references if reference]


def _known(attributes: Mapping[str, Any], *, path: str, name: str, title: str) -> dict[str, str]:
    """What templates may name, as text."""
    texts = {key: str(value) for key, value in attributes.items() if isinstance(value, (str, int, float))}
    return {"path": path, "name": name, "stem": PurePosixPath(name).stem, "title": title, **texts}


def version_key(version: str) -> Key:
    """Natural order: numbers by value, text by letters, a leading v ignored: 9.2 < 10.0 < 10.0a."""
    parts = re.findall(r"\d+|[^\d\W_]+", version.casefold().removeprefix("v"))
    return tuple((1, int(part), "") if part.isdigit() else (0, 0, part) for part in parts)


def newer_in_series(*, document: Document, series: str, version: str) -> Document | None:
    """Another document of the same series and source with a higher version that is there or on its way."""
    documents = _series(document.source_id, [series]).exclude(pk=document.pk).exclude(state=Document.State.FAILED)
    newer = [
        other
        for other in documents
        if version_key(version_of(other)) > version_key(version) and may_replace(old=document, new=other)
    ]
    return max(newer, key=lambda other: version_key(version_of(other)), default=None)


def version_of(document: Document) -> str:
    """The version within the series that the handler wrote."""
    return str(document.handled.get("series_version", ""))


@transaction.atomic
def series_settle(*, document_ids: Iterable[int]) -> int:
    """Delete (softly) what newer live documents of the same series replace; returns how many.

    Called once documents have gone live, never before: a new version that cannot be read replaces nothing.
    Idempotent; documents without a series are ignored.
    """
    arrived = Document.objects.filter(pk__in=document_ids, deleted=None).exclude(series="")
    series_of_source: dict[int, set[str]] = defaultdict(set)
    for source_id, series in arrived.values_list("source_id", "series"):
        series_of_source[source_id].add(series)
    return sum(_settle(source_id, sorted(names)) for source_id, names in sorted(series_of_source.items()))


def _settle(source_id: int, names: list[str]) -> int:
    by_series: dict[str, list[Document]] = defaultdict(list)
    for document in _series(source_id, names).filter(live_version__isnull=False):
        by_series[document.series].append(document)
    gone = 0
    for rows in by_series.values():
        for old in rows:
            newer = [row for row in rows if version_key(version_of(row)) > version_key(version_of(old))]
            allowed = [row for row in newer if may_replace(old=old, new=row)]
            if allowed:
                newest = max(allowed, key=lambda row: version_key(version_of(row)))
                reason = SupersededError("replaced", title=newest.title)
                gone += documents_withdraw(tenant_id=old.tenant_id, document_ids=[old.pk], reason=reason)
    return gone


def _series(source_id: int, names: list[str]) -> QuerySet[Document]:
    rows = Document.objects.filter(source_id=source_id, series__in=names, deleted=None).exclude(series="")
    return rows.select_related("source")
