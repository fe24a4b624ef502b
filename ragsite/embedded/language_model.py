"""The language model of LLM_FILE: llama.cpp's server as one more process, which other processes find by its state.

The file is checked before anything is started. A file or server that cannot be used never keeps the site from running:
answers are quoted, and the state says why.
"""

from __future__ import annotations

import http.client
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path

from ragcore.model_file.errors import ModelFileError
from ragcore.model_file.gguf import GgufModel, read_model
from ragcore.model_file.memory import MemoryPlan, available_bytes, free_threads, plan_memory
from ragcore.model_file.sizes import size_words
from ragcore.model_file.state import ServedModel
from ragsite.embedded.data_dir import LANGUAGE_MODEL_FILE, write_private
from ragsite.embedded.processes import Process, SupervisedProcess, free_port
from ragsite.embedded.programs import nice
from ragsite.env import PROJECT_ROOT, Environment, usable_cores

NAME = "llama"  # of the process and its log
SERVER = "llama-server"
PACKAGE = "llama_cpp"
HOST = "127.0.0.1"
MOST_FAILURES = 3  # in a row, each before it had run for a minute
COURTESY = 5  # of 19: pages and searches come first, ingestion after it
HEALTH_SECONDS = 2.0
LOOK_SECONDS = 0.5
LOG_BYTES = 16_384
LOG_CHARACTERS = 300  # of the line that says why
NAME_CHARACTERS = 80
PROMPT_CACHE_MB = "0"  # beside the context: the default of newer versions is 8 GB
_NOT_IN_NAMES = re.compile(r"[^\w.+() -]")
_FAULT = re.compile(r"error|failed|cannot|unable|not found", re.IGNORECASE)
_UNHELPFUL = re.compile(r"exiting due to|Traceback \(most recent", re.IGNORECASE)


