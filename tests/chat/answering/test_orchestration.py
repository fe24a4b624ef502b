"""How many files of the answer path a question passes: those that relay it, not those that compute something."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("chat/turns/", "chat/answering/", "ragcore/answering/", "ragcore/pipeline.py", "ragcore/stage_ports.py")
MOST = 20
pytestmark = pytest.mark.django_db(transaction=True)


async def files_passed(ask: Callable[[], Awaitable[object]], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files of the answer path, without the stages, in which a function was called while `ask` ran, in any thread."""
    codes = set()

    def note(frame, event, argument):
        if event == "call":
            codes.add(frame.f_code)

    def profiled(work):
        def run(*args, **kwargs):
            sys.setprofile(note)
            try:
                return work(*args, **kwargs)
            finally:
                sys.setprofile(None)

        return run

    submit = ThreadPoolExecutor.submit
    monkeypatch.setattr(ThreadPoolExecutor, "submit", lambda pool, work, *a, **k: submit(pool, profiled(work), *a, **k))
    sys.setprofile(note)
    try:
        await ask()
    finally:
        sys.setprofile(None)
    files = {Path(code.co_filename) for code in codes}
    ours = sorted(str(file.relative_to(ROOT)) for file in files if file.is_relative_to(ROOT))
    return [path for path in ours if path.startswith(FOLDERS) and "/stages/" not in path]


async def test_a_question_passes_few_files_of_the_answer_path(api, monkeypatch):
    await api.generate("How many steps has random access?", cache=False)  # what a process does once is done

    passed = await files_passed(lambda: api.generate("How many steps has random access?", cache=False), monkeypatch)

    assert "chat/answering/pipeline.py" in passed
    assert len(passed) <= MOST, "\n".join(passed)


async def test_with_a_language_model_it_passes_few_more(api, llm, monkeypatch):
    await api.generate("How many steps has random access?", cache=False)  # what a process does once is done

    passed = await files_passed(lambda: api.generate("How many steps has random access?", cache=False), monkeypatch)

    assert "chat/answering/model_routing.py" in passed
    assert len(passed) <= MOST, "\n".join(passed)
