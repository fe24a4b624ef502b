"""The other views of a document's page: what it says about itself, how it was made, its versions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import formats, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.admin.pages import page_response
from accounts.errors import NotFoundError
from accounts.models import ClearanceLevel
from accounts.relative_time import exact_day, exact_time
from accounts.scope import Scope
from knowledge.admin.curation import ids_of
from knowledge.admin.duplicates import side_by_side
from knowledge.admin.option_forms import layer_label
from knowledge.models import Attribute, Document, DocumentVersion
from knowledge.selectors.comparisons import version_diff
from knowledge.selectors.keeping import versions_listed
from knowledge.selectors.options import group_label, option_label, pipeline_options, pipeline_origin, shown
from knowledge.selectors.passages import entries_counted
from knowledge.selectors.reviews import review_of
from knowledge.selectors.sets import sets_readable

REPRESENTATIONS = {
    "body": gettext_lazy("text of passages"),
    "summary": gettext_lazy("summaries"),
    "window": gettext_lazy("parts of unchunked documents"),
    "question": gettext_lazy("questions"),
    "caption": gettext_lazy("image captions"),
    "table": gettext_lazy("tables as sentences"),
}

Fact = tuple[str, Any]

GROUPS = tuple(Attribute.Group)
REPORT = {
    "passages": gettext_lazy("passages"),
    "entries": gettext_lazy("entries"),
    "pages_recognised": gettext_lazy("pages read by OCR"),
    "pictures": gettext_lazy("images"),
    "pictures_unread": gettext_lazy("images without OCR"),
    "left_out": gettext_lazy("over the image limit"),
    "time": gettext_lazy("image time limit reached"),
    "damaged": gettext_lazy("damaged images"),
    "rendition": gettext_lazy("no PDF preview, because of"),
    "edits": gettext_lazy("owner edits"),
    "applied": gettext_lazy("re-applied"),
    "lost": gettext_lazy("passage no longer exists"),
    "disabled": gettext_lazy("passages excluded from search"),
    "representations": gettext_lazy("enriched"),
    "summary.model": gettext_lazy("summaries by the LLM"),
    "summary.extractive": gettext_lazy("extractive summaries"),
    "summary.short": gettext_lazy("too short for a summary"),
    "section.model": gettext_lazy("section summaries by the LLM"),
    "section.outline": gettext_lazy("section summaries from headings"),
    "question.model": gettext_lazy("passages with questions by the LLM"),
    "question.rules": gettext_lazy("passages with questions by rules"),
    "model.unavailable": gettext_lazy("LLM did not respond"),
    "model.refused": gettext_lazy("LLM refused"),
    "model.invalid": gettext_lazy("LLM output not usable"),
    "model.interrupted": gettext_lazy("LLM output incomplete"),
    "model.skipped": gettext_lazy("LLM no longer called"),
    "cleaning": gettext_lazy("cleaned"),
    "mojibake": gettext_lazy("blocks with garbled characters repaired"),
    "invisible": gettext_lazy("blocks with invisible characters"),
    "timestamps": gettext_lazy("blocks with log timestamps removed"),
    "empty": gettext_lazy("empty blocks"),
    "side_notes": gettext_lazy("margin notes removed"),
    "covers": gettext_lazy("cover page blocks removed"),
    "contents": gettext_lazy("table of contents blocks removed"),
}


@dataclass(frozen=True, slots=True)
class FactGroup:
    """One of the four groups of attributes."""

    name: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class OptionFact:
    label: str
    value: str
    origin: str


# ── attributes ──────────────────────────────────────────────────────────────────────────────────


def attributes_of(*, scope: Scope, document: Document, version: DocumentVersion | None) -> list[FactGroup]:
    """What the document says about itself and what is known of it; attributes without a value are left out."""
    attributes = list(Attribute.objects.filter(tenant=document.tenant_id))
    codes = {attribute.code for attribute in attributes}
    declared = {
        group: [_fact(a, document.metadata[a.code]) for a in attributes if _is_here(a, group, document)]
        for group in GROUPS
    }
    declared[Attribute.Group.MANAGEMENT] += [
        (k, _text(v)) for k, v in sorted(document.metadata.items()) if k not in codes
    ]
    built_in = {
        Attribute.Group.BASIC: _basic(document, version),
        Attribute.Group.MANAGEMENT: [
            (_("tags"), ", ".join(document.tags)),
            (_("series"), document.series),
            *_review(scope, document),
        ],
        Attribute.Group.KNOWLEDGE: _axes(document),
        Attribute.Group.RECALL: [(_("weight"), formats.number_format(document.weight)), *_recall(scope, version)],
    }
    return [
        FactGroup(
            str(group.label), tuple(fact for fact in [*built_in[group], *declared[group]] if fact[1] not in ("", None))
        )
        for group in GROUPS
    ]


def _review(scope: Scope, document: Document) -> list[Fact]:
    """By when it is to be reviewed, and who did it last."""
    row = review_of(scope=scope, document=document)
    if row is None:
        return []
    facts = [(_("review by"), exact_day(row.review_by))] if row.review_by else []
    if row.reviewed:
        day = exact_day(row.reviewed)
        facts.append((_("last reviewed"), f"{day} · {row.reviewed_by}" if row.reviewed_by else day))
    return facts


def _is_here(attribute: Attribute, group: str, document: Document) -> bool:
    return attribute.group == group and document.metadata.get(attribute.code) not in (None, "", [])


def _fact(attribute: Attribute, value: Any) -> Fact:
    is_chinese = translation.get_language() == "zh-hans"
    return (attribute.name_zh if is_chinese and attribute.name_zh else attribute.name), _text(value)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)


def _basic(document: Document, version: DocumentVersion | None) -> list[Fact]:
    return [
        (_("id"), document.pk),
        (_("source"), str(document.source)),
        (_("external id"), document.external_id),
        (_("path in the source"), version.sent_as if version else ""),
        (_("file name"), version.file_name if version else ""),
        (_("clearance"), ClearanceLevel(document.clearance).label),
        (_("added by"), str(document.created_by or "")),
        (_("created"), exact_time(document.created)),
    ]


def _axes(document: Document) -> list[Fact]:
    """The sets of a document by axis."""
    rows = list(document.sets.order_by("axis", "name"))
    axes = dict.fromkeys(row.axis for row in rows)
    return [
        (rows_of[0].get_axis_display(), ", ".join(row.shown_name for row in rows_of))
        for axis in axes
        if (rows_of := [row for row in rows if row.axis == axis])
    ]


def _recall(scope: Scope, version: DocumentVersion | None) -> list[Fact]:
    if version is None:
        return []
    entries = entries_counted(scope=scope, version=version)
    kinds = [(str(REPRESENTATIONS.get(row.representation, row.representation)), row.number) for row in entries]
    models = ", ".join(sorted({row.embedding_model for row in entries}))
    return [
        *[(_("index entries: %(kind)s") % {"kind": kind}, number) for kind, number in kinds],
        (_("embedding model"), models),
    ]


# ── how it was made ─────────────────────────────────────────────────────────────────────────────


def pipeline_of(*, scope: Scope, document: Document, version: DocumentVersion | None) -> dict[str, Any]:
    """Options in force with their origin, and whether the version was made with them."""
    resolved = pipeline_origin(scope=scope, document=document)
    groups = [
        (
            group_label(code),
            [
                OptionFact(
                    option_label(code, field.name),
                    shown(getattr(resolved_group.value, field.name)),
                    layer_label(resolved_group.origin[field.name]),
                )
                for field in fields(resolved_group.value)
            ],
        )
        for code, resolved_group in resolved.items()
    ]
    present = pipeline_options(documents=[document])[document.pk].sha256
    return {
        "pipeline": groups,
        "is_present": version is not None and version.pipeline == present,
        "made_by": _made_by(scope, version),
    }


def _made_by(scope: Scope, version: DocumentVersion | None) -> str:
    """Whose options a version was made with, in words; "" where nobody recorded it."""
    if version is None or not version.pipeline or version.pipeline_sets is None:
        return ""
    if not version.pipeline_sets:
        return _("site default")
    rows = sets_readable(scope=scope).filter(pk__in=version.pipeline_sets)
    names = {row.pk: row.shown_name for row in rows}
    return ", ".join(names.get(pk, _("a set that you cannot see")) for pk in version.pipeline_sets)


# ── what ingestion met ──────────────────────────────────────────────────────────────────────────


def report_of(version: DocumentVersion | None) -> list[Fact]:
    """Counts in words; groups of counts are opened."""
    return list(_report("", version.report)) if version else []


def _report(prefix: str, values: dict[str, Any]) -> Iterable[Fact]:
    for name, value in values.items():
        if name == "edits" and not any(value.values()):
            continue
        words = str(REPORT.get(name) or REPRESENTATIONS.get(name) or name.replace("_", " "))
        label = f"{prefix}: {words}" if prefix else words
        if isinstance(value, dict):
            yield from _report(label, value)
        elif isinstance(value, list):
            yield label, len(value)
        else:
            yield label, shown(value) if isinstance(value, (bool, int, float)) else value


# ── versions ────────────────────────────────────────────────────────────────────────────────────


def diff_page(request: HttpRequest, *, scope: Scope, document: Document) -> HttpResponse:
    """Two versions side by side, or one below the other with `?view=unified`."""
    versions = list(versions_listed(scope=scope, document=document))
    numbers = ids_of([request.GET.get("old", ""), request.GET.get("new", "")])
    if len(numbers) != 2 and len(versions) > 1:
        numbers = [versions[1].number, versions[0].number]
    if len(numbers) != 2:
        raise NotFoundError("one_version", document=document.pk)
    diff = version_diff(scope=scope, document_id=document.pk, old=numbers[0], new=numbers[1])
    variables = {
        "title": _("Changes in %(name)s") % {"name": document.title},
        "document": document,
        "versions": versions,
        "diff": diff,
        "rows": side_by_side(diff.lines),
        "unified": request.GET.get("view") == "unified",
    }
    return page_response(request, "admin/knowledge/document/diff.html", variables)
