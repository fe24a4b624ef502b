"""One set of made-up documents, there and here."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management import call_command

from accounts.models import Tenant, User
from accounts.selectors import scope_for
from bench.retrieval import note, work_off
from chat.answering.answer_config import resolve_answer_config
from chat.answering.context import AnswerContext, build_question
from chat.answering.pipeline import compute_answer
from chat.types import AnswerRequest, ignore_event
from knowledge.model_registry import embedder
from knowledge.models import IndexEntry, KnowledgeSet
from knowledge.services import documents_bulk

PARTS = ("antenna", "rectifier", "battery", "cabinet", "feeder", "mast", "fan", "breaker", "lamp", "fuse")
VERBS = ("weighs {n} kilograms", "is replaced after {n} months", "is fixed with {n} bolts", "draws {n} watts")


def travel_measure(*, documents: int, questions: int) -> dict[str, Any]:
    """Seconds of ingestion, export and import, size of the file, texts that the import embedded, equal answers."""
    call_command("bootstrap", "--demo", "0", verbosity=0)
    here = _person("bench-travel", Tenant.objects.get(is_default=True))
    there = _person("bench-travel-there", Tenant.objects.create(name="there"))
    plans = KnowledgeSet.objects.create(tenant=here.tenant, code="plans", name="Plans")
    plans.owners.add(here)
    begin = time.perf_counter()
    accepted = documents_bulk(scope=scope_for(here), actor=here, lines=list(_lines(plans.pk, documents)))
    work_off(accepted.job_id)
    figures: dict[str, Any] = {"documents": documents, "ingest_seconds": round(time.perf_counter() - begin, 1)}
    note(f"ingested in {figures['ingest_seconds']} s")
    asked = [_question(number * documents // questions) for number in range(questions)]
    before = [_answer(here, plans, question) for question in asked]
    with tempfile.TemporaryDirectory(prefix="ragsite-travel-") as folder:
        path = Path(folder) / "plans.zip"
        begin = time.perf_counter()
        call_command("set_export", "plans", str(path), user=here.username)
        figures["export_seconds"] = round(time.perf_counter() - begin, 1)
        figures["megabytes"] = round(path.stat().st_size / 1e6, 1)
        with _counted() as embedded:
            begin = time.perf_counter()
            call_command("set_import", str(path), user=there.username, confirm=True)
            figures["import_seconds"] = round(time.perf_counter() - begin, 1)
        figures["texts_embedded"] = len(embedded)
    made = KnowledgeSet.objects.get(tenant=there.tenant, code="plans")
    figures["entries"] = IndexEntry.objects.filter(tenant=there.tenant).count()
    figures["imported"] = made.documents.count()
    after = [_answer(there, made, question) for question in asked]
    figures["questions"], figures["same_answers"] = questions, sum(a == b for a, b in zip(before, after, strict=True))
    figures["with_sources"] = sum(bool(sources) for _text, sources in before)
    return figures


class _counted:
    """The texts that are embedded meanwhile."""

    def __enter__(self) -> list[str]:
        self.kind: Any = type(embedder())
        self.real, texts = self.kind.embed_documents, []

        def counting(model: Any, batch: Any) -> Any:
            texts.extend(batch)
            return self.real(model, batch)

        setattr(self.kind, "embed_documents", counting)  # noqa: B010 (mypy takes it for a method)
        return texts

    def __exit__(self, *_error: object) -> None:
        setattr(self.kind, "embed_documents", self.real)  # noqa: B010


def _person(name: str, tenant: Tenant) -> User:
    return User.objects.create(username=name, tenant=tenant, clearance=4, can_create_sets=True, is_staff=True)


def _fact(number: int, place: int) -> tuple[str, str]:
    part, verb = PARTS[(number + place) % len(PARTS)], VERBS[place % len(VERBS)]
    return part, verb.format(n=7 + (number * 13 + place * 5) % 400)


def _lines(set_id: int, documents: int) -> Iterator[bytes]:
    for number in range(documents):
        sections = []
        for place in range(3):
            part, fact = _fact(number, place)
            sections.append(f"## The {part}\n\nThe {part} of site S{number:05d} {fact}. It was checked in spring.")
        text = f"# Site S{number:05d}\n\n" + "\n\n".join(sections)
        row = {"external_id": f"site-{number}", "title": f"Site S{number:05d}", "text": text, "sets": [set_id]}
        yield json.dumps({**row, "format": "markdown"}).encode()


def _question(number: int) -> str:
    part, fact = _fact(number, number % 3)
    asked = {"weighs": "How much does", "is": "What is known of", "draws": "How many watts does"}[fact.split()[0]]
    return f"{asked} the {part} of site S{number:05d}?"


def _answer(user: User, knowledge_set: KnowledgeSet, question: str) -> tuple[str, list[tuple[int, str, str]]]:
    scope = scope_for(user)
    request = AnswerRequest(query=question, cache=False, personal=False, sets=(knowledge_set.pk,))
    context = AnswerContext(
        scope=scope,
        request=request,
        config=resolve_answer_config(scope=scope, request=request),
        question=build_question(question, history=(), profile=None, user=user),
        events=ignore_event,
    )
    record = asyncio.run(compute_answer(context))
    return record.text, [(one.number, one.external_id, one.segment) for one in record.citations if one.cited]
