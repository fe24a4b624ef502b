"""Reading golden sets and runs. Every function takes the asker's scope."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import chain

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, TextField, Value, When

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from chat.models import Message
from evaluation.models import Diagnosis, EvaluationRun, GoldenCase, GoldenSet
from evaluation.queue import DIAGNOSE_CASES
from feedback.services import is_reviewing
from knowledge.models import Chunk, Document, KnowledgeSet
from knowledge.selectors import documents_openable, documents_readable, sets_managed
from knowledge.selectors.passages import chunks_readable
from work.models import Job
from work.selectors import jobs_of

NUMBERED = re.compile(r"#\d{1,12}")
NAMES_AT_ONCE = 1000  # in one statement


def golden_sets_listed(*, scope: Scope) -> QuerySet[GoldenSet]:
    """Golden sets of the asker's tenant; platform administrators see all."""
    rows = GoldenSet.objects.all()
    return rows if scope.administers == "everything" else rows.filter(tenant_id=scope.tenant_id)


def golden_sets_kept(*, scope: Scope, actor: User) -> QuerySet[GoldenSet]:
    """Golden sets that the asker may change: administrators and reviewers all of their tenant, others those that they
    made or whose knowledge sets they own, every one of them.
    """
    rows = golden_sets_listed(scope=scope)
    if is_reviewing(actor) or scope.administers != "nothing":
        return rows
    set_ids = list(sets_managed(scope=scope).order_by().values_list("pk", flat=True))
    memberships = GoldenSet.sets.through.objects.filter(goldenset_id=OuterRef("pk"))
    owned = Q(Exists(memberships)) & ~Q(Exists(memberships.exclude(knowledgeset_id__in=set_ids)))
    return rows.filter(Q(created_by=scope.user_id) | owned)


def golden_sets_about(*, knowledge_set: KnowledgeSet) -> QuerySet[GoldenSet]:
    """Golden sets that ask a knowledge set and speak for it: they hold back its changes, and teach its adapters.

    Those made by people who manage the set or review for the tenant, or by nobody who is still here. Keeping one set
    gives no say in another.
    """
    rows = GoldenSet.objects.filter(tenant_id=knowledge_set.tenant_id, sets=knowledge_set)
    makers = User.objects.filter(pk__in=rows.exclude(created_by=None).values("created_by")).select_related("tenant")
    speaking = [user.pk for user in makers if _speaks_for(user, knowledge_set)]
    return rows.filter(Q(created_by=None) | Q(created_by__in=speaking))


def _speaks_for(user: User, knowledge_set: KnowledgeSet) -> bool:
    if is_reviewing(user) and user.tenant_id == knowledge_set.tenant_id:
        return True
    return sets_managed(scope=scope_for(user)).filter(pk=knowledge_set.pk).exists()


def golden_set_named(*, scope: Scope, name: str) -> GoldenSet:
    """The golden set of the asker's tenant with this name. Raises NotFoundError."""
    golden_set = GoldenSet.objects.filter(tenant_id=scope.tenant_id, name=name).first()
    if golden_set is None:
        raise NotFoundError("named_golden_set", name=name)
    return golden_set


def golden_cases(*, golden_set: GoldenSet, limit: int | None = None) -> list[GoldenCase]:
    """The cases in the order in which they were added, the first `limit` of them."""
    return list(golden_set.cases.order_by("id")[:limit])


def names_hidden(*, scope: Scope, names: Iterable[str]) -> set[str]:
    """Those of the names (external ids, #numbers) that belong to a document which the asker may not open.

    A name of several documents is hidden if one of them is, and a deleted document is open to nobody. A number of no
    document is that of one which was purged. Another name of no document is not hidden: it may be loaded later.
    """
    sorted_names = sorted(set(names))
    hidden: set[str] = set()
    for start in range(0, len(sorted_names), NAMES_AT_ONCE):
        hidden |= _hidden(scope, set(sorted_names[start : start + NAMES_AT_ONCE]))
    return hidden


def _hidden(scope: Scope, names: set[str]) -> set[str]:
    numbers = {int(name[1:]) for name in names if NUMBERED.fullmatch(name)}
    rows = Document.objects.filter(Q(external_id__in=names) | Q(pk__in=numbers))
    purged = numbers - set(rows.order_by().values_list("pk", flat=True))
    if scope.administers != "everything":
        rows = rows.filter(tenant_id=scope.tenant_id)
    closed = rows.exclude(pk__in=documents_readable(scope=scope).values("pk")).values_list("pk", "external_id")
    hidden = {name for pk, external_id in closed for name in (f"#{pk}", external_id)}
    return (hidden | {f"#{number}" for number in purged}) & names


def cases_withheld(*, scope: Scope, cases: QuerySet[GoldenCase]) -> QuerySet[GoldenCase]:
    """Cases that name a document which the asker may not open: what they expect is not shown."""
    names = set(chain.from_iterable(cases.order_by().values_list("relevant", flat=True)))
    return cases.filter(relevant__overlap=sorted(names_hidden(scope=scope, names=names)))


def runs_of(*, scope: Scope, golden_set: GoldenSet | None = None) -> QuerySet[EvaluationRun]:
    """Runs over golden sets that the asker sees, newest first."""
    rows = EvaluationRun.objects.filter(golden_set__in=golden_sets_listed(scope=scope)).select_related("golden_set")
    return rows if golden_set is None else rows.filter(golden_set=golden_set)


