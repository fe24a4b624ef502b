"""Search, ask, and read an answer while it is written. Usage: SITE=… KEY=… python ask.py QUESTION"""

# ruff: noqa: T201 (it prints)

import json
import os
import sys
import time
from collections.abc import Iterator

import httpx

SITE, KEY = os.environ["SITE"], os.environ["KEY"]
TRIES = 5


def post(client: httpx.Client, path: str, body: dict) -> dict:
    """A call that waits where the site is busy; anything else that fails says why."""
    for _ in range(TRIES):
        response = client.post(path, json=body)
        if response.status_code not in (429, 503):
            break
        time.sleep(int(response.headers.get("Retry-After", "2")))
    if response.is_error:
        error = response.json()["error"]
        sys.exit(f"{response.status_code} {error['code']}: {error['message']}")
    return response.json()


def stream(client: httpx.Client, body: dict) -> Iterator[dict]:
    """The events of an answer. If the connection breaks, goes on behind the last event that came."""
    message, last, over = "", "0", False
    for _ in range(TRIES):
        request = ("POST", "/api/v1/rag/generate/stream") if not message else ("GET", f"/api/v1/rag/streams/{message}")
        sent = {"json": body} if not message else {"headers": {"Last-Event-ID": last}}
        try:
            with client.stream(*request, **sent) as response:
                response.raise_for_status()
                message = response.headers["X-Message-Id"]
                for line in response.iter_lines():
                    if line.startswith("id: "):
                        last = line[4:]
                    elif line == "data: [DONE]":
                        over = True
                    elif line.startswith("data: "):
                        yield json.loads(line[6:])
        except httpx.TransportError:
            if not message:
                raise
        if over:
            return


def main(question: str) -> None:
    with httpx.Client(base_url=SITE, headers={"Authorization": f"Bearer {KEY}"}, timeout=90) as client:
        found = post(client, "/api/v1/rag/retrieve", {"query": question, "top_k": 3})
        for hit in found["hits"]:
            print(f"{hit['score']:.3f}  {hit['title']}, page {hit['page']}")

        answer = post(client, "/api/v1/rag/generate", {"query": question, "style": "simple"})
        print(f"\n{answer['status']}: {answer['answer']}")
        for citation in answer["citations"]:
            print(f"[{citation['citation_num']}] {citation['title']}")

        print("\nStreamed:")
        for event in stream(client, {"query": question, "style": "simple", "cache": False}):
            if event["type"] == "chunk":
                print(event["content"], end="", flush=True)
            elif event["type"] == "error":
                sys.exit(event["message"])
        print()


if __name__ == "__main__":
    main(sys.argv[1])
