"""`make snapshot-answers URL=… KEY=… FILE=…`: record what a running product answers, and compare it with a record.

A fixed list of questions about the demo sets, in Chinese and English, goes through every retrieval mode, answer mode,
strategy, style, rewrite method and compression, whole and streamed in both vocabularies, in conversations, and through
the OpenAI-compatible API. Text, HTML, ranks, scores, citations, support states, steps and metadata are recorded. Ids
and times are left out, because they differ from one installation to the next. With `AGAINST=…` the differences to an
earlier record are printed, and the exit status is 1 where there are any.

Start the product on an empty DATA_DIR with QUESTIONS_PER_MINUTE=0, once without a language model and once with
LLM_BASE_URL pointing to `python -m bench.latency.model_server`, which always answers the same prompt in the same way.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

QUESTIONS = (
    "随机接入是什么？",
    "载波聚合中主小区和辅小区有什么区别？",
    "基站接地电阻要求是多少？",
    "波束失败后终端如何恢复？",
    "驻波比告警怎么处理？步骤有哪些？",
    "What is RedCap and how does it save cost?",
    "How does a UE recover from a beam failure?",
    "How long is timer T300 in the test set-up?",
    "Compare contention-based and contention-free random access.",
    "What is an S-NSSAI?",
    "Which test cases cover contention resolution?",
    "Where is the best pizza in Naples?",
    "公司食堂几点开门？",
    "Hello!",
    "CA 是什么",
)
FOLLOW_UPS = (
    ("随机接入是什么？", "它有哪些步骤？", "那四步和两步有什么区别？"),
    ("What is carrier aggregation?", "What are its limits?", "And the secondary cell?"),
)
REWRITES = ("none", "multi", "hyde", "expand", "decompose", "step_back", "variants", "simplify", "clarify", "domain")
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "basic": {},
    "enhanced": {"mode": "enhanced"},
    "agentic": {"mode": "agentic"},
    "ultimate": {"mode": "ultimate"},
    "adaptive": {"strategy": "adaptive"},
    "self_rag": {"strategy": "self_rag"},
    **{style: {"style": style} for style in ("simple", "advanced", "precise")},
    **{f"preset {name}": {"preset": name} for name in ("accurate", "fast", "balanced", "cheap")},
    **{f"retrieval {mode}": {"retrieval_mode": mode} for mode in ("vector", "bm25")},
    "not reranked": {"rerank": False},
    "tiered": {"use_tiered_generation": True},
    "citations as html": {"citation_format": "html", "include_inline": False},
}
NARROW: Mapping[str, Mapping[str, Any]] = {  # asked with the first few questions only
    **{f"rewrite {method}": {"rewrite_method": method} for method in REWRITES},
    **{
        f"compress {method}": {"compression_method": method}
        for method in ("sentence_extraction", "llm_compression", "hybrid")
    },
}
VOLATILE = re.compile(
    r"(?:^|_)(?:id|ids|time|times|seconds|ms|latency|created|sequence|hits_seconds)$|^timings|^total_time|^created"
)
CHUNK_NUMBER = re.compile(r"/chunks\[\d+\]$")
NUMBERS_IN_LINKS = re.compile(r"(?<=[/=\"-])\d+(?=[/\"#?&-])|[0-9a-f]{8}-[0-9a-f-]{27}")


@dataclass(frozen=True, slots=True)
class Client:
    """Calls one product with one key."""

    url: str
    key: str

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """The JSON of an answer, or the events of a stream; errors are answers, too."""
        request = urllib.request.Request(
            self.url + path,
            data=json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                text, kind = answer.read().decode(), answer.headers.get_content_type()
        except urllib.error.HTTPError as error:
            return {"status": error.code, "body": json.loads(error.read() or b"null")}
        return list(_events(text)) if kind == "text/event-stream" else json.loads(text)


def _events(text: str) -> Iterator[Any]:
    """The data of server-sent events; consecutive pieces of text are joined, because their cuts depend on time."""
    pieces = ""
    for line in text.splitlines():
        if not line.startswith("data: "):
            continue
        data = line.removeprefix("data: ")
        event = data if data == "[DONE]" else json.loads(data)
        if isinstance(event, dict) and event.get("type") in ("chunk", "token"):
            pieces += event.get("content", "")
            continue
        if pieces:
            yield {"text": pieces}
            pieces = ""
        yield event


def stable(value: Any) -> Any:
    """A value without what differs between installations: ids, times, and numbers in links."""
    if isinstance(value, Mapping):
        return {key: stable(part) for key, part in value.items() if not VOLATILE.search(str(key))}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [stable(part) for part in value]
    if isinstance(value, float):
        return round(value, 6)
    return NUMBERS_IN_LINKS.sub("N", value) if isinstance(value, str) else value


def record(client: Client) -> dict[str, Any]:
    """Everything that is compared, by a readable name."""
    kept: dict[str, Any] = {}

    def ask(name: str, path: str, body: Mapping[str, Any]) -> Any:
        answer = client.post(path, body)
        kept[name] = stable(answer)
        if sys.stderr.isatty():
            print(f"\r{len(kept)} answers", end="", file=sys.stderr)
        return answer

    for question in QUESTIONS:
        for mode in ("hybrid", "vector", "bm25"):
            body = {"query": question, "mode": mode, "top_k": 20, "trace": True}
            ask(f"retrieve {mode}: {question}", "/api/v1/rag/retrieve", body)
        for name, options in VARIANTS.items():
            ask(f"{name}: {question}", "/api/v1/rag/generate", {"query": question, "cache": False, **options})
        ask(f"stream: {question}", "/api/v1/rag/generate/stream", {"query": question, "cache": False})
        ask(f"query: {question}", "/api/v1/rag/query", {"query": question, "mode": "simple"})
        ask(f"query-stream: {question}", "/api/v1/rag/query-stream", {"query": question, "mode": "advanced"})
        messages = [{"role": "user", "content": question}]
        ask(f"openai: {question}", "/v1/chat/completions", {"model": "ragsite", "messages": messages})
    for question in (QUESTIONS[1], QUESTIONS[4], QUESTIONS[6], QUESTIONS[8]):
        for name, options in NARROW.items():
            ask(f"{name}: {question}", "/api/v1/rag/generate", {"query": question, "cache": False, **options})
    for first, *more in FOLLOW_UPS:
        answer = ask(f"conversation: {first}", "/api/v1/rag/generate", {"query": first, "cache": False})
        for question in more:
            body = {"query": question, "cache": False, "conversation_id": answer["conversation_id"]}
            ask(f"conversation: {first} / {question}", "/api/v1/rag/generate", body)
    for _time in range(2):  # the second answer comes from the cache
        ask(f"cached: {QUESTIONS[0]}", "/api/v1/rag/generate", {"query": QUESTIONS[0]})
    ask("batch", "/api/v1/rag/batch", {"queries": list(QUESTIONS[:4]), "cache": False})
    ask("too long", "/api/v1/rag/generate", {"query": "x" * 2001})
    ask("unknown field", "/api/v1/rag/generate", {"query": "x", "colour": "red"})
    return kept


def differences(before: Any, after: Any, at: str = "", chunks: dict[int, int] | None = None) -> Iterator[str]:
    """Where two recorded values differ, one line each.

    Chunk numbers may differ as a whole, because documents are ingested in any order: `chunks` maps those of `before` to
    those of `after`, each to one.
    """
    chunks = {} if chunks is None else chunks
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            if key not in before or key not in after:
                yield f"{at}/{key}: {'only before' if key in before else 'only after'}"
            else:
                yield from differences(before[key], after[key], f"{at}/{key}", chunks)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (left, right) in enumerate(zip(before, after, strict=True)):
            yield from differences(left, right, f"{at}[{index}]", chunks)
    elif isinstance(before, float) and isinstance(after, float):
        if abs(before - after) > 1e-5:
            yield f"{at}: {before} → {after}"
    elif CHUNK_NUMBER.search(at) and isinstance(before, int) and isinstance(after, int):
        if before not in chunks and after not in chunks.values():
            chunks[before] = after
        if chunks.get(before) != after:
            yield f"{at}: chunk {before} was {chunks.get(before)} elsewhere, here {after}"
    elif before != after:
        yield f"{at}: {_short(before)} → {_short(after)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}…"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.answer_snapshot", description=__doc__)
    parser.add_argument("--url", default="http://127.0.0.1:8000")
    parser.add_argument("--key", required=True)
    parser.add_argument("--file", type=Path, required=True, help="where the record is written")
    parser.add_argument("--against", type=Path, help="an earlier record to compare with")
    arguments = parser.parse_args()
    after = record(Client(url=arguments.url.rstrip("/"), key=arguments.key))
    arguments.file.write_text(json.dumps(after, ensure_ascii=False, indent=1, sort_keys=True), encoding="utf-8")
    print(f"{len(after)} answers recorded in {arguments.file}")
    if arguments.against is None:
        return 0
    lines = list(differences(json.loads(arguments.against.read_text(encoding="utf-8")), after))
    print(*lines, f"{len(lines)} differences", sep="\n")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
