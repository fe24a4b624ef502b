"""Options of a set's pipeline with the layer that each value comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import F, Q, QuerySet
from django.utils.formats import number_format
from django.utils.translation import gettext

from accounts.compiled_queries import CompiledQuery
from accounts.errors import NotAllowedError, NotFoundError
from accounts.models import Tenant
from accounts.scope import Scope
from knowledge.models import Document, KnowledgeSet, OptionsChange, SiteOptions
from knowledge.options_draft import NO_DRAFT, OptionsDraft
from knowledge.selectors.sets import set_get, set_owned, sets_managed
from ragcore.options import (
    OPTION_GROUPS,
    ChunkingOptions,
    CleaningOptions,
    ParsingOptions,
    RepresentationOptions,
    Resolved,
    find_option,
    for_comparing,
    option_fields,
    options_sha256,
    resolve,
)
from ragcore.text.request_cache import cached

GROUPS: Mapping[str, type] = {code: group.options for code, group in OPTION_GROUPS.items()}
QUERY_GROUPS: Mapping[str, type] = {code: GROUPS[code] for code in ("retrieval", "answer", "voice")}
BESIDE = ("facts",)  # read beside the pipeline: no version is made anew for them
PIPELINE_GROUPS: Mapping[str, type] = {
    code: group for code, group in GROUPS.items() if code not in QUERY_GROUPS and code not in BESIDE
}

Layer = tuple[str, Mapping[str, Any]]
Stored = Mapping[str, Mapping[str, Any]]  # options by group, as in KnowledgeSet.options

_SITE: CompiledQuery[Stored] = CompiledQuery(
    lambda tenant: SiteOptions.objects.filter(tenant_id=tenant).values_list("options", flat=True), tenant=int
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOptions:
    """What a document is read, cut and described with."""

    parsing: ParsingOptions = ParsingOptions()
    cleaning: CleaningOptions = CleaningOptions()
    chunking: ChunkingOptions = ChunkingOptions()
    representations: RepresentationOptions = RepresentationOptions()
    sets: tuple[int, ...] = ()  # ids of those that decide; (): the site alone

    @property
    def sha256(self) -> str:
        """Fingerprint, stored with the version that was made with them."""
        return options_sha256(self.parsing, self.cleaning, self.chunking, self.representations)


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionShown:
    """One option as its form shows it."""

    group: str  # code
    name: str
    label: str
    help: str
    kind: str  # bool, int, float or str
    value: Any  # in force
    own: Any  # of this layer; None: inherited
    inherited: Any  # what holds without an own value
    origin: str  # default, site or the code of the set that the value in force comes from
    low: float | None = None
    high: float | None = None
    is_everyday: bool = False  # declared so, or has a value of its own
    choices: tuple[tuple[str, str], ...] = ()  # the values that it may have, each with its label
    longest: int = 64  # characters of a free text


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionGroupShown:
    """A group of options as its form shows it."""

    code: str
    name: str
    options: tuple[OptionShown, ...]


def pipeline_options(*, documents: Sequence[Document]) -> dict[int, PipelineOptions]:
    """The pipeline of each document, by document id.

    Of several sets the one decides that the uploader named first (`Document.leading_set`). Where there is none, or the
    document has left it, the first set by id that configures a group decides about that group.
    """
    sets = _sets_by_document(documents)
    site = _sites({document.tenant_id for document in documents})
    return {d.pk: _pipeline(d, site.get(d.tenant_id, {}), sets.get(d.pk, ())) for d in documents}


def reading_options(*, tenant_id: int) -> PipelineOptions:
    """What a file that belongs to no set is read and cut with: as the site says."""
    site = _sites([tenant_id]).get(tenant_id, {})
    groups: Any = {code: resolve(group, *_layers(code, site, ())).value for code, group in PIPELINE_GROUPS.items()}
    return PipelineOptions(**groups)


def options_shown(
    *, scope: Scope, set_id: int | None = None, tenant_id: int | None = None, is_lab: bool = False
) -> list[OptionGroupShown]:
    """Every option of a set, or of a site (no set; no tenant: the asker's), with its origin.

    `is_lab`: with the options that are for comparing.

    Raises NotFoundError; NotAllowedError for the site of a tenant that the asker does not administer.
    """
    if set_id is None:
        above: list[tuple[str, Stored]] = []
        layer, own_name = site_options(tenant_id=tenant_of_site(scope=scope, tenant_id=tenant_id)), "site"
    else:
        knowledge_set = set_get(scope=scope, set_id=set_id)
        above = [("site", site_options(tenant_id=knowledge_set.tenant_id))]
        layer, own_name = knowledge_set.options, f"set {knowledge_set.code}"
    return [
        OptionGroupShown(
            code=code,
            name=group_label(code),
            options=tuple(
                option
                for option in _options_shown(code, group, above, layer.get(code, {}), own_name)
                if is_lab or option.name not in for_comparing(group)
            ),
        )
        for code, group in GROUPS.items()
    ]


def tenant_of_site(*, scope: Scope, tenant_id: int | None = None) -> int:
    """The tenant whose site is meant: the asker's own, or another one that they administer. Raises NotAllowedError."""
    if tenant_id is None or tenant_id == scope.tenant_id:
        return scope.tenant_id
    if scope.administers != "everything" or not Tenant.objects.filter(pk=tenant_id).exists():
        raise NotAllowedError("site_options")
    return tenant_id


def site_options(*, tenant_id: int, draft: OptionsDraft = NO_DRAFT) -> Stored:
    """What the site says, by group; the options of its sets come before. Read once an answer (`computed_once`)."""
    if tenant_id in draft.sites:
        return draft.sites[tenant_id]
    return cached(("site options", tenant_id), lambda: _SITE.first(tenant=tenant_id) or {})


def pipeline_origin(*, scope: Scope, document: Document) -> dict[str, Resolved[Any]]:
    """The pipeline of one document, each group with the origin of its values."""
    del scope  # the document was found with it
    sets = _sets_by_document([document]).get(document.pk, ())
    site = site_options(tenant_id=document.tenant_id)
    of_document = [("document", document.chunking)] if document.chunking else []
    return {
        code: resolve(group, *_layers(code, site, sets), *(of_document if code == "chunking" else ()))
        for code, group in PIPELINE_GROUPS.items()
    }


def _sets_by_document(documents: Iterable[Document]) -> dict[int, tuple[KnowledgeSet, ...]]:
    """The set that decides by document, else those that configure something, in the order of their ids."""
    leading = {document.pk: document.leading_set_id for document in documents}
    decides = ~Q(knowledgeset__options={}) | Q(knowledgeset_id=F("document__leading_set_id"))
    links = Document.sets.through.objects.filter(decides, document_id__in=leading)
    by_document: dict[int, tuple[KnowledgeSet, ...]] = {}
    for link in links.select_related("knowledgeset").order_by("knowledgeset_id"):
        by_document[link.document_id] = (*by_document.get(link.document_id, ()), link.knowledgeset)
    for document_id, sets in by_document.items():
        if first := [row for row in sets if row.pk == leading[document_id]]:
            by_document[document_id] = tuple(first)
    return by_document


def _sites(tenant_ids: Iterable[int]) -> dict[int, Stored]:
    return dict(SiteOptions.objects.filter(tenant_id__in=tenant_ids).values_list("tenant_id", "options"))


def _layers(group: str, site: Stored, sets: Iterable[KnowledgeSet]) -> list[Layer]:
    configured = [(f"set {s.code}", s.options[group]) for s in sets if s.options.get(group)]
    return [("site", site.get(group, {})), *configured[:1]]


def _pipeline(document: Document, site: Stored, sets: Sequence[KnowledgeSet]) -> PipelineOptions:
    groups: Any = {code: resolve(group, *_layers(code, site, sets)).value for code, group in PIPELINE_GROUPS.items()}
    if document.chunking:
        layers = [*_layers("chunking", site, sets), ("document", document.chunking)]
        groups["chunking"] = resolve(ChunkingOptions, *layers).value
    if document.is_whole:
        groups["chunking"] = replace(groups["chunking"], split=False)
    return PipelineOptions(**groups, sets=_deciding(document, sets))


def _deciding(document: Document, sets: Sequence[KnowledgeSet]) -> tuple[int, ...]:
    """Ids of the sets whose options a document is processed with, also of a leading one that inherits them all."""
    configured = [next((s.pk for s in sets if s.options.get(code)), None) for code in PIPELINE_GROUPS]
    leading = [s.pk for s in sets if s.pk == document.leading_set_id]
    return tuple(sorted({*leading, *(pk for pk in configured if pk is not None)}))


def _options_shown(
    code: str, group: type, above: Sequence[tuple[str, Stored]], layer: Mapping[str, Any], own_name: str
) -> Iterable[OptionShown]:
    layers = [(name, stored.get(code, {})) for name, stored in above]
    inherited: Resolved[Any] = resolve(group, *layers)
    now: Resolved[Any] = resolve(group, *layers, (own_name, layer))
    for name, field in option_fields(group).items():
        declared = field.option
        yield OptionShown(
            group=code,
            name=name,
            label=gettext(declared.label),
            help=gettext(declared.help) if declared.help else "",
            kind=field.kind.__name__,
            value=getattr(now.value, name),
            own=layer.get(name),
            inherited=getattr(inherited.value, name),
            origin=now.origin[name],
            low=declared.low,
            high=declared.high,
            is_everyday=declared.everyday or name in layer,
            choices=tuple((choice.value, gettext(choice.label)) for choice in declared.choices),
            longest=declared.longest,
        )


# ── labels, in the language of the reader ───────────────────────────────────────────────────────


def group_label(code: str) -> str:
    """The label of an option group; the code where there is no such group."""
    return gettext(OPTION_GROUPS[code].label) if code in OPTION_GROUPS else code


def option_label(group: str, name: str) -> str:
    """The label of an option; its name where there is no such option."""
    declared = find_option(group, name)
    return gettext(declared.label) if declared else name


def choice_label(group: str, name: str, value: str) -> str:
    """The label of one value of an option; the value where it has none."""
    declared = find_option(group, name)
    label = declared.choice_label(value) if declared else value
    return gettext(label) if label else ""


def value_label(group: str, name: str, value: Any) -> str:
    """A value of an option as people read it: the label of a choice, or the value itself."""
    label = choice_label(group, name, value) if isinstance(value, str) else ""
    return label or shown(value)


def shown(value: Any) -> str:
    """A value for people."""
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, float):
        return f"{value:g}"
    return str(number_format(value, use_l10n=True)) if isinstance(value, int) else str(value) or gettext("none")


