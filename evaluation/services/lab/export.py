"""Results of the lab as a golden case or as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.db import transaction

from accounts.errors import NotFoundError
from accounts.models import User
from accounts.scope import Scope
from accounts.services import audit_record
from evaluation.errors import InvalidGoldenCaseError
from evaluation.models import GoldenCase, GoldenSet
from evaluation.selectors import cases_withheld, golden_sets_kept
from evaluation.services.golden_files import CHOICES, LIMITS
from evaluation.services.lab.types import LabResult, LabRow, LabRun, Where
from knowledge.selectors import documents_readable

REFUSAL = "refusal"  # what a case expects that is to be refused
# What a case tests: field → values. Among tags it is "field:value".
CASE_FIELDS: Mapping[str, Sequence[str]] = {
    name: CHOICES[name].values for name in ("target", "structure", "robustness", "style")
}


@transaction.atomic
def golden_case_save(
    *,
    scope: Scope,
    actor: User,
    golden_set_id: int,
    question: str,
    documents: Sequence[int],
    answers: Sequence[str] = (),
    tags: Sequence[str] = (),
    expects_refusal: bool = False,
) -> GoldenCase:
    """Add a question with its relevant documents, or replace those of a question that is there already.

    `expects_refusal`: the question is to be refused, and names neither documents nor answers. Otherwise accepted
    answers that are there stay where none are given. Raises NotFoundError for a golden set that the actor does not keep
    and for a document that the actor may not open, InvalidGoldenCaseError, also where the case that is there names such
    a document.
    """
    mine = golden_sets_kept(scope=scope, actor=actor).select_for_update(of=("self",))
    golden_set = mine.filter(pk=golden_set_id).first()
    if golden_set is None:
        raise NotFoundError("golden_set")
    question = question.strip()
    relevant = _names(scope=scope, golden_set=golden_set, documents=documents)
    given = [answer.strip() for answer in answers if answer.strip()]
    case = golden_set.cases.filter(question=question).first()
    if case is not None and cases_withheld(scope=scope, cases=golden_set.cases.filter(pk=case.pk)).exists():
        raise InvalidGoldenCaseError("withheld")
    kept = given or (case.answers if case and not expects_refusal else [])
    if expects_refusal and (relevant or kept):
        raise InvalidGoldenCaseError("refusal")
    _check(question=question, expected=[*relevant, *kept, *([REFUSAL] if expects_refusal else [])])
    _check_lengths(question=[question], answers=kept, tags=tags)
    case = case or GoldenCase(golden_set=golden_set, question=question)
    of_fields = _fields_put(case, tags)
    case.relevant, case.answers, case.expects_refusal = relevant, kept, expects_refusal
    case.tags = list(dict.fromkeys(tag for tag in tags if tag not in of_fields))
    action = "golden_case.create" if case.pk is None else "golden_case.change"
    case.save()
    audit_record(actor=actor, action=action, target=golden_set.name, case=case.pk)
    return case


def _fields_put(case: GoldenCase, tags: Sequence[str]) -> set[str]:
    """Set the fields that tags of the form "field:value" say; which tags these are."""
    stated = {f"{name}:{value}": (name, value) for name, values in CASE_FIELDS.items() for value in values}
    chosen = {tag: stated[tag] for tag in tags if tag in stated}
    for name, value in chosen.values():
        setattr(case, name, value)
    return set(chosen)


def _names(*, scope: Scope, golden_set: GoldenSet, documents: Sequence[int]) -> list[str]:
    """Documents as golden cases name them, in the order given."""
    readable = documents_readable(scope=scope).filter(pk__in=documents, tenant_id=golden_set.tenant_id)
    names = {pk: external or f"#{pk}" for pk, external in readable.values_list("pk", "external_id")}
    if set(documents) - names.keys():
        raise NotFoundError("any_document")
    return list(dict.fromkeys(names[pk] for pk in documents))


def _check(*, question: str, expected: Sequence[str]) -> None:
    if not question:
        raise InvalidGoldenCaseError("question")
    if not expected:
        raise InvalidGoldenCaseError("answer")


def _check_lengths(**values: Sequence[str]) -> None:
    if any(len(text) > LIMITS[name] for name, texts in values.items() for text in texts):
        raise InvalidGoldenCaseError("length")


# ── export ──────────────────────────────────────────────────────────────────────────────────────


def lab_json(result: LabResult) -> dict[str, Any]:
    """Everything that the page shows, in plain values."""
    return {
        "question": {**asdict(result.question), "sets": list(result.question.sets)},
        "as_user": result.as_user,
        "runs": [_run(run) for run in result.runs],
        "moves": {str(chunk): asdict(move) for chunk, move in result.moves.items()},
    }


def _run(run: LabRun) -> dict[str, Any]:
    return {
        "configuration": asdict(run.configuration),
        "options": asdict(run.options),
        "stages": [asdict(stage) for stage in run.stages],
        "searched": run.searched,
        "relevant": run.relevant,
        "found": [_row(row) for row in run.found],
        "dropped": [_row(row) for row in run.dropped],
        "dropped_beyond": run.dropped_beyond,
        "candidates_beyond": run.candidates_beyond,
        "where": _where(run.where),
    }


def _row(row: LabRow) -> dict[str, Any]:
    passage = row.passage
    return {
        "chunk_id": passage.chunk,
        "document_id": passage.document,
        "external_id": passage.external_id,
        "title": passage.title,
        "heading_path": list(passage.heading_path),
        "page": passage.page,
        "ordinal": passage.ordinal,
        "snippet": "".join(piece.text for piece in row.snippet),
        "rankings": {name: asdict(place) for name, place in row.rankings.items()},
        "terms": [asdict(term) for term in row.terms],
        "via": dict(row.via),
        "features": dict(row.features),
        "boost": dict(row.boost),
        "use": dict(row.use),
        "fate": asdict(row.fate),
    }


def _where(where: Where | None) -> dict[str, Any] | None:
    if where is None:
        return None
    return {
        "document_id": where.document,
        "title": where.title,
        "fate": asdict(where.fate),
        "passages": [_row(row) for row in where.rows],
        "more": where.more,
        "lowest": dict(where.lowest),
    }
