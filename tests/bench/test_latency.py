"""The table of latencies."""

from bench.latency import Measured, events, table


def test_events_are_read_up_to_the_closing_line():
    lines = [b"id: 1\n", b'data: {"type": "chunk", "content": "a"}\n', b"\n", b"data: [DONE]\n"]

    assert list(events(lines)) == [{"type": "chunk", "content": "a"}]


def test_the_table_says_milliseconds_and_names_the_stages():
    measured = Measured(first=[0.1, 0.2, 0.3], whole=[1.0, 1.0, 1.0])
    measured.stages["search"] += [0.05, 0.07, 0.06]

    row = table({"basic": measured}).splitlines()[-1]

    assert row.startswith("| basic | 200 / ")
    assert row.endswith("| search 60 |")