def diagnosis_latest(*, scope: Scope, message: Message) -> Diagnosis | None:
    """The latest diagnosis of an answer that the caller has got within their rights.

    None where there is none. One that rests on a document that the asker may not open does not exist for them.
    """
    rows = Diagnosis.objects.filter(diagnosis_shown(scope=scope), message=message)
    return rows.select_related("document", "created_by").first()


def diagnosis_shown(*, scope: Scope) -> Q:
    """Condition on diagnoses: they rest on no document, or on one that the asker may open."""
    readable = documents_readable(scope=scope).order_by().values("pk")
    return Q(document=None) | Q(document__in=readable)


def diagnosis_run_latest(*, scope: Scope) -> Job | None:
    """The latest run over the cases of the asker's tenant."""
    return jobs_of(scope=scope, kind=DIAGNOSE_CASES, subject="").first()


def documents_named(*, scope: Scope, names: Iterable[str]) -> list[int]:
    """Ids of the documents of these names (external ids, #numbers) that the asker may open."""
    return sorted(set(chain.from_iterable(documents_by_name(scope=scope, names=names).values())))


def documents_by_name(*, scope: Scope, names: Iterable[str]) -> dict[str, list[int]]:
    """Name -> ids of the documents that have it and that the asker may open; names of none are left out."""
    sorted_names = sorted(set(names))
    ids: dict[str, list[int]] = defaultdict(list)
    for start in range(0, len(sorted_names), NAMES_AT_ONCE):
        some = set(sorted_names[start : start + NAMES_AT_ONCE])
        numbers = {int(name[1:]) for name in some if NUMBERED.fullmatch(name)}
        rows = documents_readable(scope=scope).filter(Q(external_id__in=some) | Q(pk__in=numbers))
        for pk, external_id in rows.order_by("pk").values_list("pk", "external_id"):
            for name in {external_id, f"#{pk}"} & some:
                ids[name].append(pk)
    return ids


def documents_titled(*, scope: Scope, names: Iterable[str]) -> dict[str, str]:
    """Name -> title of the latest document that has it and that the asker may open; names of none are left out."""
    ids = documents_by_name(scope=scope, names=names)
    rows = documents_readable(scope=scope).filter(pk__in=set(chain.from_iterable(ids.values())))
    titles = {
        pk: title or external or f"#{pk}" for pk, title, external in rows.values_list("pk", "title", "external_id")
    }
    return {name: titles[pks[-1]] for name, pks in ids.items() if pks[-1] in titles}


def names_gone(*, tenant_id: int, names: Iterable[str]) -> set[str]:
    """Those of the names (external ids, #numbers) that no document of the tenant has which is not deleted."""
    sorted_names = sorted(set(names))
    gone: set[str] = set(sorted_names)
    for start in range(0, len(sorted_names), NAMES_AT_ONCE):
        some = set(sorted_names[start : start + NAMES_AT_ONCE])
        numbers = {int(name[1:]) for name in some if NUMBERED.fullmatch(name)}
        rows = Document.objects.filter(Q(external_id__in=some) | Q(pk__in=numbers), tenant_id=tenant_id, deleted=None)
        for pk, external_id in rows.values_list("pk", "external_id"):
            gone -= {external_id, f"#{pk}"}
    return gone


def cases_outdated(*, cases: QuerySet[GoldenCase]) -> QuerySet[GoldenCase]:
    """Cases that name a document which is gone: they need attention, and no figure counts them."""
    found = cases.order_by().values_list("golden_set__tenant_id", "relevant")
    names: dict[int, set[str]] = defaultdict(set)
    for tenant_id, relevant in found:
        names[tenant_id].update(relevant)
    gone = Q(pk__in=[])
    for tenant_id, wanted in names.items():
        if lost := names_gone(tenant_id=tenant_id, names=wanted):
            gone |= Q(golden_set__tenant_id=tenant_id, relevant__overlap=sorted(lost))
    return cases.filter(gone)


def chunks_named(*, scope: Scope, chunks: Iterable[int]) -> dict[int, tuple[int, str, str]]:
    """Passage -> (document, its external id, text), of those that the asker may open."""
    rows = Chunk.objects.filter(pk__in=list(chunks), version__document__in=documents_readable(scope=scope))
    found = rows.order_by().values_list("pk", "version__document_id", "version__document__external_id", "text")
    return {pk: (document, external_id, text) for pk, document, external_id, text in found}


def chunks_titled(*, scope: Scope, chunks: Iterable[int]) -> dict[int, tuple[int, str, str, str]]:
    """Passage -> (document, its external id, title, text), of those that the asker may read now.

    The text is "" where the originals are withheld: runs and lists show what no answer to the asker cites.
    """
    opened = Q(version__document__in=documents_openable(scope=scope).order_by().values("pk"))
    rows = chunks_readable(scope=scope).filter(pk__in=list(chunks))
    shown = Case(When(opened, then=F("text")), default=Value(""), output_field=TextField())
    names = ("pk", "version__document_id", "version__document__external_id", "version__document__title", shown)
    return {pk: (document, external, title, text) for pk, document, external, title, text in rows.values_list(*names)}


def run_get(*, scope: Scope, run_id: int) -> EvaluationRun:
    """A run over a golden set that the asker sees. Raises NotFoundError."""
    rows = runs_of(scope=scope).select_related("version", "requested_by")
    run = rows.filter(pk=run_id).first()
    if run is None:
        raise NotFoundError("evaluation_run")
    return run
