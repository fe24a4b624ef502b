"""LLM_FILE: a server for a model file, started, asked, killed, left alone; real processes, a server that pretends."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from ragcore.client_registry import tls_context
from ragcore.model_file.state import ServedModel, read_state
from ragsite.embedded import language_model
from ragsite.embedded.data_dir import is_running
from ragsite.embedded.language_model import LanguageModel
from ragsite.embedded.processes import free_port, wait_until
from ragsite.env import read_environment
from tests.ragcore.model_file.gguf_files import QWEN, write_gguf
from tests.ragsite import fake_llama
from tests.ragsite.test_embedded_supervisor import Product

GB = 1024**3
SECRET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass
class World:
    """A folder with a model, a PATH with a server that pretends, and what it was started with."""

    folder: Path
    said: list[str]

    @property
    def hold(self) -> Path:
        return self.folder / "hold"

    @property
    def state(self) -> ServedModel:
        state = read_state(self.folder / "data" / "language_model.json")
        assert state is not None
        return state

    def starts(self) -> list[dict]:
        return [json.loads(line) for line in (self.folder / "notes").read_text().splitlines()]

    def environment(self, **variables):
        return read_environment(DATA_DIR=self.folder / "data", LLM_FILE=self.folder / "m.gguf", **variables)


@pytest.fixture
def world(tmp_path, monkeypatch) -> World:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE_LLAMA_NOTES", str(tmp_path / "notes"))
    monkeypatch.setenv("FAKE_LLAMA_HOLD", str(tmp_path / "hold"))
    monkeypatch.setenv("SECRET_KEY", SECRET)
    monkeypatch.delenv("LLM_BASE_URL", raising=False)
    (tmp_path / "data").mkdir()
    write_gguf(tmp_path / "m.gguf")
    fake_llama.install(tmp_path / "bin")
    return World(tmp_path, [])


@pytest.fixture
def serve(world) -> Iterator[Callable[..., LanguageModel]]:
    """Checks and launches; what runs at the end is killed."""
    models: list[LanguageModel] = []

    def start(*, available: int | None = 64 * GB, **variables) -> LanguageModel:
        model = LanguageModel(world.environment(**variables), world.said.append, available=lambda: available)
        models.append(model)
        model.check()
        model.launch()
        return model

    yield start
    for model in models:
        if model.supervised is not None:
            model.supervised.process.stop(seconds=5)


def watch_until(model: LanguageModel, condition: Callable[[], bool]) -> None:
    """As the supervisor watches it, until something is so."""

    def look() -> bool:
        model.supervised.restart_if_ended()
        model.look()
        return condition()

    assert wait_until(look, seconds=60)


def ask(state: ServedModel, key: str) -> httpx.Response:
    body = {"model": state.name, "messages": [{"role": "user", "content": "Hello"}]}
    with httpx.Client(trust_env=False, verify=tls_context(), timeout=20) as client:
        return client.post(f"{state.url}/chat/completions", json=body, headers={"Authorization": f"Bearer {key}"})


def test_a_model_is_loaded_and_then_answers_with_its_key_alone(world, serve):
    world.hold.touch()
    model = serve()
    watch_until(model, lambda: (world.folder / "notes").exists())
    assert world.state.phase == "loading"

    world.hold.unlink()
    watch_until(model, lambda: world.state.phase == "ready")

    assert world.state.name == "Tiny Qwen"
    assert ask(world.state, world.state.key).json()["choices"][0]["message"]["content"] == "ok"
    assert ask(world.state, "another").status_code == 401
    assert [line.split(" (")[0] for line in world.said] == [
        "Loading the language model Tiny Qwen",
        "The language model Tiny Qwen is ready.",
    ]


def test_the_server_listens_here_alone_leaves_cores_and_learns_no_secret(world, serve, monkeypatch):
    monkeypatch.setattr(language_model, "usable_cores", lambda: 8)
    monkeypatch.setenv("HOST", "0.0.0.0")
    model = serve(LLM_FILE_CONTEXT=2048)
    watch_until(model, lambda: world.state.phase == "ready")

    arguments, environment = world.starts()[0]["arguments"], world.starts()[0]["environment"]
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    port = world.state.url.removeprefix("http://127.0.0.1:").removesuffix("/v1")
    assert options == {
        "-m": str(world.folder / "m.gguf"),
        "-c": "2048",
        "-np": "1",
        "-t": "6",
        "--alias": "Tiny Qwen",
        "--host": "127.0.0.1",
        "--port": port,
    }
    assert not {"SECRET_KEY", "DATABASE_URL", "REDIS_URL", "ADMIN_PASSWORD", "HOST", "PORT"} & set(environment)
    assert world.state.key not in arguments
    assert model.state_file.stat().st_mode & 0o077 == 0
    assert (world.folder / "data" / "logs" / "llama.log").exists()


def test_a_server_that_is_killed_is_loaded_again_at_the_same_address(world, serve):
    model = serve()
    watch_until(model, lambda: world.state.phase == "ready")
    before = world.state

    os.kill(world.starts()[0]["pid"], signal.SIGKILL)
    watch_until(model, lambda: world.state.phase == "loading")
    watch_until(model, lambda: world.state.phase == "ready")

    assert (world.state.url, world.state.key, world.state.identity) == (before.url, before.key, before.identity)
    assert len(world.starts()) == 2
    assert "llama was ended by signal 9; it is started again in 1 s" in "\n".join(world.said)


@pytest.mark.full
def test_a_server_that_keeps_ending_is_left_alone_with_the_reason_of_its_log(world, serve, monkeypatch):
    monkeypatch.setenv("FAKE_LLAMA_FAULT", "llama_model_load: error loading model: unknown model architecture: 'x'")
    model = serve()

    watch_until(model, lambda: world.state.phase == "failed")

    assert len(world.starts()) == language_model.MOST_FAILURES
    assert (world.state.reason, world.state.data["exit_code"]) == ("ended", "1")
    assert "unknown model architecture" in world.state.data["log"]
    assert "llama ended with code 1; it is left alone." in "\n".join(world.said)
    assert "LLM_FILE is not used, answers are quoted: The model server ended several times" in world.said[-1]
    model.supervised.restart_if_ended()
    model.look()
    assert len(world.starts()) == language_model.MOST_FAILURES


@pytest.mark.full
def test_the_reason_is_that_of_the_latest_start(world, serve):
    log = world.folder / "data" / "logs" / "llama.log"
    log.parent.mkdir()
    log.write_text("error: of last week\n")
    world.hold.touch()
    model = serve()
    for start in range(1, language_model.MOST_FAILURES + 1):
        watch_until(model, lambda start=start: (world.folder / "notes").exists() and len(world.starts()) == start)
        os.kill(world.starts()[-1]["pid"], signal.SIGKILL)

    watch_until(model, lambda: world.state.phase == "failed")

    assert (world.state.reason, world.state.data) == ("killed", {"signal": "9"})
    assert language_model._reason_in(log, log.stat().st_size) == "error: of last week"  # nothing since then


@pytest.mark.parametrize(
    ("make", "reason", "words"),
    [
        (lambda path: path.unlink(), "missing", "There is no file"),
        (lambda path: (path.unlink(), path.mkdir()), "folder", "is a folder"),
        (lambda path: path.write_text("<html>Not found</html>"), "not_gguf", "is not a GGUF file"),
        (lambda path: write_gguf(path, missing_bytes=100), "cut", "is cut"),
        (lambda path: write_gguf(path, {**QWEN, "general.architecture": "bert"}), "other_kind", "kind “bert”"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_and_nothing_is_started(world, serve, make, reason, words):
    make(world.folder / "m.gguf")

    model = serve()

    assert model.supervised is None
    assert (world.state.phase, world.state.reason) == ("failed", reason)
    assert len(world.said) == 1
    assert words in world.said[0]
    assert not (world.folder / "notes").exists()


def test_a_model_that_does_not_fit_into_memory_is_not_started(world, serve):
    write_gguf(world.folder / "m.gguf", tensors=((0, (1000, 1000, 1000)),))  # 4 GB, all of them zeros

    model = serve(available=4 * GB)

    assert model.supervised is None
    assert world.state.reason == "too_large"
    assert "does not fit into memory: it needs about 5.1 GB, and 4.3 GB are free" in world.said[-1]


def test_without_llama_cpp_it_is_said_what_to_install(world, serve, monkeypatch):
    (world.folder / "bin" / "llama-server").unlink()
    monkeypatch.setattr(language_model, "PACKAGE", "no_such_package")

    serve()

    assert world.state.reason == "not_installed"
    assert "make llama" in world.said[0]


def test_the_package_serves_where_there_is_no_program(world, serve, monkeypatch):
    """Its server has no /health: its list of models is asked for, with the key."""
    (world.folder / "bin" / "llama-server").unlink()
    fake_llama.install(world.folder / "packages" / "pretended_cpp", name="server.py", has_health=False)
    (world.folder / "packages" / "pretended_cpp" / "__init__.py").touch()
    monkeypatch.syspath_prepend(world.folder / "packages")
    monkeypatch.setenv("PYTHONPATH", str(world.folder / "packages"))
    monkeypatch.setattr(language_model, "PACKAGE", "pretended_cpp")

    model = serve(LLM_MODEL="mine")
    watch_until(model, lambda: world.state.phase == "ready")

    arguments = world.starts()[0]["arguments"]
    options = dict(zip(arguments[::2], arguments[1::2], strict=True))
    assert options["--interrupt_requests"] == "false"  # a question does not end the answer before it
    assert options["--n_threads"] == options["--n_threads_batch"]
    assert options["--model_alias"] == world.state.name == "mine"
    assert "API_KEY" in world.starts()[0]["environment"]


def test_a_name_of_a_header_is_none_of_a_command(world, serve):
    write_gguf(world.folder / "m.gguf", {**QWEN, "general.name": "--host 0.0.0.0,echo:x\n" + "y" * 1000})

    serve()

    assert world.state.name.startswith("host 0.0.0.0 echo x")
    assert len(world.state.name) < 100


def test_the_server_that_the_environment_names_counts(world):
    assert LanguageModel.of(world.environment(), world.said.append) is not None
    assert LanguageModel.of(world.environment(LLM_BASE_URL="http://m/v1"), world.said.append) is None


# ── with the whole supervisor ─────────────────────────────────────────────────────────────────────


@pytest.fixture
def product(world, monkeypatch) -> Iterator[Callable[..., Product]]:
    """Starts the fake product with the model; what runs at the end is killed with all that it started."""
    monkeypatch.delenv("SECRET_KEY")
    monkeypatch.setenv("LLM_FILE", str(world.folder / "m.gguf"))
    products: list[Product] = []

    def start() -> Product:
        products.append(Product(world.folder / "data", free_port()))
        return products[-1]

    yield start
    for each in products:
        each.child.kill()
        each.child.wait()
    assert wait_until(lambda: all(each.has_left_nothing() for each in products), seconds=30)


@pytest.mark.full
def test_the_site_does_not_wait_for_the_model_restarts_it_and_takes_it_along(world, product):
    world.hold.touch()
    running = product().ready()
    assert running.runtime()["language_model"] == str(world.folder / "data" / "language_model.json")
    assert world.state.phase == "loading"
    world.hold.unlink()
    assert running.says("The language model Tiny Qwen is ready.")

    os.kill(world.starts()[0]["pid"], signal.SIGKILL)
    assert running.says("llama was ended by signal 9; it is started again in 1 s")
    assert wait_until(lambda: running.said().count("Tiny Qwen is ready.") == 2, seconds=30)
    running.child.send_signal(signal.SIGINT)

    assert running.child.wait(20) == 0
    assert not is_running(world.starts()[1]["pid"])
    assert not (world.folder / "data" / "language_model.json").exists()


@pytest.mark.full
def test_a_cut_file_does_not_keep_the_site_from_starting(world, product):
    write_gguf(world.folder / "m.gguf", missing_bytes=1)

    running = product().ready()

    assert "LLM_FILE is not used, answers are quoted: " in running.said()
    assert "is cut" in running.said()
    assert running.web_pid()


@pytest.mark.full
def test_with_both_variables_the_site_says_which_one_counts(world, product, monkeypatch):
    monkeypatch.setenv("LLM_BASE_URL", "http://127.0.0.1:9/v1")

    running = product().ready()

    assert "LLM_FILE is not used: LLM_BASE_URL is set as well, and its server counts." in running.said()
    assert running.runtime()["language_model"] is None
    assert not (world.folder / "notes").exists()
