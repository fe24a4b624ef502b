from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ragcore.chunking import HeadingTreeSplitter
from ragcore.chunking.source_code import cut_source
from ragcore.options import ChunkingOptions
from ragcore.parsing import parse
from ragcore.text.source_code import fence_source, source_lines
from ragcore.types import Block, ChunkDraft
from tests.ragcore.chunking.counting import SimpleCounter

COUNTER = SimpleCounter()
SMALL = ChunkingOptions(section_tokens=400, min_tokens=60, max_tokens=80, overlap=0.12)


def split(text: str, *, options: ChunkingOptions = SMALL, name: str = "a.py") -> list[ChunkDraft]:
    return HeadingTreeSplitter(options, COUNTER).split(parse(text.encode(), name=name))


def source(code: str) -> Block:
    return Block(kind="code", text=fence_source(code, language="python", first=1, last=code.count("\n") + 1))


def test_a_definition_shares_its_passage_with_no_other_one():
    drafts = split("import os\n\ndef first():\n    return 1\n\ndef second():\n    return 2\n")

    assert [draft.heading_path for draft in drafts] == [(), ("first",), ("second",)]
    assert "`first`\n\n```python lines=3-4\ndef first():\n    return 1\n```" in drafts[1].text


def test_a_class_that_fits_is_one_passage():
    drafts = split(
        "class Timer:\n    def start(self):\n        pass\n\n    def stop(self):\n        pass\n\nx = 1\n",
        options=replace(SMALL, max_tokens=200),
    )

    assert [draft.heading_path for draft in drafts] == [("Timer",), ("x",)]
    assert all(name in drafts[0].text for name in ("def start", "def stop"))


def test_a_long_class_is_cut_by_its_methods():
    method = "    def {0}(self):\n" + "        call(one, two, three)\n" * 5 + "\n"
    drafts = split(
        f"class Timer:\n    {'unit = long_word + 2;' * 6}\n\n{method.format('start')}{method.format('stop')}"
    )

    bodies = [draft for draft in drafts if draft.kind == "body"]
    assert [draft.heading_path for draft in bodies] == [("Timer",), ("Timer", "start"), ("Timer", "stop")]
    assert drafts[0].kind == "section"


def test_a_long_function_is_cut_before_a_statement_and_repeats_its_signature():
    loop = "    for one in many:\n" + "        call(one)\n" * 4
    drafts = split("def work(many):\n" + loop * 8)

    assert len(drafts) > 2
    assert [draft.is_continuation for draft in drafts] == [False, *[True] * (len(drafts) - 1)]
    parts = [part for draft in drafts for part in source_lines(draft.text)]
    assert all("def work(many):\n    for one in many:" in part.code for part in parts)
    assert [part.first for part in parts[1:]] == [part.last + 1 for part in parts[:-1]]
    assert all(draft.tokens <= SMALL.max_tokens for draft in drafts)


def test_code_that_says_no_lines_stays_as_it_is():
    block = Block(kind="code", text="```python\n" + "call(one)\n" * 90 + "```")

    assert cut_source([block], COUNTER, 40) == [block]


@given(
    lines=st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from(["a = b(c)", "", "}", "else:", "x" * 9, "long, " * 60])),
        min_size=1,
        max_size=60,
    )
)
def test_parts_hold_every_line_once_and_under_its_number(lines):
    code = "\n".join(f"{'    ' * depth}{text}" if text else "" for depth, text in lines)

    parts = [part for block in cut_source([source(code)], COUNTER, 40) for part in source_lines(block.text)]

    rows = [row for part in parts for row in range(part.first, part.last + 1)]
    assert rows == list(range(1, len(lines) + 1))
    originals = code.split("\n")
    assert all(part.code.endswith("\n".join(originals[part.first - 1 : part.last])) for part in parts)
