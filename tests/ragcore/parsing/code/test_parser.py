from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import CorruptDocumentError, ResourceLimitError
from ragcore.parsing import parse
from ragcore.parsing.code.parser import MAX_BYTES, MAX_LINE
from ragcore.parsing.sandbox.parse import parse_in_sandbox
from ragcore.text.source_code import source_lines
from ragcore.types import ParsedDocument

FILES = {
    "timer.py": '''"""Timers of a connection."""

import time

LIMIT = 5


@decorated
def start_timer(name):
    """Start a timer."""
    return time.time()


# how many there are
COUNT = 3


class Timer(Base):
    """One timer."""

    unit = "s"

    def stop(self):
        return None

    async def wait(self):
        pass
''',
    "timer.c": """/* Timers. */
#ifndef TIMER_H
#define TIMER_H
#include <stdio.h>

struct timer { int left; };

typedef struct { int left; } timer_t2;

/* Starts one. */
int start_timer(const char *name);
int undocumented(void);

static int *stop_timer(struct timer *one)
{
    return &one->left;
}
#endif
""",
    "timer.cpp": """namespace timers {
class Timer : public Base {
public:
  Timer();
  int left() const { return 1; }
};
template <typename T> T longest(T one) { return one; }
int Timer::stop() { return 2; }
}
""",
    "Timer.java": """package timers;

/** One timer. */
public class Timer {
    private int left = 1;

    /** Stops it. */
    @Override
    public int stop() { return left; }

    Timer() { }

    enum Unit { SECONDS }
}
""",
    "timer.go": """package timers

// Timer is one.
type Timer struct{ Left int }

// Stop stops it.
func (t *Timer) Stop() int { return t.Left }

func StartTimer() *Timer {
\treturn nil
}
""",
    "timer.js": """// Timers.

export default class Timer extends Base {
  stop() { return 1; }
}

const startTimer = (name) => {
  return name;
};
module.exports.waitTimer = function () {};
function longest() {}
const plain = 5;
""",
    "timer.ts": """export interface Timer { left: number }
export type Unit = string;
enum Kind { A }
abstract class Base {
  stop(): void {}
}
declare function start(): void;
namespace Inner {
  export function wait() {}
}
""",
    "timer.tsx": "export function View() { return <b>1</b>; }\n",
    "timer.rs": """//! Timers.

/// One timer.
#[derive(Debug)]
pub struct Timer { left: u8 }

impl<T> Stops for Timer {
    /// Stops it.
    fn stop(&self) -> u8 { self.left }
}
mod inner { fn wait() {} }
""",
    "timer.sh": """#!/bin/sh
# Starts timers.

start_timer() {
  echo "$1"
}
function stop_timer {
  echo done
}
start_timer now
""",
    "timer.sql": "SELECT 1;\n\nSELECT left_seconds FROM timers;\n",
}
SYMBOLS = {
    "timer.py": ["start_timer", "COUNT", "Timer", "Timer/stop", "Timer/wait"],
    "timer.c": ["timer", "timer_t2", "start_timer", "int undocumented(void)", "stop_timer"],
    "timer.cpp": ["timers", "timers/Timer", "timers/Timer/left", "timers/longest", "timers/Timer::stop"],
    "Timer.java": ["Timer", "Timer/stop", "Timer/Timer", "Timer/Unit"],
    "timer.go": ["Timer", "Timer.Stop", "StartTimer"],
    "timer.js": ["Timer", "Timer/stop", "startTimer", "module.exports.waitTimer", "longest", "plain"],
    "timer.ts": ["Timer", "Unit", "Kind", "Base", "Base/stop", "start", "Inner", "Inner/wait"],
    "timer.tsx": ["View"],
    "timer.rs": ["Timer", "Stops for Timer", "Stops for Timer/stop", "inner"],
    "timer.sh": ["start_timer", "stop_timer", "start_timer now"],
    "timer.sql": [],
}


def symbols(document: ParsedDocument) -> list[str]:
    path: list[str] = []
    names = []
    for block in document.blocks:
        if block.kind == "heading":
            path = [*path[: block.level - 2], block.text.strip("`")]
            names.append("/".join(path))
    return names


def code_of(document: ParsedDocument) -> str:
    return "\n".join(part.code for block in document.blocks for part in source_lines(block.text))


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text))


@pytest.mark.parametrize("name", FILES)
def test_a_definition_is_a_section_under_the_path_of_its_symbol(name):
    assert symbols(parse(FILES[name].encode(), name=name)) == SYMBOLS[name]


