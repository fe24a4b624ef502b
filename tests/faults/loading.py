"""A client that loads documents and sends again what was not acknowledged, as clients do."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import httpx

from ragsite.embedded.processes import wait_until
from tests.faults.documents import Sent
from tests.faults.product import Product

LINES = 25  # of a bulk load
GIVE_UP_SECONDS = 120


@dataclass(repr=False)
class Load:
    """Sends everything once, in a thread, and repeats what got no answer, until all is acknowledged or refused.

    `failure` says why it gave up; `jobs` are those that were named in acknowledgements.
    """

    product: Product
    set_id: int
    sent: Sequence[Sent]
    doomed: Sequence[int] = ()  # ids of documents to be deleted
    jobs: set[int] = field(default_factory=set)
    acknowledged: dict[str, Sent] = field(default_factory=dict)
    repeated: int = 0
    failure: str = ""

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._send_all, daemon=True)
        self._thread.start()

    def is_running(self) -> bool:
        return self._thread.is_alive()

    def _send_all(self) -> None:
        lines = [one for one in self.sent if one.is_line]
        files = [one for one in self.sent if not one.is_line]
        try:
            with self.product.client() as client:
                for document_id in self.doomed:
                    self._delete(client, document_id)
                while lines or files:
                    batch, lines = lines[:LINES], lines[LINES:]
                    if batch:
                        self._bulk(client, batch)
                    uploads, files = files[:8], files[8:]
                    for one in uploads:
                        self._upload(client, one)
        except AssertionError as error:
            self.failure = str(error)

    def _bulk(self, client: httpx.Client, batch: list[Sent]) -> None:
        body = b"\n".join(one.line(self.set_id) for one in batch)
        headers = {"Content-Type": "application/x-ndjson"}
        answer = self._sent(lambda: client.post("/documents/bulk", content=body, headers=headers)).json()
        assert answer["rejected"] == [], answer
        self.jobs.add(answer["job_id"])
        self.acknowledged |= {one.identity: one for one in batch}

    def _upload(self, client: httpx.Client, one: Sent) -> None:
        files, fields = {"file": (one.name, one.content)}, {"sets": str(self.set_id), "title": one.name}
        answer = self._sent(lambda: client.post("/documents", files=files, data=fields)).json()
        self.jobs |= {answer["job_id"]} - {None}
        self.acknowledged[one.identity] = one

    def _delete(self, client: httpx.Client, document_id: int) -> None:
        """Done, or done by an attempt whose answer was lost."""
        self._sent(lambda: client.delete(f"/documents/{document_id}"), also=httpx.codes.NOT_FOUND)

    def _sent(self, post: Callable[[], httpx.Response], *, also: int = 0) -> httpx.Response:
        """The answer below 300; anything passing is waited for and tried again, anything else fails."""
        answers: list[httpx.Response] = []

        def done() -> bool:
            try:
                answer = post()
            except httpx.TransportError:
                self.repeated += 1
                return False
            if answer.status_code >= 500:
                self.repeated += 1
                return False
            answers.append(answer)
            return True

        assert wait_until(done, seconds=GIVE_UP_SECONDS), f"no answer for {GIVE_UP_SECONDS} s"
        assert answers[0].status_code < 300 or answers[0].status_code == also, answers[0].text
        return answers[0]
