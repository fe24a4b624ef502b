"""Importing many triples and asking for them, on a database of its own: `python -m bench.triples.store --count 200000`.

Names are made of syllables, so that words have the frequencies of names: few common ones, many rare ones; one entity in
a hundred is a crowded one. The last line is one JSON object: rows a second of the import, milliseconds of questions by
words while no fact has a vector, and with `--vectors` many vectors beside them. Processor time counts this process and
the database's that works for it: other work on the machine changes it little.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from bench.__main__ import prepare

SYLLABLES = ("ka", "ro", "mi", "ten", "lo", "va", "ser", "du", "ni", "pol", "gar", "es", "ti", "mon", "ra", "fi", "hu")
RELATION_NAMES = "located in|part of|owner|founder|birth place|leader|capital|author|director|spouse|country|club"
RELATIONS = tuple(RELATION_NAMES.split("|"))
SEED = 7


def main() -> None:
    """Import, ask, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--vectors", type=int, default=0, help="facts that get random vectors, for the vector search")
    given = parser.parse_args()
    with ExitStack() as stack:
        prepare(stack)
        print(json.dumps(measured(count=given.count, questions=given.questions, vectors=given.vectors)))


def measured(*, count: int, questions: int, vectors: int) -> dict[str, float]:
    """All figures."""
    from django.core.management import call_command

    from accounts.models import User
    from accounts.selectors import scope_for
    from knowledge import model_registry
    from knowledge.indexes.graph_triples import triples_without_vector, vectors_add
    from knowledge.indexes.index_maintenance import tables_analyse
    from knowledge.indexes.statements import fetch
    from knowledge.models import KnowledgeSet, Triple
    from knowledge.services.triple_files import import_start
    from knowledge.services.triple_search import triples_retrieve_and_rewrite
    from work.models import Job
    from work.runner import slice_run

    call_command("bootstrap", "--demo", "0", verbosity=0)
    admin = User.objects.get(username="admin")
    scope = scope_for(admin)
    into = KnowledgeSet.objects.create(tenant=admin.tenant, code="facts", name="facts", visibility="everyone")
    rows = facts(count)
    text = "\n".join(json.dumps({"subject": s, "relation": r, "object": o}) for s, r, o in rows).encode()
    one = import_start(scope=scope, actor=admin, set_id=into.pk, name="facts.jsonl", content=io.BytesIO(text))
    start, used = time.perf_counter(), processor_seconds()
    slice_run(job_id=Job.objects.get(subject=f"import:{one.pk}").pk)
    seconds, used = time.perf_counter() - start, processor_seconds() - used
    stored = Triple.objects.count()
    note(f"{stored} facts in {seconds:.0f} s, {stored / seconds:.0f}/s")
    fetch("SELECT 1", {})
    model_registry.warm()
    if vectors:
        random_vectors = np.random.default_rng(SEED).normal(size=(vectors, 768)).astype(np.float32)
        after, made, start = 0, 0, time.perf_counter()
        while made < vectors:
            found = triples_without_vector(model=model_registry.embedder().model, after=after, limit=1000)
            vectors_add(
                [(n, t, random_vectors[made + at]) for at, (n, t, _) in enumerate(found[: vectors - made])],
                model=model_registry.embedder().model,
            )
            made, after = made + len(found), found[-1][0]
        tables_analyse()  # as maintenance does
        note(f"{vectors} vectors in {time.perf_counter() - start:.0f} s")
    took, costs = [], []
    chosen = random.Random(SEED).sample(rows, questions)  # noqa: S311 - not a secret
    right = 0
    for subject, relation, object_ in [*chosen[:5], *chosen]:
        start, cost = time.perf_counter(), processor_seconds()
        found_facts = triples_retrieve_and_rewrite(scope=scope, question=f"What is the {relation} of {subject}?")
        took.append(1000 * (time.perf_counter() - start))
        costs.append(1000 * (processor_seconds() - cost))
        right += object_ in found_facts.answer.chain.answers
    took, costs = took[5:], costs[5:]
    return {
        "facts": stored,
        "import_seconds": round(seconds, 1),
        "import_processor_seconds": round(used, 1),
        "facts_per_second": round(stored / seconds),
        "p50_ms": round(float(np.percentile(took, 50)), 1),
        "p95_ms": round(float(np.percentile(took, 95)), 1),
        "processor_p95_ms": round(float(np.percentile(costs, 95)), 1),
        "answered": round(right / (questions + 5), 3),
    }


def processor_seconds() -> float:
    """Of this process and of the database process that works for it: what other work on the machine changes little."""
    from django.db import connection

    connection.ensure_connection()
    nanoseconds = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat").read_text(encoding="ascii").split()
    return time.process_time() + int(nanoseconds[0]) / 1e9


def facts(count: int) -> list[tuple[str, str, str]]:
    """Different facts; the same count gives the same ones."""
    chance = random.Random(SEED)  # noqa: S311 - not a secret

    def name() -> str:
        return " ".join(
            "".join(chance.choice(SYLLABLES) for _ in range(chance.choice((2, 3, 3)))).title() for _ in range(2)
        )

    crowded = [name() for _ in range(20)]
    entities = [name() for _ in range(max(10, count // 4))]
    found: dict[tuple[str, str, str], None] = {}
    while len(found) < count:
        end = chance.choice(crowded) if chance.random() < 0.2 else chance.choice(entities)
        found[chance.choice(entities), chance.choice(RELATIONS), end] = None
    return list(found)


def note(text: str) -> None:
    """Progress for the person who waits."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
