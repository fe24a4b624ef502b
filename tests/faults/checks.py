"""What must hold at every moment, and what must hold once a round is over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import httpx

from knowledge.indexes.checks import DOUBLE, FREQUENCIES, MISPLACED, MISSING, RETIRED, TOTALS
from ragsite.embedded.processes import wait_until
from tests.faults.documents import Sent
from tests.faults.product import Product

ALWAYS = {
    "totals of the lexical statistics": TOTALS,
    "document frequencies": FREQUENCIES,
    "live documents that are only half there": MISSING,
    "entries that are there twice": DOUBLE,
    "entries of retired passages": RETIRED,
    "entries at the wrong version": MISPLACED,
}
DOCUMENTS = """
SELECT d.id, d.external_id, d.sha256, d.state, d.error_code, d.live_version_id, v.sha256
FROM knowledge_document d LEFT JOIN knowledge_documentversion v ON v.id = d.live_version_id
WHERE d.deleted IS NULL
"""
OPEN_ITEMS = "SELECT count(*) FROM knowledge_ingestitem WHERE finished IS NULL"
UNAVAILABLE_SECONDS = 20
FOUND_IN = 10  # documents of a round that are searched for


def faults_now(product: Product) -> list[str]:
    """Broken invariants in the database at this moment, while others write."""
    return [f"{name}: {rows[:5]}" for name, sql in ALWAYS.items() if (rows := product.rows(sql))]


def open_items(product: Product) -> int:
    return int(product.rows(OPEN_ITEMS)[0][0])


def faults_of_documents(product: Product, expected: Mapping[str, Sent]) -> list[str]:
    """Acknowledged documents that are missing, double, unfinished, or other than they were sent."""
    rows = product.rows(DOCUMENTS)
    times = Counter(external_id or sha256 for _, external_id, sha256, *_ in rows)
    faults = [f"{identity} is there {times[identity]} times" for identity in expected if times[identity] != 1]
    for document_id, external_id, sha256, state, error_code, live, live_sha256 in rows:
        one = expected.get(external_id or sha256)
        if one is None:
            faults.append(f"document {document_id} was never sent")
        elif one.is_readable and (state != "live" or live is None or live_sha256 != sha256):
            faults.append(f"document {document_id} ({one.name}) is {state} {error_code!r}, not live with its last text")
        elif not one.is_readable and (state, live) != ("failed", None):
            faults.append(f"document {document_id} ({one.name}) is {state}, although it cannot be read")
        elif not one.is_readable and not error_code:
            faults.append(f"document {document_id} ({one.name}) failed without a reason")
    return faults


def faults_of_jobs(client: httpx.Client, jobs: Iterable[int]) -> list[str]:
    states = {job: _answer(client, "GET", f"/jobs/{job}").json()["state"] for job in jobs}
    return [f"job {job} is {state}" for job, state in states.items() if state not in ("succeeded", "partial", "failed")]


def faults_of_search(client: httpx.Client, *, present: Iterable[Sent], gone: Iterable[str]) -> list[str]:
    """Texts that are live and not found, and words of texts that were replaced or deleted and still are."""
    faults = [f"{one.name} is live and not found" for one in present if not _is_found(client, one.word)]
    return faults + [f"{word} was replaced or deleted and is still found" for word in gone if _is_found(client, word)]


def _is_found(client: httpx.Client, word: str) -> bool:
    answer = _answer(client, "POST", "/rag/retrieve", json={"query": word, "mode": "bm25", "top_k": 5})
    return any(word in hit["content"] for hit in answer.json()["hits"])


def _answer(client: httpx.Client, method: str, path: str, **request: Any) -> httpx.Response:
    """The answer, which must be 200. One that says 503 is asked again, as a client would: each web process has
    connections of its own, and notices at its next request that the database was started anew."""
    answers: list[httpx.Response] = []

    def is_there() -> bool:
        answers.append(client.request(method, path, **request))
        return answers[-1].status_code != httpx.codes.SERVICE_UNAVAILABLE

    wait_until(is_there, seconds=UNAVAILABLE_SECONDS)
    assert answers[-1].status_code == httpx.codes.OK, answers[-1].text
    return answers[-1]
