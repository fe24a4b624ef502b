"""The product, through the service that REST, chat and evaluation use. Variant: the arm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import django
from django.apps import apps

from bench.peers.exchange import TOP_K, Task
from bench.peers.worker import Search

if TYPE_CHECKING:
    from knowledge.types import RetrievalMode

DISTRIBUTIONS = ()
ARMS: dict[str, tuple[RetrievalMode, bool]] = {  # mode, and whether to rerank
    "bm25": ("bm25", False),
    "vectors": ("vector", False),
    "fused": ("hybrid", False),
    "reranked": ("hybrid", True),
}


def build(task: Task, variant: str) -> Search:
    """The passages are in the database already (bench.peers.loading); `task.access` says who asks which set."""
    if not apps.ready:
        django.setup()
    from accounts.models import User
    from accounts.selectors import scope_for
    from evaluation.services.runs.measuring import ranked_documents
    from knowledge.services import retrieve
    from knowledge.types import RetrievalRequest

    scope = scope_for(User.objects.get(pk=task.access["user"]))
    sets, (mode, rerank) = (task.access["set"],), ARMS[variant]

    def search(number: int) -> list[str]:
        request = RetrievalRequest(query=task.questions[number], sets=sets, top_k=TOP_K, mode=mode, rerank=rerank)
        return ranked_documents(retrieve(scope=scope, request=request).state.candidates, named=())

    return search
