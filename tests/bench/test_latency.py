"""The table of latencies."""

import json

import pytest

from bench.latency.__main__ import Measured, events, table
from bench.latency.model_server import reply_to


def test_events_are_read_up_to_the_closing_line():
    lines = [b"id: 1\n", b'data: {"type": "chunk", "content": "a"}\n', b"\n", b"data: [DONE]\n"]

    assert list(events(lines)) == [{"type": "chunk", "content": "a"}]


def test_the_table_says_milliseconds_and_names_the_stages():
    measured = Measured(event=[0.01, 0.02, 0.03], first=[0.1, 0.2, 0.3], whole=[1.0, 1.0, 1.0], tokens=[100, 200, 300])
    measured.stages["search"] += [0.05, 0.07, 0.06]

    row = table({"basic": measured}).splitlines()[-1]

    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert [cell.split(" / ")[0] for cell in cells] == ["basic", "20", "200", "1000", "200", "search 60"]


@pytest.mark.parametrize(
    ("shape", "keys"),
    [
        ('{"relevance": 0, "citation_quality": 0}', {"relevance", "citation_quality", "critique"}),
        ('{"relevance": 0.0, "coherence": 0.0}', {"relevance", "coherence", "missing"}),
        ('{"queries": ["…"]}', {"queries"}),
        ('{"query": "…"}', {"query"}),
    ],
)
def test_the_model_of_known_speed_answers_in_the_form_that_is_asked_for(shape, keys):
    said = json.loads(reply_to(f"<question> How? </question> Reply with one JSON object and nothing else: {shape}"))

    assert keys <= set(said)


def test_the_model_of_known_speed_cites_the_sources_of_a_prompt():
    assert reply_to("[Source 1] Handbook\nIt has four steps.\n") == "It has four steps. [1]"
