from __future__ import annotations

import time
from base64 import b64encode

import pytest

from ragcore.parsing import parse
from tests.ragcore.parsing.pack import PNG

SOURCE = """---
title: "Cell search"
author: Li Wei
---

# 小区搜索

First *paragraph*
on two lines.

Setext heading
--------------

- one
  - inner
- two

1. first
2. second

| a | b |
|---|---|
| 1 | 2 |

```python
# not a heading

x = 1
```

$$
P = 10 \\log N
$$

![diagram](pictures/a.png)

---

> quoted

[ref]: https://example.org/spec
"""


def kinds_and_texts(source: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in parse(source.encode(), name="a.md").blocks]


def test_blocks_keep_their_source_text():
    assert kinds_and_texts(SOURCE) == [
        ("heading", "小区搜索"),
        ("paragraph", "First *paragraph*\non two lines."),
        ("heading", "Setext heading"),
        ("list", "- one\n  - inner\n- two"),
        ("list", "1. first\n2. second"),
        ("table", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("code", "```python\n# not a heading\n\nx = 1\n```"),
        ("formula", "$$\nP = 10 \\log N\n$$"),
        ("image", "![diagram](pictures/a.png)"),
        ("paragraph", "> quoted"),
        ("paragraph", "[ref]: https://example.org/spec"),
    ]


def test_front_matter_is_metadata_not_text():
    document = parse(SOURCE.encode(), name="a.markdown")

    assert document.title == "Cell search"
    assert document.metadata == {"title": "Cell search", "author": "Li Wei"}


def test_heading_levels_are_those_of_the_source():
    document = parse(b"# a\n\n### b\n\ntext\n\nc\n===\n", name="a.md")

    assert [block.level for block in document.blocks] == [1, 3, 0, 1]
    assert document.title == "a"


def test_an_html_table_inside_markdown_becomes_a_table():
    source = "text\n\n<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>\n"

    assert kinds_and_texts(source)[1] == ("table", "| a | b |\n| --- | --- |\n| 1 | 2 |")


def test_scripts_and_comments_inside_markdown_are_dropped():
    assert kinds_and_texts("text\n\n<script>steal()</script>\n\n<!-- secret -->\n") == [("paragraph", "text")]


def test_page_breaks_of_converters_do_not_hide_a_heading():
    assert kinds_and_texts("text<PAGE_DIV> \n<PAGE_DIV> ## 第二章\n") == [("paragraph", "text"), ("heading", "第二章")]


def test_pictures_in_the_text_are_taken_out_in_place_and_by_reference():
    data = f"data:image/png;base64,{b64encode(PNG).decode()}"
    source = f"![a]({data})\n\nsee ![b][image1] and ![c][far]\n\n[image1]: <{data}>\n[far]: https://example.org/x.png\n"

    document = parse(source.encode(), name="a.md")

    assert [picture.content for picture in document.pictures] == [PNG]
    assert [block.text for block in document.blocks][:2] == [
        "![a](picture:picture-1.png)",
        "see ![b](picture:picture-1.png) and ![c][far]",
    ]


def test_a_long_run_of_blanks_costs_no_time():
    source = f"# a\n\ntext{' ' * 200_000}end\n\none \t<page_break/> two"
    begin = time.process_time()

    found = kinds_and_texts(source)

    assert time.process_time() - begin < 2
    assert [text for _, text in found][-2:] == ["one", "two"]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("At most 10<sup>6</sup> Ω on 25 m<sup>2</sup>.", "At most 10^6 Ω on 25 m²."),
        ("2400<sup>3</sup> parts of CO<sub>2</sub>.", "2400[^3] parts of CO2."),
        ("| a | b |\n| --- | --- |\n| x | 10<sup>-4</sup> Pa |", "| a | b |\n| --- | --- |\n| x | 10^-4 Pa |"),
        ("See `10<sup>6</sup>`.", "See `10<sup>6</sup>`."),
        ("在<ruby>亳<rt>bó</rt>州<rt>zhōu</rt></ruby>换乘。", "在亳州换乘。"),
        ("<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>駅", "東京（とうきょう）駅"),
        ("```\n10<sup>6</sup>\n```", "```\n10<sup>6</sup>\n```"),
    ],
)
def test_raised_figures_and_readings_inside_a_line_are_plain_text(source, text):
    assert parse(f"{source}\n".encode(), name="a.md").blocks[0].text == text


def test_indented_code_gets_a_fence():
    source = "Run:\n\n    # comment\n    x = 2 ** 3\n\n        y = x\n\nDone."

    assert kinds_and_texts(source) == [
        ("paragraph", "Run:"),
        ("code", "```\n# comment\nx = 2 ** 3\n\n    y = x\n```"),
        ("paragraph", "Done."),
    ]
