"""What understanding a conversation does for the product's search: the last turn alone, and in its forms."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from django.core.management import call_command

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from bench.report import table
from bench.retrieval import note
from bench.rewriting.files import RewritingQuestion, relevance, retrieval_questions
from evaluation.services.golden import benchmark_load
from knowledge import model_registry
from knowledge.models import Document, IngestItem
from knowledge.services import indexes_refresh, ingestion_advance, retrieve
from knowledge.types import RetrievalRequest
from ragcore.metrics.bootstrap import mean_interval, paired_interval
from ragcore.metrics.quality import ndcg_at_k, recall_at_k
from ragcore.text.scripts import language_of
from ragcore.types.answering import Question
from ragcore.understanding.standalone import add_context, standalone_by_rules

TOP_K = 10
Forms = Callable[[Question], tuple[str, tuple[str, ...]]]


def run(*, folders: Sequence[Path], limit: int) -> str:
    """A Markdown table with one row for each set and arm; the last column is the difference to the last turn alone."""
    call_command("bootstrap", "--demo", "0", verbosity=0)
    admin = User.objects.get(username="admin")
    scope = scope_for(admin)
    rows: list[list[str]] = []
    for folder in folders:
        knowledge_set = _loaded(folder, scope=scope, admin=admin)
        rows += _rows(folder, knowledge_set, scope=scope, limit=limit)
    return table(["set", "searched with", "questions", "r@10", "nDCG@10 (95 %)", "gain (95 %)", "ms a question"], rows)


def arms() -> dict[str, Forms]:
    """How a question is searched with: a query and other forms of it."""
    tokenizer = model_registry.tokenizer()

    def standalone(question: Question) -> tuple[str, tuple[str, ...]]:
        return standalone_by_rules(question, tokenizer).text, ()

    def in_context(question: Question) -> tuple[str, tuple[str, ...]]:
        text = standalone(question)[0]
        context = add_context(text, question, tokenizer) if question.history else ""
        return text, (context,) if context else ()

    return {
        "the last turn": lambda question: (question.text, ()),
        "its standalone form": standalone,
        "and the form with context": in_context,
    }


def _loaded(folder: Path, *, scope: Scope, admin: User) -> int:
    """The set of the folder, live."""
    name = _name(folder)
    golden, accepted = benchmark_load(scope=scope, actor=admin, folder=folder, name=name)
    while IngestItem.objects.filter(job_id=accepted.job_id, finished=None).exists():
        ingestion_advance(job_id=accepted.job_id)
    indexes_refresh()
    note(f"{name}: {Document.objects.count()} documents live")
    return int(golden.sets.get().pk)


def _rows(folder: Path, set_id: int, *, scope: Scope, limit: int) -> list[list[str]]:
    relevant = relevance(folder)
    asked = [question for question in retrieval_questions(folder) if question.wanted in relevant][:limit]
    names = dict(Document.objects.values_list("pk", "external_id"))
    rows: list[list[str]] = []
    alone: list[float] = []
    for arm, forms in arms().items():
        start = time.perf_counter()
        rankings = [_ranked(one, forms, set_id, scope, names) for one in asked]
        milliseconds = 1000 * (time.perf_counter() - start) / max(len(asked), 1)
        wanted = [{f"{_name(folder)}/{document}" for document in relevant[one.wanted]} for one in asked]
        ndcg = [ndcg_at_k(ranked, gold, TOP_K) for ranked, gold in zip(rankings, wanted, strict=True)]
        recall = [recall_at_k(ranked, gold, TOP_K) for ranked, gold in zip(rankings, wanted, strict=True)]
        alone = alone or ndcg
        gain = paired_interval(ndcg, alone).text(signed=True) if ndcg is not alone else "–"
        figures = [f"{sum(recall) / len(recall):.3f}", mean_interval(ndcg).text(), gain, f"{milliseconds:.0f}"]
        rows.append([_name(folder), arm, str(len(asked)), *figures])
        note(" | ".join(rows[-1]))
    return rows


def _ranked(one: RewritingQuestion, forms: Forms, set_id: int, scope: Scope, names: dict[int, str]) -> list[str]:
    """Documents in the order of their best passages."""
    question = Question(text=one.text, language=language_of(one.text), history=one.history)
    query, others = forms(question)
    request = RetrievalRequest(query=query, sets=(set_id,), top_k=TOP_K, forms=others)
    found = retrieve(scope=scope, request=request)
    return list(dict.fromkeys(names.get(candidate.document, "") for candidate in found.state.candidates))


def _name(folder: Path) -> str:
    return folder.parent.name if folder.name in ("dev", "heldout") else folder.name
