"""Answers in a form that can be compared between two states of the code: no times, no random identifiers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.scripted_llm import Recorded, Reply, ScriptedLLM

TEXTS = {
    "ra": "# Random access\n\nThe random access procedure has four steps. The preamble is sent on PRACH. "
    "The network answers with a random access response within the window of 10 ms.\n\n"
    "## Failure\n\nIf no response arrives in the window, the terminal sends another preamble with more power.",
    "ho": "# Handover\n\nA handover moves a terminal from one cell to another. The source cell sends the handover "
    "command. A handover fails when the terminal does not reach the target cell before timer T304 expires.",
    "ca": "# 载波聚合\n\n载波聚合把多个载波合并使用，可以提高峰值速率。载波聚合最多支持三十二个载波。"
    "辅小区由无线资源控制信令添加和删除。",
    "pg": "# 寻呼\n\n寻呼用于唤醒空闲态的终端。寻呼消息由核心网发送到跟踪区内的所有小区。寻呼周期默认为 1.28 秒。",
    "lunch": "On Friday the canteen serves fish with potatoes. The canteen closes at two o'clock.",
}
_ANSWERS = (
    ("random access", "The random access procedure has four steps [1]. Cheese is made of milk in Switzerland [2]."),
    ("handover", "A handover moves a terminal from one cell to another [1]. It fails when T304 expires [9]."),
    ("载波聚合", "载波聚合最多支持三十二个载波 [1]。月亮是奶酪做的。"),
    ("寻呼", "寻呼周期默认为 1.28 秒 [1]。"),
)
_REFUSAL = "The knowledge base does not contain an answer to this question."
_QUESTION = re.compile(r"<question>\s*(.*?)\s*</question>", re.DOTALL)
_TIME = re.compile(r"(_times?|seconds|_ms)$|^(created|duration|tokens|latency)$")
TOLERANCE = 0.02
_RANDOM = frozenset({"message_id", "conversation_id", "options_sha256", "id"})
_CHUNKS = frozenset({"chunk_id", "chunk_ids", "chunks"})
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class PromptedLLM(ScriptedLLM):
    """Answers each prompt by what it asks for, so that the order of simultaneous requests does not matter."""

    def next_reply(self, request: Recorded) -> Reply:
        super().next_reply(request)
        last = str(request.body["messages"][-1]["content"])
        question = (_QUESTION.search(last) or [last, last])[1]
        return Reply(texts=(_reply(last, question),))


def _reply(prompt: str, question: str) -> str:
    grades = dict.fromkeys(("relevance", "accuracy", "completeness", "clarity", "citation_quality"), 8)
    passages = {**dict.fromkeys(("relevance", "accuracy", "coherence"), 0.9), "completeness": 0.5, "missing": ["T304"]}
    known = {
        '"citation_quality": 0': {**grades, "critique": "Cite more."},
        '{"confidence"': {"confidence": 0.85},
        '"coherence": 0.0': passages,
        '{"grade"': {"grade": 6},
        '{"query"': {"query": "steps of the random access procedure and its failure"},
        '{"queries"': {"queries": ["Which steps has random access?", "随机接入 步骤"]},
        '"standalone"': {"standalone": question, "terms": ["random access"], "queries": ["steps of random access"]},
    }
    for mark, value in known.items():
        if mark in prompt:
            return json.dumps(value)
    lowered = question.lower()
    return next((answer for word, answer in _ANSWERS if word in lowered), _REFUSAL)


class Normal:
    """Replaces what differs from run to run: times, random ids; chunks and documents get the names of their order."""

    def __init__(self, *, documents: Mapping[int, str], chunks: Mapping[int, str]) -> None:
        self.documents, self.chunks = documents, chunks

    def __call__(self, value: Any, key: str = "") -> Any:
        if _TIME.search(key) and not isinstance(value, str):
            return None if value is None else sorted(value) if isinstance(value, dict) else "…"
        if key in _RANDOM:
            return "…"
        if isinstance(value, Mapping):
            return {self._name(name): self(inner, str(name)) for name, inner in value.items() if name != "reason_data"}
        if isinstance(value, (list, tuple)):
            return [self(inner, key) for inner in value]
        if isinstance(value, float):
            return round(value, 4)
        if isinstance(value, str):
            return _UUID.sub("…", value)
        if key in _CHUNKS:
            return self.chunks.get(value, value)
        if key in ("document_id", "document"):
            return self.documents.get(value, value)
        return "…" if key in ("version_id", "version") else value

    def _name(self, name: Any) -> str:
        return str(name)


def trace_in_short(trace: Mapping[str, Any]) -> dict[str, Any]:
    """The stages that ran, what they kept and dropped, and the candidates, without their scores."""
    stages = [[one["stage"], one["before"], one["after"], one["error"]] for one in trace.get("stages", ())]
    done = [[one["stage"], one["before"], one["after"], one["error"]] for one in trace["reasoning"]["stages"]]
    return {
        "stages": stages,
        "answer stages": done,
        "candidates": sorted(one["chunk_id"] for one in trace.get("candidates", ())),
        "dropped": [[one["stage"], one["reason"], one["count"]] for one in trace.get("dropped", ())],
        "keys": sorted({key for one in trace.get("candidates", ()) for key in one}),
    }


def differences(approved: Any, received: Any, path: str = "") -> list[str]:
    """Where two values differ; numbers may by TOLERANCE, because scores fall with the age of a document."""
    if isinstance(approved, float) and isinstance(received, (int, float)):
        return [] if abs(approved - received) <= TOLERANCE else [f"{path}: {approved} {received}"]
    if isinstance(approved, dict) and isinstance(received, dict):
        if approved.keys() != received.keys():
            return [f"{path}: keys {sorted(approved.keys() ^ received.keys())}"]
        return [line for key in approved for line in differences(approved[key], received[key], f"{path}/{key}")]
    if isinstance(approved, list) and isinstance(received, list) and len(approved) == len(received):
        pairs = enumerate(zip(approved, received, strict=True))
        return [line for at, (one, other) in pairs for line in differences(one, other, f"{path}[{at}]")]
    return [] if approved == received else [f"{path}: {str(approved)[:200]!r} {str(received)[:200]!r}"]


def events_in_short(events: list[dict[str, Any]], *, is_ordered: bool) -> list[Any]:
    """Events with texts joined and without unfinished blocks, which depend on the speed of the machine.

    Requests of a loop run at the same time, so the order of its steps is not fixed (`is_ordered`).
    """
    short: list[Any] = []
    for event in events:
        kind = event["type"]
        if kind == "tail":
            continue
        if kind == "chunk" and any(one["type"] == "chunk" for one in short):
            next(one for one in short if one["type"] == "chunk")["content"] += event["content"]
            continue
        short.append(dict(event))
    if is_ordered:
        return short
    return sorted(short, key=lambda event: (event["type"], json.dumps(event, sort_keys=True)))
