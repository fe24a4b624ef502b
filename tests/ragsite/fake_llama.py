"""What llama-server does as far as the product sees it, in a process of its own: `install` puts it into a folder.

Variables say how it behaves: while the file FAKE_LLAMA_HOLD exists it loads its model; with FAKE_LLAMA_FAULT it writes
that into its log and ends with code 1. What it was started with is written to FAKE_LLAMA_NOTES, a line for each start.
"""

from __future__ import annotations

import json
import os
import sys
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.scripted_llm import ScriptedLLM, _handler

PROGRAM = """#!{python}
import sys
sys.path.insert(0, {root!r})
from tests.ragsite.fake_llama import main
main(has_health={has_health})
"""
ROOT = Path(__file__).resolve().parents[2]


def install(folder: Path, *, name: str = "llama-server", has_health: bool = True) -> Path:
    """The program as an executable file. Without `has_health` it is as the server of the package llama_cpp."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(PROGRAM.format(python=sys.executable, root=str(ROOT), has_health=has_health))
    program.chmod(0o755)
    return program


def option(*names: str) -> str:
    return next(value for name, value in zip(sys.argv, sys.argv[1:], strict=False) if name in names)


def main(*, has_health: bool) -> None:
    notes = {"pid": os.getpid(), "arguments": sys.argv[1:], "environment": sorted(os.environ), "cwd": str(Path.cwd())}
    with Path(os.environ["FAKE_LLAMA_NOTES"]).open("a") as file:
        file.write(json.dumps(notes) + "\n")
    if fault := os.environ.get("FAKE_LLAMA_FAULT"):
        sys.exit(f"{fault}\nmain: exiting due to model loading error")
    key, scripted = os.environ["LLAMA_API_KEY"], ScriptedLLM()

    class Handler(_handler(scripted)):  # type: ignore[misc]
        def do_GET(self) -> None:
            is_held = Path(os.environ["FAKE_LLAMA_HOLD"]).exists()
            if is_held:
                self._json(503, {"error": {"message": "Loading model", "code": 503}})
            elif self.path == "/health" and has_health:
                self._json(200, {"status": "ok"})
            elif self.path == "/v1/models" and self._is_known():
                self._json(200, {"data": [{"id": option("--alias", "--model_alias")}]})
            else:
                self._json(404, {})

        def do_POST(self) -> None:
            if self._is_known():
                super().do_POST()
            else:
                self._json(401, {"error": {"message": "Invalid API Key"}})

        def _is_known(self) -> bool:
            return bool(self.headers.get("Authorization") == f"Bearer {key}")

        def _json(self, status: int, data: Any) -> None:
            self._send(status, json.dumps(data).encode())

    ThreadingHTTPServer((option("--host"), int(option("--port"))), Handler).serve_forever()