@pytest.mark.parametrize("name", FILES)
def test_every_line_stands_in_one_block_under_its_number(name):
    lines = FILES[name].split("\n")

    document = parse(FILES[name].encode(), name=name)

    paragraphs = " ".join(block.text for block in document.blocks if block.kind == "paragraph")
    assert words(f"{code_of(document)}\n{paragraphs}") == words(FILES[name])
    parts = [part for block in document.blocks for part in source_lines(block.text)]
    assert [part.code.split("\n") for part in parts] == [lines[part.first - 1 : part.last] for part in parts]
    assert all(before.last < after.first for before, after in zip(parts, parts[1:], strict=False))


@given(lines=st.lists(st.sampled_from([line for text in FILES.values() for line in text.split("\n")]), max_size=40))
@pytest.mark.parametrize("name", ["a.py", "a.cpp", "a.ts", "a.rs", "a.sh"])
def test_no_line_of_a_file_with_faulty_syntax_is_lost(name, lines):
    text = "\n".join([*lines, "end_of_file = 1"])

    document = parse(text.encode(), name=name)

    paragraphs = " ".join(block.text for block in document.blocks if block.kind == "paragraph")
    assert words(f"{code_of(document)}\n{paragraphs}") == words(text)


def test_the_docstring_of_a_module_is_text_and_a_licence_is_not():
    text = '# Copyright 2020, all rights reserved\n\n"""Reads timers.\n\nIn seconds."""\nimport os\n'

    blocks = parse(text.encode(), name="a.py").blocks

    assert [(block.kind, block.text) for block in blocks if block.kind == "paragraph"] == [
        ("paragraph", "Reads timers."),
        ("paragraph", "In seconds."),
    ]
    assert "Copyright" in blocks[0].text
    assert blocks[0].kind == "code"


def test_comments_above_a_definition_belong_to_it():
    blocks = parse(FILES["Timer.java"].encode(), name="Timer.java").blocks

    stop = next(at for at, block in enumerate(blocks) if block.text == "`stop`")
    (part,) = source_lines(blocks[stop + 1].text)
    assert (part.first, part.last, part.language) == (7, 9, "java")
    assert part.code.lstrip().startswith("/** Stops it. */")


def test_a_file_is_called_by_its_name_and_says_its_language():
    document = parse(FILES["timer.go"].encode(), name="timer.go")

    assert (document.title, document.metadata) == ("timer.go", {"source_language": "go"})


def test_the_program_that_runs_a_file_says_its_language():
    document = parse(b"#!/usr/bin/env python3\ndef wait():\n    pass\n", name="wait.sh")

    assert document.metadata["source_language"] == "python"
    assert symbols(document) == ["wait"]


def test_a_fence_is_one_that_the_code_does_not_hold():
    document = parse(b"def f():\n    return '''\n```\ncode\n```\n'''\n", name="a.py")

    assert "```\ncode\n```" in code_of(document)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "gb18030", "utf-16"])
def test_comments_in_any_encoding_are_read(encoding):
    text = "# 计算切换次数和失败次数，用于统计小区之间的移动性能\ndef count_handovers():\n    return 0\n"

    document = parse(text.encode(encoding), name="a.py")

    assert "计算切换次数" in document.markdown()
    assert symbols(document) == ["count_handovers"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"var a = '" + b"x" * MAX_LINE + b"';", "minified_source"),
        (b"int a;\n" * (MAX_BYTES // 7 + 1), "large_source"),
    ],
)
def test_minified_and_huge_files_are_refused_in_words(content, reason):
    with pytest.raises(ResourceLimitError) as refusal:
        parse(content, name="a.js")

    assert refusal.value.reason == reason
    assert str(refusal.value) != ResourceLimitError.default_message


def test_binary_content_is_no_source_file():
    with pytest.raises(CorruptDocumentError):
        parse(bytes(range(1, 32)) * 20, name="a.ts")


@pytest.mark.parametrize("name", ["timer.py", "timer.rs"])
def test_a_confined_process_reads_source_files(name):
    assert parse_in_sandbox(FILES[name].encode(), name=name) == parse(FILES[name].encode(), name=name)


def test_deep_nesting_of_names_ends_and_loses_nothing():
    text = "".join(f"namespace n{number} {{\n" for number in range(300)) + "int f() { return 1; }\n" + "}\n" * 300

    document = parse(text.encode(), name="a.cpp")

    assert words(code_of(document)) == words(text)
    assert symbols(document)[-1] == "n0/n1/n2/n3"
