"""The model process as its clients meet it: whom it answers, whom it leaves, what it holds."""

from __future__ import annotations

import socket
import stat
import struct
import threading

import numpy as np
import pytest

from ragcore.errors import EmbedderRefusedError, ModelUnavailableError
from ragcore.model_process import server as server_module
from ragcore.model_process.client import ModelProcess
from ragcore.model_process.protocol import MAX_REQUEST_BYTES, Request, encode_request
from ragcore.model_process.socket_paths import short_path
from tests.ragcore.model_process.letters import LettersModel, counts, letters, serving

SECONDS = 20
TEXTS = ("base", "station", "", "z" * 10_000)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "models.sock"


def ask(path, *texts, model=None, **options):
    request = Request(model=model or letters(), texts=texts, **options)
    return ModelProcess(path).ask(request, seconds=SECONDS)


def connected(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(SECONDS)
    with short_path(path) as name:
        connection.connect(name)
    return connection


def test_it_answers_with_a_row_for_each_text(path):
    with serving(path):
        answer = ask(path, *TEXTS)

    np.testing.assert_array_equal(answer.rows, counts(TEXTS))
    assert answer.batch == LettersModel.batch


def test_only_its_owner_may_use_the_socket(path):
    with serving(path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


def test_a_socket_that_is_left_over_is_replaced(path):
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))

    with serving(path):
        assert len(ask(path, "text").rows) == 1


def test_a_folder_with_a_long_name_will_do(tmp_path):
    folder = tmp_path / ("long" * 40)
    folder.mkdir()

    with serving(folder / "models.sock"):
        assert len(ask(folder / "models.sock", "text").rows) == 1


def test_a_question_of_pairs_reaches_the_model(path):
    with serving(path):
        answer = ask(path, "passage", question="aa")

    np.testing.assert_array_equal(answer.rows, counts(["passageaa"]))


def test_a_model_is_loaded_once_for_all_who_ask_at_the_same_time(path):
    loaded = []

    def load(source, **options):
        loaded.append((source, options))
        return LettersModel()

    with serving(path, letters=load):
        threads = [threading.Thread(target=ask, args=(path, "text")) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ModelProcess(path).load(letters(pooling="cls"))

    assert loaded == [("letters", {}), ("letters", {"pooling": "cls"})]


def test_the_model_that_was_not_asked_for_the_longest_time_leaves(path):
    loaded = []

    def load(source):
        loaded.append(source)
        return LettersModel()

    with serving(path, most_models=2, letters=load):
        for source in ("a", "b", "a", "c", "a", "b"):
            ask(path, "text", model=letters(source))

    assert loaded == ["a", "b", "c", "b"]


def test_a_model_that_cannot_be_loaded_is_told_and_tried_again(path):
    tries = []

    def load(source):
        tries.append(source)
        if len(tries) == 1:
            raise EmbedderRefusedError("not_loaded", model=source, problem="no weights")
        return LettersModel()

    with serving(path, letters=load):
        with pytest.raises(EmbedderRefusedError, match="'letters' cannot be loaded: no weights"):
            ask(path, "text")
        assert len(ask(path, "text").rows) == 1


@pytest.mark.parametrize("failure", [RuntimeError("out of memory"), OSError("disk"), TimeoutError(), KeyError("x")])
def test_whatever_a_model_raises_is_a_failure_that_may_pass(path, failure):
    def fail(texts):
        raise failure

    with serving(path, letters=lambda source: LettersModel(fail)):
        with pytest.raises(ModelUnavailableError, match="The model 'letters' failed"):
            ask(path, "text")
        with pytest.raises(ModelUnavailableError):
            ask(path, "text", is_urgent=True)


def test_a_kind_that_nothing_loads_is_told(path):
    with serving(path), pytest.raises(ModelUnavailableError, match="failed"):
        ask(path, "text", model=letters().__class__(kind="chat", source="m"))


def test_a_request_that_is_too_long_is_refused_and_the_next_one_answered(path):
    with serving(path):
        with connected(path) as connection:
            connection.sendall(struct.pack(">I", MAX_REQUEST_BYTES + 1))
            assert b"error" in connection.recv(1000)
            assert connection.recv(1000) == b""
        assert len(ask(path, "text").rows) == 1


def test_who_sends_half_a_message_or_nothing_loses_the_connection_and_holds_up_nobody(path, monkeypatch):
    monkeypatch.setattr(server_module, "REQUEST_SECONDS", 0.2)
    message = encode_request(Request(model=letters(), texts=("text",)))

    with serving(path), connected(path) as silent, connected(path) as half, connected(path) as gone:
        half.sendall(message[:-3])
        gone.sendall(message[:-3])
        gone.close()

        assert len(ask(path, "text").rows) == 1
        assert silent.recv(1) == b""
        assert half.recv(1) == b""


def test_connections_have_a_limit_and_come_free_again(path, monkeypatch):
    monkeypatch.setattr(server_module, "MOST_CONNECTIONS", 1)

    with serving(path):
        with connected(path), connected(path) as second:
            assert second.recv(1) == b""
        assert len(ask(path, "text").rows) == 1


def test_nothing_more_is_computed_for_a_client_that_has_gone(path, monkeypatch):
    monkeypatch.setattr(server_module, "SIGN_OF_LIFE_SECONDS", 0.01)
    begun, go_on, slices = threading.Event(), threading.Event(), []

    def before(texts):
        slices.extend(texts)
        begun.set()
        assert go_on.wait(SECONDS)

    with serving(path, letters=lambda source: LettersModel(before)) as server:
        jobs, add = [], server.turns.add
        monkeypatch.setattr(server.turns, "add", lambda job: (jobs.append(job), add(job)))
        with connected(path) as connection:
            long = tuple(f"{number} " + "x" * 2000 for number in range(20))  # each a slice of its own
            connection.sendall(encode_request(Request(model=letters(), texts=long)))
            assert begun.wait(SECONDS)
        cancelled = threading.Event()
        jobs[0].result.add_done_callback(lambda _: cancelled.set())
        assert cancelled.wait(SECONDS)
        go_on.set()
        assert len(ask(path, "text").rows) == 1

    assert slices == [long[0], "text"]