class LanguageModel:
    """One file and whoever serves it. `available`: memory that can be had, in bytes; None: nobody knows."""

    name = NAME

    def __init__(
        self, env: Environment, say: Callable[[str], None], *, available: Callable[[], int | None] = available_bytes
    ) -> None:
        if env.LLM_FILE is None:
            raise ValueError("LLM_FILE is not set")
        self.path: Path = env.LLM_FILE
        self.state_file = env.DATA_DIR / LANGUAGE_MODEL_FILE
        self.supervised: SupervisedProcess | None = None
        self._env, self._say, self._available = env, say, available
        self._key = secrets.token_urlsafe(24)
        self._port = 0
        self._has_answered = False
        self._log_begin = 0  # of the latest start, in bytes
        self._looked = 0.0
        self._model: GgufModel | None = None
        self._state = ServedModel(name=env.LLM_MODEL or plain_name(self.path.stem), path=str(self.path))

    @classmethod
    def of(cls, env: Environment, say: Callable[[str], None]) -> LanguageModel | None:
        """The one of LLM_FILE; None where the environment names none, or a server, which counts."""
        return cls(env, say) if env.LLM_FILE and not env.LLM_BASE_URL else None

    # ── before and at the start ─────────────────────────────────────────────────────────────────

    def check(self) -> None:
        """Read the header, so that what is wrong is said at once. Other processes may read the state afterwards."""
        self._write(self._state)
        try:
            self._model = read_model(self.path)
            _program()
        except ModelFileError as error:
            self._fail(error)
            return
        except OSError as error:
            fault = error.strerror or type(error).__name__
            self._fail(ModelFileError("unreadable", path=str(self.path), fault=fault))
            return
        if not self._env.LLM_MODEL:
            self._state = replace(self._state, name=plain_name(self._model.name) or self._state.name)
        if not self._model.has_chat_template:
            self._say(f"{self.path} has no chat template: models without instruction tuning answer poorly.")
        self._write(self._state)

    def launch(self) -> None:
        """Start the server where the file is right and fits into the memory that is free now. Main thread only."""
        if self._model is None or self._state.phase == "failed":
            return
        try:
            plan = plan_memory(self._model, most_tokens=self._env.LLM_FILE_CONTEXT, available=self._available())
            command = self._command(plan)
        except ModelFileError as error:
            self._fail(error)
            return
        self._state = replace(
            self._state,
            identity=f"{self._model.digest}:{plan.context_tokens}",
            context_tokens=plan.context_tokens,
        )
        process = Process(
            name=NAME,
            command=[],
            log=self._env.DATA_DIR / "logs" / f"{NAME}.log",
            environment=self._environment(),
            folder=PROJECT_ROOT,
        )

        def start() -> None:
            process.command = [*nice(COURTESY), *command(self._choose_port())]
            self._log_begin = _size(process.log)
            self._write(self._as_phase("loading"))
            process.start()

        self.supervised = SupervisedProcess(process, start, self._say, most_failures=MOST_FAILURES, has_to_load=True)
        self._say(
            f"Loading the language model {self._state.name} ({size_words(self._model.size_bytes)}, context of "
            f"{plan.context_tokens:,} tokens, threads: {self._threads}). Until it is ready, answers are quoted."
        )
        self.supervised.launch()

    @property
    def _threads(self) -> int:
        return self._env.LLM_FILE_THREADS or free_threads(usable_cores())

    def _choose_port(self) -> int:
        """Another one at each start until it was ready: somebody may have taken it. Then it stays."""
        if not self._has_answered:
            self._port = free_port()
        return self._port

    def _command(self, plan: MemoryPlan) -> Callable[[int], list[str]]:
        """The command for a port. Raises ModelFileError where llama.cpp is not installed."""
        program, tokens, threads = _program(), str(plan.context_tokens), str(self._threads)
        if program is not None:
            common = ["-m", str(self.path), "-c", tokens, "-np", "1", "-t", threads, "--alias", self._state.name]
            return lambda port: [program, *common, "--host", HOST, "--port", str(port)]
        options = {
            "model": str(self.path),
            "n_ctx": tokens,
            "n_threads": threads,
            "n_threads_batch": threads,
            "model_alias": self._state.name,
            "interrupt_requests": "false",  # else a question ends the answer that is being written
            "host": HOST,
        }
        arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
        return lambda port: [sys.executable, "-m", f"{PACKAGE}.server", *arguments, "--port", str(port)]

    def _environment(self) -> dict[str, str]:
        """Ours without the site's variables: it needs no secret of the site, and would read some of them as its own."""
        ours = {name for field in Environment.model_fields for name in (field, f"{field}_FILE")}
        inherited = {name: value for name, value in os.environ.items() if name not in ours}
        keys = {"LLAMA_API_KEY": self._key, "API_KEY": self._key}  # of llama-server, of the package
        return {"LLAMA_ARG_CACHE_RAM": PROMPT_CACHE_MB, **inherited, **keys, "PYTHONUNBUFFERED": "1"}

    # ── while it runs ───────────────────────────────────────────────────────────────────────────

    def look(self) -> None:
        """Keep the state true: call often, it looks twice a second."""
        if self.supervised is None or self._state.phase == "failed" or time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        if self.supervised.is_given_up:
            self._fail(self._ending())
        elif not self.supervised.process.is_running():
            if self._state.phase == "ready":
                self._write(self._as_phase("loading"))
        elif self._state.phase == "loading" and is_serving(self._port, self._key):
            self._has_answered = True
            self.supervised.note_ready()
            self._write(self._as_phase("ready"))
            self._say(f"The language model {self._state.name} is ready.")

    def remove_state(self) -> None:
        """After the end of the process."""
        self.state_file.unlink(missing_ok=True)

    def _as_phase(self, phase: str) -> ServedModel:
        url = f"http://{HOST}:{self._port}/v1"
        return replace(self._state, phase=phase, since=time.time(), url=url, key=self._key)  # type: ignore[arg-type]

    def _fail(self, error: ModelFileError) -> None:
        data = {name: str(value) for name, value in error.data.items()}
        self._write(replace(self._state, phase="failed", since=time.time(), reason=error.reason, data=data))
        self._say(f"LLM_FILE is not used, answers are quoted: {error.message}")

    def _write(self, state: ServedModel) -> None:
        self._state = state
        try:
            write_private(self.state_file, state.as_json())
        except OSError as error:  # a full disk does not end the site
            self._say(f"{self.state_file} cannot be written: {error.strerror}")

    def _ending(self) -> ModelFileError:
        """Why it ended, from its exit code and the last words of its log."""
        process = self.supervised.process  # type: ignore[union-attr]
        code = process.exit_code() or 0
        if code < 0:
            return ModelFileError("killed", signal=str(-code))
        return ModelFileError("ended", exit_code=str(code), log=_reason_in(process.log, self._log_begin) or "–")


def _program() -> str | None:
    """llama-server of the PATH; None: the package for this Python. Raises ModelFileError where there is neither."""
    program = shutil.which(SERVER)
    if program is None and find_spec(PACKAGE) is None:
        raise ModelFileError("not_installed")
    return program


def plain_name(text: str) -> str:
    """A name from a header or file without what means something to a command line, a list or a client's name."""
    return _NOT_IN_NAMES.sub(" ", text[:NAME_CHARACTERS]).strip(" -")


def is_serving(port: int, key: str) -> bool:
    """Whether the server has loaded its model: llama-server says so at /health, the package listens only then."""
    status = _status(port, "/health", key)
    if status == HTTPStatus.NOT_FOUND:
        status = _status(port, "/v1/models", key)
    return status == HTTPStatus.OK


def _status(port: int, path: str, key: str) -> int:
    """The status of an answer; 0 without one. No proxy of the environment is asked."""
    connection = http.client.HTTPConnection(HOST, port, timeout=HEALTH_SECONDS)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()


def _size(log: Path | None) -> int:
    return log.stat().st_size if log is not None and log.exists() else 0


def _reason_in(log: Path | None, begin: int) -> str:
    """The last line since the latest start that names a fault, else the last line."""
    if log is None or not log.exists():
        return ""
    size = _size(log)
    with log.open("rb") as file:
        file.seek(max(begin if begin < size else 0, size - LOG_BYTES))
        lines = [line.strip() for line in file.read().decode("utf-8", "replace").splitlines() if line.strip()]
    faults = [line for line in lines if _FAULT.search(line) and not _UNHELPFUL.search(line)]
    return (faults or lines or [""])[-1][:LOG_CHARACTERS]
