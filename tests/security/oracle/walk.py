"""Clients of the people, requests that leave nothing behind, and words that must not stand in an answer."""

from __future__ import annotations

import random
import re
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.test import Client

from tests.security.oracle.facts import Facts, Person, facts_of
from tests.security.oracle.rules import Rules
from tests.security.oracle.world import WORD, World

FOUND = re.compile(WORD)
READING = ("SELECT", "SAVEPOINT", "RELEASE", "ROLLBACK", "SET ", "SHOW")


@dataclass
class Answer:
    """What came back."""

    status: int
    text: str  # headers, cookies and body
    words: frozenset[str]
    body: str
    fault: str = ""  # of the server


@dataclass
class Walk:
    """A random walk over the addresses of one world."""

    world: World
    rng: random.Random
    rules: Rules = field(init=False)
    people: list[Person] = field(init=False)
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    _clients: dict[int, Client] = field(default_factory=dict)
    _hidden: dict[tuple[int, str], frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        roles = {user.pk: f"{role} of {name}" for (name, role), user in self.world.people.items()}
        for user in self.world.people.values():
            client = Client(raise_request_exception=False)
            if user.pk in self.world.keys:
                client.defaults["HTTP_AUTHORIZATION"] = f"Bearer {self.world.keys[user.pk]}"
            else:
                client.force_login(user)
            self._clients[user.pk] = client
        facts: Facts = facts_of(roles)
        self.rules = Rules(facts)
        self.people = [facts.people[user.pk] for user in self.world.people.values()]

    @property
    def browsers(self) -> list[Person]:
        """People with a browser: all but service accounts."""
        return [one for one in self.people if one.pk not in self.world.keys]

    def client(self, who: Person | None) -> Client:
        return Client(raise_request_exception=False) if who is None else self._clients[who.pk]

    def send(self, who: Person | None, method: str, address: str, **more: Any) -> Answer:
        """One request. What it wrote is rolled back by the caller; the client keeps its cookies."""
        client = self.client(who)
        cookies = client.cookies.copy()
        response = getattr(client, method)(address, **more)
        body = b"".join(response.streaming_content) if response.streaming else response.content
        client.cookies = cookies
        self.counts["requests"] += 1
        said = "\n".join([*(f"{name}: {value}" for name, value in response.items()), response.cookies.output()])
        page = body.decode("utf-8", "replace")
        text = f"{said}\n{page}"
        fault = getattr(response, "exc_info", None)
        trace = "".join(traceback.format_exception(fault[1])[-6:]) if fault and response.status_code >= 500 else ""
        return Answer(response.status_code, text, frozenset(FOUND.findall(text.lower())), page, trace)

    def get(self, who: Person | None, address: str) -> Answer:
        """A GET that leaves nothing in the database."""
        with transaction.atomic():
            answer = self.send(who, "get", address)
            transaction.set_rollback(True)
        return answer

    def hidden(self, who: Person | None, way: str) -> frozenset[str]:
        """Words that this person must not see by this way."""
        key = (who.pk if who else 0, way)
        if key not in self._hidden:
            secrets = self.world.secrets.items()
            self._hidden[key] = frozenset(w for w, one in secrets if not self.rules.may_see(who, one, way))
        return self._hidden[key]

    def check(self, is_right: bool, who: Person | None, what: str, count: int = 1) -> None:
        """One decision of the oracle compared with what the product did."""
        self.counts["checks"] += count
        if not is_right:
            self.faults.append(f"{who.role if who else 'nobody'}: {what}")

    def look(
        self, who: Person | None, answer: Answer, way: str, what: str, known: frozenset[str] = frozenset()
    ) -> None:
        """No word of what is hidden, and no fault of the server. `known`: words that the request itself held."""
        leaked = (answer.words & self.hidden(who, way)) - known
        names = ", ".join(f"{s.kind} {s.pk} {s.facet}" for s in sorted(self.world.secrets[w] for w in leaked))
        self.check(not leaked, who, f"{what} → {answer.status}: tells {names}")
        if answer.status >= 500:
            self.faults.append(f"{who.role if who else 'nobody'}: {what} → {answer.status} {answer.fault}")


@contextmanager
def writes_noted() -> Iterator[list[str]]:
    """The statements within that may have changed something."""
    written: list[str] = []

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if not str(sql).lstrip().upper().startswith(READING):
            written.append(str(sql))
        return execute(sql, params, many, context)

    with connection.execute_wrapper(note):
        yield written
