"""Questions: searches, answers and their streams, of people and of agents."""

from __future__ import annotations

import json
import random
from typing import Any

from django.test import AsyncClient

from tests.security.oracle.facts import Person
from tests.security.oracle.routes import Aim
from tests.security.oracle.walk import FOUND, Answer, Walk

QUESTION = "Which beam carries seven tons and was tested?"
RAG = "/api/v1/rag/"


class Asker:
    """Sends questions as a browser or a key would, in the event loop of the test."""

    def __init__(self, walk: Walk) -> None:
        self.walk, self.rng = walk, walk.rng
        self.aim = Aim(walk.rules.facts, walk.rng)

    def bodies(self, who: Person) -> list[tuple[str, str, dict[str, Any] | None]]:
        """Method, address, body."""
        rng: random.Random = self.rng
        home = who.tenant if rng.random() < 0.8 else None
        sets = [self.aim.some("set", tenant=home) for _ in range(rng.randrange(3))]
        talk = str(self.aim.some("conversation", tenant=home, person=who.pk))
        message = str(self.aim.some("message", tenant=home, person=who.pk))
        file = str(self.aim.some("attachment", tenant=home, person=who.pk))
        tenant = str(self.aim.some("tenant", tenant=home))
        tags = [w for w, one in self.walk.world.secrets.items() if one.facet == "tag"]
        word = rng.choice([w for w, one in self.walk.world.secrets.items() if one.kind == "version"])
        code = str(self.walk.rules.facts.row("set", self.aim.some("set", tenant=home))["code"])
        beside = {"related_to": self.aim.some("document", tenant=home)}
        filters = rng.choice(({}, {"tags": [rng.choice(tags)]}, {"axis": "X"}, {"capability": [code]}, beside))
        search = {"query": rng.choice((QUESTION, word)), "top_k": 50, "rerank": False, "mode": rng.choice(MODES)}
        ask = {"query": f"{QUESTION} {word}", "sets": sets, "cache": rng.random() < 0.5}
        if rng.random() < 0.5:  # entities, the sentences between them and paths stand in the answer
            ask["enable_kg_enhancement"] = True
        return [
            ("post", f"{RAG}retrieve", {**search, "sets": sets, "filters": filters, "trace": rng.random() < 0.5}),
            ("post", f"{RAG}retrieve", {**search, "tenant_id": tenant}),
            ("get", f"{RAG}filters", None),
            ("post", f"{RAG}filters/count", {"sets": sets, "filters": filters}),
            ("post", f"{RAG}generate", {**ask, "conversation_id": talk}),
            ("post", f"{RAG}generate/stream", ask),
            ("post", f"{RAG}batch", {"queries": [QUESTION, word]}),
            ("post", f"{RAG}query", {"query": QUESTION, "conversation_id": talk}),
            ("post", f"{RAG}query-stream", {"query": word}),
            ("get", f"{RAG}streams/{message}", None),
            ("get", f"{RAG}shares", None),
            ("post", f"{RAG}shares", {"message_id": message, "whole": True}),
            ("get", f"{RAG}shares/00000000-0000-0000-0000-000000000002", None),
            ("get", f"{RAG}pictures/{self.aim.some('version', tenant=home)}/p1.png", None),
            ("get", f"{RAG}attachments", None),
            ("get", f"{RAG}attachments?conversation_id={talk}", None),
            ("get", f"{RAG}attachments/{file}", None),
            ("post", f"{RAG}attachments/{file}/retry", {}),
            ("post", f"{RAG}generate", {"query": f"{QUESTION} {word}", "attachments": [file], "conversation_id": talk}),
            ("get", f"{RAG}health", None),
            ("post", "/api/v1/dify/retrieval", {"knowledge_id": code, "query": f"{QUESTION} {word}"}),
            ("post", "/v1/embeddings", {"input": word}),
            ("get", "/v1/models", None),
            ("get", f"/v1/models/ragsite/{code}", None),
            (
                "post",
                "/v1/chat/completions",
                {"model": f"ragsite/{code}", "messages": [{"role": "user", "content": QUESTION}]},
            ),
        ]

    async def send(self, who: Person, method: str, address: str, sent: dict[str, Any] | None) -> Answer:
        client = AsyncClient(raise_request_exception=False)
        known = self.walk.client(who)
        client.cookies = known.cookies.copy()
        headers = {"authorization": known.defaults["HTTP_AUTHORIZATION"]} if who.pk in self.walk.world.keys else {}
        if method == "get":
            response = await client.get(address, headers=headers)
        else:
            response = await client.post(address, json.dumps(sent), content_type="application/json", headers=headers)
        body = b"".join([part async for part in response]) if response.streaming else response.content
        self.walk.counts["requests"] += 1
        text = body.decode("utf-8", "replace")
        return Answer(response.status_code, text, frozenset(FOUND.findall(text.lower())), text)

    async def found(self, who: Person) -> set[int]:
        """The documents that a search by words finds."""
        sent = {"query": QUESTION, "top_k": 50, "rerank": False, "mode": "bm25"}
        answer = await self.send(who, "post", f"{RAG}retrieve", sent)
        return {hit["document_id"] for hit in json.loads(answer.text)["hits"]} if answer.status == 200 else set()


MODES = ("hybrid", "vector", "bm25", "graph")
