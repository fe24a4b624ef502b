"""Worker processes keep their models, and are replaced when they have grown beside them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
import redis
from celery import Celery

from ragsite.env import PROJECT_ROOT

REPORTS = "growing-workers"
PATIENCE_SECONDS = 120
ENDS = {"use_model": "used", "leak": "leaked"}


@pytest.fixture
def worker(tmp_path, redis_client):
    """Starts a worker with one process; returns what sends it tasks and waits for their reports."""
    url = os.environ["REDIS_URL"]
    started = []

    def start(model: str = ""):
        environment = {**os.environ, "GROWING_WORKERS_BROKER": url, "GROWING_WORKERS_MODEL": model}
        command = ["-m", "celery", "-A", "tests.ragsite.growing_workers", "worker", "-c", "1", "-Q", "growing"]
        log = (tmp_path / "worker.log").open("wb")
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, *command, "--without-gossip", "--without-mingle", "--without-heartbeat"],
            env=environment,
            cwd=PROJECT_ROOT,
            stdout=log,
            stderr=log,
        )
        started.append(process)
        return lambda tasks: run(url, redis_client, tasks)

    yield start
    for process in started:
        process.send_signal(signal.SIGQUIT)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def run(url: str, client: redis.Redis, tasks: list[str]) -> list[tuple[str, ...]]:
    """What the tasks have reported, one after another: [(what, process)]."""
    reports: list[tuple[str, ...]] = []
    with Celery("growing", broker=url) as sender:
        sender.conf.task_default_queue = "growing"
        for task in tasks:
            sender.send_task(f"tests.ragsite.growing_workers.{task}")
            is_done, until = False, time.monotonic() + PATIENCE_SECONDS
            while not is_done:
                said = client.blpop(REPORTS, timeout=2)
                assert said is not None or time.monotonic() < until, (task, reports)
                if said is None:
                    continue
                reports.append(tuple(said[1].split()))
                is_done = reports[-1][0] == ENDS[task]
    return reports


@pytest.mark.full
def test_a_process_keeps_a_model_larger_than_it_may_grow_and_is_replaced_when_it_leaks(worker):
    send = worker()

    reports = send(["use_model", "use_model", "use_model", "leak", "use_model"])

    assert [what for what, _ in reports] == ["loaded", "used", "used", "used", "leaked", "loaded", "used"]
    [first, *_, last] = [process for _, process in reports]
    assert first != last
    assert {process for _, process in reports[:5]} == {first}


@pytest.mark.full
@pytest.mark.timeout(300)
def test_a_folder_model_of_500_mb_is_loaded_once_for_several_tasks(worker, tmp_path):
    send = worker(str(static_model(tmp_path / "model", megabytes=500)))

    reports = send(["use_model"] * 4)

    assert [what for what, _ in reports] == ["loaded", "used", "used", "used", "used"]


def static_model(folder, *, megabytes: int):
    """A sentence-transformers folder: a table of random word vectors of this size."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import StaticEmbedding
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace

    words = megabytes * 2**20 // (256 * 4)
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0, "ready": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    table = torch.rand(words, 256)
    SentenceTransformer(modules=[StaticEmbedding(tokenizer, embedding_weights=table)], device="cpu").save(str(folder))
    return folder
