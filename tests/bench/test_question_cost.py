"""The tool that measures what a question costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench import question_cost
from bench.question_cost import PARTS, Product, block_cost, questions_of, table, with_interval

BUSY = "import time\nuntil = time.process_time() + 0.3\nwhile time.process_time() < until: pass\n"


def product(monkeypatch: pytest.MonkeyPatch) -> Product:
    monkeypatch.setattr(question_cost, "_listener", lambda port: os.getpid())
    monkeypatch.setattr(question_cost, "_supervisor_of", lambda pid: pid)
    return Product(url="http://127.0.0.1:1", key="")


def test_the_time_of_a_child_counts_while_it_runs_and_after_it_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = product(monkeypatch)
    before = sum(watched.used().values())

    with subprocess.Popen([sys.executable, "-c", BUSY + "input()"], stdin=subprocess.PIPE) as child:
        until = time.monotonic() + 60
        while sum(watched.used().values()) < before + 250 and time.monotonic() < until:
            time.sleep(0.05)
        running = sum(watched.used().values())
        child.communicate(b"\n")

    assert running >= before + 250
    assert sum(watched.used().values()) >= running - 20  # ticks of 10 ms


def test_what_is_used_anyhow_is_subtracted(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = iter([dict.fromkeys(PARTS, 0.0), dict.fromkeys(PARTS, 100.0)])
    idle = dict.fromkeys(PARTS, 0.0) | {"other": 1000.0}
    fake = cast(Any, SimpleNamespace(used=lambda: next(readings), idle=idle))
    monkeypatch.setitem(cast(Any, question_cost.ASK), "answer", lambda product, question: None)

    cost = block_cost(fake, "answer", ["How?"])

    assert cost["web"] == 100.0
    assert cost["other"] == pytest.approx(50, abs=20)  # SETTLE_SECONDS of it


def test_the_same_questions_are_asked_in_every_run(tmp_path: Path) -> None:
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        lines = [json.dumps({"text": f"{name}{number}"}) for number in range(50)]
        (folder / "queries.jsonl").write_text("\n".join(lines))

    asked = questions_of([tmp_path / "a", tmp_path / "b"], 20)

    assert asked == questions_of([tmp_path / "a", tmp_path / "b"], 20)
    assert sum(text.startswith("a") for text in asked) == 10
    assert len(set(asked)) == 20


def test_the_difference_is_paired_by_block() -> None:
    blocks = [[{"web": value, "postgres": 1.0, "redis": 0.0, "other": 0.0} for value in (10.0, 30.0)]]
    blocks.append([{**block, "web": block["web"] - 5} for block in blocks[0]])

    lines = table("answer", ["before", "after"], blocks, questions=20).splitlines()

    assert "| before | 21.0" in lines[-3]
    assert "-5.0 (-5.0 to -5.0)" in lines[-1]
    assert with_interval([1.0]) == "1.0"
