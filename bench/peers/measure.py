"""All systems on one set, each in a process of its own, one after the other."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from accounts.models import User
from bench.peers.catalogue import System, VectorKind
from bench.peers.exchange import Answer, Task, answer_read, task_write
from bench.peers.loading import Loaded, set_load
from bench.peers.sets import PublicSet
from bench.peers.vectors import Embedded, set_embed
from knowledge.model_registry import tokenizer
from ragcore.metrics.quality import ndcg_at_k, recall_at_k
from ragsite.env import PROJECT_ROOT

LIMIT_SECONDS = 1800  # for one system on one set
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "DATABASE_URL")
PEER_ENVIRONMENT = {  # nothing is downloaded, nothing is reported to anybody
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "DO_NOT_TRACK": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
METRICS = ("recall@1", "recall@10", "ndcg@10")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One system on one set. Times are with the embedding of the question or of the passages."""

    system: System
    scores: Mapping[str, Sequence[float]]  # METRICS, by question
    milliseconds: Sequence[float]
    index_seconds: float
    peak_bytes: int
    versions: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetResult:
    """What could be measured on one set, and why the rest could not."""

    public: PublicSet
    measured: Mapping[str, Measured]  # by key of the system
    failed: Mapping[str, str] = field(default_factory=dict)  # key of the system -> reason
    embedding_ms: Mapping[VectorKind, float] = field(default_factory=dict)  # of a question, median
    refused: int = 0  # passages that the product did not take


class PeerFailedError(Exception):
    """A worker did not answer; the text is the reason for the reader of the page."""


def set_measure(public: PublicSet, *, systems: Sequence[System], admin: User, python: Path) -> SetResult:
    """`python`: the interpreter of the peers' environment; it need not exist, then the peers fail."""
    note(f"{public.label}: {len(public.passages)} passages, {len(public.questions)} questions")
    loaded = set_load(public, admin=admin)
    note(f"  in the product after {loaded.seconds:.0f} s, {loaded.refused} refused")
    kinds = dict.fromkeys(system.vectors or "minilm" for system in systems)
    embedded = {kind: set_embed(public, kind=kind) for kind in kinds}
    measured: dict[str, Measured] = {}
    failed: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="ragsite-bench-task-") as folder:
        for kind, vectors in embedded.items():
            task_write(Path(folder) / kind, task_of(public, vectors, loaded))
        for system in systems:
            start = time.perf_counter()
            try:
                answer = worker_run(system, folder=Path(folder) / (system.vectors or "minilm"), python=python)
            except PeerFailedError as error:
                failed[system.key] = str(error)
                note(f"  {system.label}: FAILED, {error}")
                continue
            measured[system.key] = found = measured_of(system, answer, public, embedded, loaded)
            figure = float(np.mean(found.scores["ndcg@10"]))
            note(f"  {system.label}: nDCG@10 {figure:.3f}, {time.perf_counter() - start:.0f} s")
    return SetResult(
        public=public,
        measured=measured,
        failed=failed,
        embedding_ms={kind: float(np.median(vectors.milliseconds)) for kind, vectors in embedded.items()},
        refused=loaded.refused,
    )


def task_of(public: PublicSet, vectors: Embedded, loaded: Loaded) -> Task:
    terms = tokenizer().terms
    passages = [passage.indexed for passage in public.passages]
    questions = [question.text for question in public.questions]
    return Task(
        ids=[passage.id for passage in public.passages],
        passages=passages,
        passage_terms=[terms(text) for text in passages],
        passage_vectors=vectors.passages,
        questions=questions,
        question_terms=[terms(text) for text in questions],
        question_vectors=vectors.questions,
        access={"user": loaded.user_id, "set": loaded.set_id},
    )


def worker_run(system: System, *, folder: Path, python: Path) -> Answer:
    """Raises PeerFailedError."""
    if not system.is_ours and not python.is_file():
        raise PeerFailedError("the environment of the peers is not there")
    out = folder / "answer.json"
    out.unlink(missing_ok=True)
    program = sys.executable if system.is_ours else str(python)
    command = [program, "-m", "bench.peers.worker", system.engine, str(folder), str(out)]
    own = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment = dict(os.environ) if system.is_ours else own | PEER_ENVIRONMENT
    try:
        done = subprocess.run(
            command,
            cwd=PROJECT_ROOT,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise PeerFailedError(f"it did not finish within {LIMIT_SECONDS} s") from error
    if done.returncode or not out.is_file():
        raise PeerFailedError(reason_of(done.stderr, done.returncode))
    return answer_read(out)


def reason_of(stderr: str, code: int) -> str:
    """The last line of a traceback without the folders of this machine."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    last = lines[-1] if lines else f"it ended with status {code}"
    if last.startswith("ModuleNotFoundError"):
        return f"not installed ({last.partition(':')[2].strip()})"
    return re.sub(r"(?<![\w.])/(?:[^\s/'\":]+/)+", "", last)[:200]


def measured_of(
    system: System, answer: Answer, public: PublicSet, embedded: Mapping[VectorKind, Embedded], loaded: Loaded
) -> Measured:
    """The worker's answer against the relevant passages; embedding is added for who was given vectors."""
    wanted = [question.relevant for question in public.questions]
    rows = list(zip(answer.ranked, wanted, strict=True))
    milliseconds, index_seconds = list(answer.milliseconds), answer.index_seconds
    if system.is_ours:
        index_seconds = loaded.seconds
    elif system.vectors:
        vectors = embedded[system.vectors]
        milliseconds = [a + b for a, b in zip(milliseconds, vectors.milliseconds, strict=True)]
        index_seconds += vectors.seconds
    return Measured(
        system=system,
        scores={
            "recall@1": [recall_at_k(ranked, relevant, 1) for ranked, relevant in rows],
            "recall@10": [recall_at_k(ranked, relevant, 10) for ranked, relevant in rows],
            "ndcg@10": [ndcg_at_k(ranked, relevant, 10) for ranked, relevant in rows],
        },
        milliseconds=milliseconds,
        index_seconds=index_seconds,
        peak_bytes=answer.peak_bytes,
        versions=answer.versions,
    )


def note(text: str) -> None:
    """Progress for the person who waits."""
    print(text, file=sys.stderr, flush=True)
