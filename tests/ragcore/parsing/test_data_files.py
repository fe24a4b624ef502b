"""JSON, XML, notebooks and subtitles as text that people read."""

from __future__ import annotations

import json

import pytest

from ragcore.errors import CorruptDocumentError, EmptyDocumentError, ResourceLimitError
from ragcore.parsing import parse
from ragcore.parsing.data import outline


def blocks(source: str | bytes, name: str) -> list[tuple[str, str]]:
    content = source.encode() if isinstance(source, str) else source
    return [(block.kind, block.text) for block in parse(content, name=name).blocks]


RECORDS = '[{"site": "S1", "power": 46.0, "cell": {"band": "n78"}}, {"site": "S2", "on": true, "bands": ["n1", "n3"]}]'
TABLE = "| site | power | cell.band | on | bands |\n| --- | --- | --- | --- | --- |\n"
ROWS = "| S1 | 46.0 | n78 |  |  |\n| S2 |  |  | true | n1, n3 |"


@pytest.mark.parametrize("name", ["a.json", "a.geojson"])
def test_records_are_one_table_and_numbers_stay_as_written(name):
    assert blocks(RECORDS, name) == [("table", TABLE + ROWS)]


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.json"])
def test_values_on_lines_of_their_own_are_records(name):
    assert blocks('{"a": 1, "b": "x"}\n\n{"a": 2, "b": "y"}\n', name) == [
        ("table", "| a | b |\n| --- | --- |\n| 1 | x |\n| 2 | y |")
    ]


def test_nested_objects_are_sections_with_lists_and_paragraphs():
    value = {
        "device": "K1",
        "none": None,
        "limits": {"voltage": 48, "steps": [{"title": "Off", "parts": [[1, 2]]}, "x"]},
    }
    value["text"] = "A long text. " * 20

    assert blocks(json.dumps(value), "a.json") == [
        ("list", "- device: K1"),
        ("heading", "limits"),
        ("list", "- voltage: 48"),
        ("heading", "steps"),
        ("heading", "Off"),
        ("list", "- title: Off"),
        ("heading", "parts"),
        ("heading", "1"),
        ("list", "- 1\n- 2"),
        ("paragraph", "x"),
        ("heading", "text"),
        ("paragraph", ("A long text. " * 20).strip()),
    ]


def test_the_encoding_of_json_is_told():
    assert blocks('{"设备": "基站"}'.encode("utf-16"), "a.json") == [("list", "- 设备: 基站")]


@pytest.mark.parametrize(
    ("source", "name", "place"),
    [('{"a": 1,\n "b": }', "a.json", "Line 2"), ('{"a": 1}\n{"a"\n', "a.jsonl", "Line 2")],
)
def test_a_fault_in_json_is_told_with_its_line(source, name, place):
    with pytest.raises(CorruptDocumentError) as caught:
        parse(source.encode(), name=name)

    assert place in caught.value.message


def test_values_without_end_are_refused_not_cut(monkeypatch):
    monkeypatch.setattr(outline, "MAX_VALUES", 10)

    with pytest.raises(ResourceLimitError):
        parse(json.dumps(list(range(11))).encode(), name="a.json")
    with pytest.raises((ResourceLimitError, CorruptDocumentError)):
        parse(b"[" * 100_000 + b"]" * 100_000, name="a.json")


@pytest.mark.parametrize("name", ["a.json", "a.xml", "a.ipynb", "a.srt"])
def test_a_file_without_words_is_empty(name):
    source = {"a.json": "[]", "a.xml": "<a/>", "a.ipynb": '{"cells": []}', "a.srt": " \n"}[name]

    with pytest.raises(EmptyDocumentError):
        parse(source.encode(), name=name)


def test_elements_of_one_kind_are_a_table_and_text_with_elements_inside_is_a_paragraph():
    source = (
        '<?xml version="1.0" encoding="gb18030"?><r xmlns="urn:x"><part id="P1"><name>风扇</name></part>'
        "<part id='P2'><name>电源</name></part><p>Turn it <b>off</b> first.</p></r>"
    )

    assert blocks(source.encode("gb18030"), "a.xml") == [
        ("list", "- p: Turn it off first."),
        ("heading", "part"),
        ("table", "| id | name |\n| --- | --- |\n| P1 | 风扇 |\n| P2 | 电源 |"),
    ]


def test_entities_of_xml_are_not_resolved():
    source = '<!DOCTYPE r [<!ENTITY e SYSTEM "file:///etc/passwd">]><r><a>x &e; y</a></r>'

    assert blocks(source, "a.xml") == [("list", "- a: x y")]


def test_a_notebook_is_its_texts_its_programs_and_what_they_printed():
    cells = [
        {"cell_type": "markdown", "source": ["# Calibration\n", "First step.\n"]},
        {
            "cell_type": "code",
            "source": "x = a ** b\nprint(x)",
            "outputs": [
                {"output_type": "stream", "text": ["\x1b[31m42\x1b[0m\n"]},
                {"output_type": "execute_result", "data": {"text/plain": "7", "image/png": "AAAA"}},
            ],
        },
        {"cell_type": "code", "source": [], "outputs": []},
    ]

    document = parse(json.dumps({"cells": cells, "nbformat": 4}).encode(), name="a.ipynb")

    assert document.title == "Calibration"
    assert [(block.kind, block.text) for block in document.blocks] == [
        ("heading", "Calibration"),
        ("paragraph", "First step."),
        ("code", "```python\nx = a ** b\nprint(x)\n```"),
        ("code", "```\n42\n```"),
        ("code", "```\n7\n```"),
    ]


def test_what_is_said_is_told_with_the_time_at_which_it_begins():
    srt = (
        "1\n00:00:01,000 --> 00:00:03,000\nSwitch <i>off</i>\nthe unit.\n\n2\n00:00:03,500 --> 00:00:05,000\nWait.\n\n"
    )
    srt += "3\n01:02:03,000 --> 01:02:04,000\n打开电源。\n"
    vtt = "WEBVTT\n\nNOTE made by hand\n\n00:05.000 --> 00:06.000 align:start\n<v Mei Lin>Five &gt; four.</v>\n"

    assert blocks(srt, "a.srt") == [
        ("paragraph", "[0:00:01] Switch off the unit. Wait."),
        ("paragraph", "[1:02:03] 打开电源。"),
    ]
    assert blocks(vtt, "a.vtt") == [("paragraph", "[0:00:05] Mei Lin: Five > four.")]


def test_a_text_under_the_name_of_subtitles_is_refused():
    with pytest.raises(CorruptDocumentError):
        parse(b"Dear all, no times here.", name="a.srt")
