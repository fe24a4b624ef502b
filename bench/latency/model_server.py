"""`python -m bench.latency.model_server`: a model server of known speed for `bench.latency`.

Speaks the OpenAI protocol on the loopback. It answers each prompt of the product in the form that the prompt asks for,
so that every stage does what it does with a good model: judgements are middling, so that loops take all their rounds.
Everything else is answered with the first sentences of the sources in the prompt.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

_SOURCE = re.compile(r"\[Source (\d+)\][^\n]*\n([^\n]+)")
_QUESTION = re.compile(r"<question>\s*(.*?)\s*</question>", re.DOTALL)
_MIDDLING = {"relevance": 0.5, "completeness": 0.65, "accuracy": 0.65, "coherence": 0.65, "missing": []}
_GRADES = {"relevance": 6, "accuracy": 6, "completeness": 6, "clarity": 6, "citation_quality": 6, "critique": "Cite."}
_ANALYSIS = {"type": "complex_reasoning", "complexity": 6, "cue": "process", "target": "object"}


class Handler(BaseHTTPRequestHandler):
    """One request: the time to the first token, then tokens at their speed."""

    protocol_version = "HTTP/1.1"
    first_seconds = 0.2
    tokens_per_second = 50.0

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = reply_to("\n".join(message["content"] for message in body["messages"]))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        try:
            self._stream(text)
        except OSError:  # the reader has left
            return

    def _stream(self, text: str) -> None:
        time.sleep(self.first_seconds)
        for piece in re.findall(r"[\u3400-\u9fff]|\s*[^\s\u3400-\u9fff]+|\s+", text):
            self._event({"content": piece}, None)
            time.sleep(1 / self.tokens_per_second)
        self._event({}, "stop")
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, delta: dict[str, str], finish: str | None) -> None:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        data: dict[str, Any] = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "known-speed"}
        self.wfile.write(b"data: " + json.dumps(data | {"choices": [choice]}).encode() + b"\n\n")
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


def reply_to(prompt: str) -> str:
    """What a middling model says: told by the keys of the JSON that the prompt asks for."""
    asked = prompt.rsplit("Reply with one JSON object", 1)
    question = next(iter(_QUESTION.findall(prompt)), "")
    if len(asked) == 2:
        return json.dumps(_object(asked[1], question), ensure_ascii=False)
    found = _SOURCE.findall(prompt)[:3]
    return "\n\n".join(f"{text[:200]} [{number}]" for number, text in found) or f"About this: {question}"


def _object(shape: str, question: str) -> dict[str, Any]:
    values: dict[str, dict[str, Any]] = {
        '"citation_quality"': _GRADES,
        '"coherence"': _MIDDLING,
        '"confidence"': {"confidence": 0.5},
        '"grade"': {"grade": 6},
        '"supported"': {"supported": [1]},
        '"standalone"': {"standalone": question, "terms": [], "queries": []},
        '"type"': _ANALYSIS,
        '"queries"': {"queries": [f"{question} details", f"{question} definition"]},
        '"query"': {"query": f"{question} details and conditions"},
    }
    return next((value for key, value in values.items() if key in shape), {})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.latency.model_server", description=__doc__)
    parser.add_argument("--port", type=int, default=9009)
    parser.add_argument("--first-ms", type=float, default=200)
    parser.add_argument("--tokens-per-second", type=float, default=50)
    arguments = parser.parse_args()
    Handler.first_seconds = arguments.first_ms / 1000
    Handler.tokens_per_second = arguments.tokens_per_second
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
    server.daemon_threads = True
    server.serve_forever()


if __name__ == "__main__":
    main()
