"""Ingesting, replacing, editing, deleting and searching at once: nobody fails, and every number is right afterwards."""

from __future__ import annotations

import random
import threading
from contextlib import suppress

import pytest
from django.db import connections

from accounts.errors import NotFoundError
from knowledge.errors import PassageChangedError
from knowledge.models import Chunk, Document
from knowledge.services import document_delete, retrieve
from knowledge.services.edits import chunk_replace
from knowledge.services.maintenance import index_check, indexes_refresh
from knowledge.types import RetrievalRequest
from tests.factories import ingest, make_admin, make_set, scope_of
from tests.forms_plugin import is_full

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 12 if is_full() else 3
WORDS = ["beam", "antenna", "filter", "carrier", "preamble", "terminal", "uplink", "handover", "timer", "cell"]


class Work(threading.Thread):
    """One thing done again and again; what goes wrong is kept for the test."""

    def __init__(self, act, rounds=ROUNDS, until=None):
        super().__init__(daemon=True)
        self.act, self.rounds, self.until, self.error, self.done = act, rounds, until, None, 0

    def run(self):
        try:
            while (self.done < self.rounds) if self.until is None else not self.until.is_set():
                self.act(self.done)
                self.done += 1
        except Exception as error:  # noqa: BLE001 (whatever it is, the test says it)
            self.error = error
        finally:
            connections.close_all()


def text(number):
    chosen = random.Random(number)
    return " ".join(chosen.choice(WORDS) for _ in range(chosen.randint(3, 200))) + f" note {number}."


def test_nobody_fails_and_no_number_drifts():
    owner = make_admin()
    shelf = make_set("shelf", owners=[owner])
    ingest(owner, shelf, **{f"d{n}": text(n) for n in range(8)})
    scope, over = scope_of(owner), threading.Event()

    def load(offset):
        return lambda n: ingest(
            owner, shelf, **{f"d{(n + offset) % 8}": text(100 * offset + n), f"n{offset}-{n}": text(n)}
        )

    def delete(n):
        found = Document.objects.filter(deleted=None, external_id=f"n1-{n}").first()
        if found is not None:
            document_delete(scope=scope, actor=owner, document_id=found.pk)

    def edit(n):
        chunk = Chunk.objects.filter(version__live_for__external_id=f"d{n % 8}", retired=None, kind="body").first()
        with suppress(PassageChangedError, NotFoundError):  # somebody was faster, which is said in words
            chunk_replace(scope=scope, actor=owner, chunk_id=chunk.pk, text=text(1000 + n))

    def search(n):
        found = retrieve(scope=scope, request=RetrievalRequest(query=WORDS[n % len(WORDS)]))
        assert found.state.candidates

    writers = [Work(load(1)), Work(load(2)), Work(delete, 3 * ROUNDS), Work(edit), Work(lambda n: indexes_refresh())]
    readers = [Work(search, until=over), Work(search, until=over)]
    for thread in (*writers, *readers):
        thread.start()
    for thread in writers:
        thread.join(240)
    over.set()
    for thread in readers:
        thread.join(60)

    assert [thread.error for thread in (*writers, *readers)] == [None] * 7
    assert all(thread.done for thread in readers)
    assert index_check() == []
