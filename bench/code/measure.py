"""Ingests the drawn files and asks for their functions by docstring and by name."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from django.core.management import call_command

from accounts.models import User
from accounts.scope import Scope
from accounts.selectors import scope_for
from bench.code.functions import Function, Module, draw_modules, names_defined_once
from bench.retrieval import note, work_off
from knowledge.models import Document, KnowledgeSet
from knowledge.services import document_upload, indexes_refresh, retrieve
from knowledge.services.sets import set_create
from knowledge.types import RetrievalRequest
from ragcore.text.source_code import source_lines
from ragcore.types import Passage

CODE = "code"
PLACES = 10
NOTE_EVERY = 10  # files


def measure(
    folder: Path, *, modules: int, questions: int, seed: int, shows_misses: bool = False
) -> dict[str, float | int]:
    """`mrr10`, `identifier_first`, and of how many questions each is made."""
    drawn = draw_modules(folder, modules=modules, questions=questions, seed=seed)
    bench = _Bench.loaded(drawn)
    functions = [function for module in drawn for function in module.functions]
    ranks = [(function, bench.rank(function)) for function in functions]
    once = names_defined_once(drawn)
    names = sorted(name for name in once if not name.startswith("__"))
    names = random.Random(seed).sample(names, min(questions, len(names)))
    misses = [name for name in names if not bench.is_first(name, *once[name])]
    if shows_misses:
        for function, rank in ranks:
            if rank != 1:
                note(f"{rank or '-'} {function.path} {function.name}: {function.sentence}")
        note(f"not first: {' '.join(misses)}")
    return {
        "mrr10": round(mean(1 / rank if rank else 0.0 for _function, rank in ranks), 4),
        "identifier_first": round(1 - len(misses) / len(names), 4),
        "questions": len(ranks),
        "names": len(names),
    }


class _Bench:
    """The files in one knowledge set."""

    def __init__(self, scope: Scope, set_id: int) -> None:
        self.scope, self.set_id = scope, set_id

    @classmethod
    def loaded(cls, modules: Sequence[Module]) -> _Bench:
        """Files that are there already are left as they are."""
        call_command("bootstrap", "--demo", "0", verbosity=0)
        admin = User.objects.get(username="admin")
        scope = scope_for(admin)
        home = KnowledgeSet.objects.filter(code=CODE).first() or set_create(
            scope=scope, actor=admin, values={"code": CODE, "name": "Code"}
        )
        begin = time.perf_counter()
        for number, module in enumerate(modules, 1):
            upload = document_upload(
                scope=scope,
                actor=admin,
                sets=[home.pk],
                name=Path(module.path).name,
                content=module.text.encode(),
                external_id=module.path,
                source="code",
            )
            if upload.job is not None:
                work_off(upload.job.pk)
            if number % NOTE_EVERY == 0:
                note(f"{number} files after {time.perf_counter() - begin:.0f} s")
        indexes_refresh()
        live = Document.objects.filter(live_version__isnull=False).count()
        note(f"{live} of {len(modules)} files live after {time.perf_counter() - begin:.0f} s")
        return cls(scope, home.pk)

    def rank(self, function: Function) -> int:
        """Place of the first passage that has lines of the function; 0 beyond the first PLACES."""
        places = enumerate(self._passages(function.sentence), 1)
        return next(
            (place for place, passage in places if _holds(passage, function.path, function.first, function.last)), 0
        )

    def is_first(self, name: str, path: str, line: int) -> bool:
        """Whether the first passage holds the line on which a name is defined."""
        passages = self._passages(name)
        return bool(passages) and _holds(passages[0], path, line, line)

    def _passages(self, query: str) -> list[Passage]:
        request = RetrievalRequest(query=query, sets=(self.set_id,), top_k=PLACES)
        candidates = retrieve(scope=self.scope, request=request).state.candidates
        return [candidate.passage for candidate in candidates if candidate.passage is not None]


def _holds(passage: Passage, path: str, first: int, last: int) -> bool:
    """Whether a passage has one of these lines of a file."""
    spans = ((source.first, source.last) for source in source_lines(passage.text))
    return passage.external_id == path and any(begin <= last and first <= end for begin, end in spans)
