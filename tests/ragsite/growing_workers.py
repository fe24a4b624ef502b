"""A Celery program whose tasks load a model and leak, for the test of the pool that replaces grown processes."""

from __future__ import annotations

import os

import numpy as np
import redis
from celery import Celery

from ragcore.model_memory import model_load
from ragsite.worker_pool import MeasuredPool, MeasuredWorker, TaskPool

GROWTH_KB = 250_000  # the product itself takes about 200 MB
URL = os.environ["GROWING_WORKERS_BROKER"]
FOLDER = os.environ.get("GROWING_WORKERS_MODEL", "")
MODEL_BYTES = 300 * 2**20  # more than a process may have beside its models
LEAK_BYTES = 250 * 2**20
REPORTS = "growing-workers"

app = Celery("growing", broker=URL)
app.conf.update(
    worker_pool="tests.ragsite.growing_workers:SmallPool", task_default_queue="growing", task_acks_late=True
)
held: dict[str, object] = {}


class SmallWorker(MeasuredWorker):
    growth_kb = GROWTH_KB


class SmallMeasuredPool(MeasuredPool):
    Worker = SmallWorker


class SmallPool(TaskPool):
    Pool = SmallMeasuredPool


def tell(what: str) -> None:
    redis.Redis.from_url(URL).rpush(REPORTS, f"{what} {os.getpid()}")


@app.task
def use_model() -> None:
    """Load the model where this process has none: a folder, or only the memory that one takes."""
    if "model" not in held:
        held["model"] = folder_model() if FOLDER else array_model()
        tell("loaded")
    tell("used")


def array_model() -> object:
    with model_load("array"):
        return np.ones(MODEL_BYTES, np.uint8)


def folder_model() -> object:
    from ragcore.embedding.sentence_transformers import SentenceTransformersEmbedder

    embedder = SentenceTransformersEmbedder(FOLDER)
    embedder.embed_documents(["ready"])
    return embedder


@app.task
def leak() -> None:
    held["leak"] = np.ones(LEAK_BYTES, np.uint8)
    tell("leaked")