# ── history ───────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One option in two states; None: inherited."""

    group: str
    option: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsOwner:
    """Whose options are meant: a set, or the site of a tenant (no set)."""

    tenant_id: int
    knowledge_set: KnowledgeSet | None
    own: Stored  # its own options, without what it inherits

    @property
    def code(self) -> str:
        return "site" if self.knowledge_set is None else self.knowledge_set.code


def options_owner(*, scope: Scope, set_id: int | None = None, tenant_id: int | None = None) -> OptionsOwner:
    """A set that the asker keeps, or the site that they administer. Raises NotFoundError, NotAllowedError."""
    if set_id is not None:
        knowledge_set = set_owned(scope=scope, set_id=set_id)
        return OptionsOwner(tenant_id=knowledge_set.tenant_id, knowledge_set=knowledge_set, own=knowledge_set.options)
    if scope.administers == "nothing":
        raise NotAllowedError("site_options")
    tenant = tenant_of_site(scope=scope, tenant_id=tenant_id)
    return OptionsOwner(tenant_id=tenant, knowledge_set=None, own=site_options(tenant_id=tenant))


def options_changes(*, scope: Scope) -> QuerySet[OptionsChange]:
    """Changes of the sets that the asker keeps and of the sites that they administer, the newest first."""
    changes = OptionsChange.objects.select_related("actor", "knowledge_set", "tenant").order_by("-pk")
    if scope.administers == "everything":
        return changes
    condition = Q(knowledge_set__in=sets_managed(scope=scope))
    if scope.administers == "tenant":
        condition |= Q(knowledge_set=None)
    return changes.filter(condition, tenant_id=scope.tenant_id)


def options_change_get(*, scope: Scope, change_id: int) -> OptionsChange:
    """A change that the asker may take back. Raises NotFoundError."""
    change = options_changes(scope=scope).filter(pk=change_id).first()
    if change is None:
        raise NotFoundError
    return change


def options_differences(*, scope: Scope, old: Stored, new: Stored) -> list[Difference]:
    """What is different in the second state, in the order of the forms; options of other versions come last."""
    del scope  # both states are the asker's already
    groups = [*GROUPS, *sorted((old.keys() | new.keys()) - GROUPS.keys())]
    return [difference for code in groups for difference in _of_group(code, old.get(code, {}), new.get(code, {}))]


def _of_group(code: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Difference]:
    declared = list(getattr(GROUPS.get(code), "__dataclass_fields__", {}))
    names = [*declared, *sorted((old.keys() | new.keys()) - set(declared))]
    return [
        Difference(group=code, option=name, old=old.get(name), new=new.get(name))
        for name in names
        if old.get(name) != new.get(name)
    ]
