"""The benchmark of a language model on public questions, on a set made here and a scripted server."""

from __future__ import annotations

import json

import pytest

from bench.llm import __main__ as bench_llm
from ragcore.llm.model_profile import ModelProfile
from tests.bench.test_answers import TOWNS, folder
from tests.scripted_llm import Reply, serving

__all__ = ["folder"]
WAYS = ("without", "marks", "fill")


@pytest.fixture
def llm():
    """Writes the year of the town that is asked for, and says of every text that it does not state the answer."""
    with serving() as server:
        server.respond = lambda request: Reply(texts=(reply_to(request.body["messages"][-1]["content"]),))
        yield server


def reply_to(prompt):
    if prompt.startswith("Text:"):
        return "no"
    question = prompt[prompt.index("<question>") :]
    town = next((town for town in TOWNS if town in question), "")
    return f"The mast of {town} was built in {TOWNS[town]} [1]." if town else "Nobody knows."


def measured(folder, llm, tmp_path, capsys, profile):
    file, replies = tmp_path / "profile.json", tmp_path / "replies.jsonl"
    file.write_text(json.dumps(profile.as_json()))
    arguments = [str(folder), "--url", llm.url, "--model", "m", "--no-embedder", "--profile", str(file)]
    bench_llm.main([*arguments, "--replies", str(replies), "--ways", *WAYS])
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])["sets"][folder.name]
    return figures, [json.loads(line) for line in replies.read_text().splitlines()]


def test_the_same_questions_are_measured_in_each_way(folder, llm, tmp_path, capsys):
    figures, replies = measured(folder, llm, tmp_path, capsys, ModelProfile())

    assert tuple(figures) == WAYS
    for way in WAYS:
        assert figures[way]["questions"] == len(TOWNS)
        assert (figures[way]["contains"], figures[way]["cites"], figures[way]["unknown_numbers"]) == (1, 1, 0)
    assert figures["marks"]["ways"] == {"marks": len(TOWNS)}
    assert figures["without"]["doubted"] == figures["fill"]["doubted"] == 0
    assert {row["asked"] for row in replies} == set(WAYS)


@pytest.mark.full
def test_what_the_model_doubts_is_measured_where_it_is_asked(folder, llm, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("bench.llm.asking.CERTAIN", 1.0)
    monkeypatch.setattr("bench.llm.asking.DOUBTFUL", 0.0)

    figures, _replies = measured(folder, llm, tmp_path, capsys, ModelProfile(checks=True))

    assert (figures["without"]["doubted"], figures["fill"]["doubted"]) == (0, 1)
    assert figures["fill"]["rightly_doubted"] == 1
