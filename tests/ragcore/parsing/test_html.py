from __future__ import annotations

from contextlib import suppress

import pytest

from ragcore.errors import EmptyDocumentError, ResourceLimitError
from ragcore.parsing import parse

PAGE = """<!DOCTYPE html><html><head><title>Handover guide</title><style>p {color: red}</style></head><body>
<header>Company</header><nav><a href="/">Home</a></nav>
<main><article><header><h1>Handover</h1></header>
<p>Text with <b>bold</b> and <a href="https://example.org/x">a link</a>.<br>Second&nbsp;line &amp; more.</p>
<!-- a comment --><script>alert(1)</script>
<ul><li>one<ul><li>inner</li></ul></li><li>two</li></ul>
<ol start="3"><li>third</li></ol>
<h2>Code</h2><pre><code class="language-python">if x:
    y()</code></pre>
<p><img src="a.png" alt="picture"></p>
<blockquote><p>quoted</p></blockquote>
<dl><dt>PCI</dt><dd>Physical cell identity</dd></dl>
<div style="display: none">hidden</div>
</article></main><aside>Related</aside><form><input value="x">Search</form><footer>Imprint</footer></body></html>"""


def blocks(source: str) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in parse(source.encode(), name="a.html").blocks]


def test_a_page_is_its_main_text_without_the_furniture():
    assert blocks(PAGE) == [
        ("heading", "Handover"),
        ("paragraph", "Text with bold and a link.\nSecond line & more."),
        ("list", "- one\n  - inner\n- two"),
        ("list", "3. third"),
        ("heading", "Code"),
        ("code", "```python\nif x:\n    y()\n```"),
        ("image", "![picture](a.png)"),
        ("paragraph", "> quoted"),
        ("list", "- PCI: Physical cell identity"),
    ]


def test_the_title_is_that_of_the_page():
    assert parse(PAGE.encode(), name="a.htm").title == "Handover guide"


def test_merged_cells_are_filled_and_the_caption_stays():
    source = """<table><caption>Table 1</caption>
    <tr><th>Area</th><th colspan="2">Limits</th></tr>
    <tr><td rowspan="2">North</td><td>low</td><td>1|2</td></tr><tr><td>high</td><td>9</td></tr></table>"""

    assert blocks(source) == [
        ("paragraph", "Table 1"),
        (
            "table",
            "| Area | Limits | Limits |\n| --- | --- | --- |\n| North | low | 1\\|2 |\n| North | high | 9 |",
        ),
    ]


def test_a_table_for_layout_is_read_as_text():
    source = "<table><tr><td><h1>Title</h1><p>text</p></td></tr></table>"

    assert blocks(source) == [("heading", "Title"), ("paragraph", "text")]


def test_a_span_of_a_million_columns_does_no_harm():
    source = '<table><tr><td colspan="99999" rowspan="99999">a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>'

    assert "a" in blocks(source)[0][1]


def test_a_form_around_the_whole_page_is_kept():
    assert blocks("<body><form><p>All the text of the page.</p></form></body>") == [
        ("paragraph", "All the text of the page.")
    ]


def test_the_declared_chinese_encoding_is_used():
    source = '<html><head><meta charset="gb2312"></head><body><p>录取分数线</p></body></html>'

    document = parse(source.encode("gbk"), name="a.html")

    assert document.blocks[0].text == "录取分数线"


def test_pictures_inside_the_page_and_scripted_links_are_not_kept():
    assert blocks('<p><img src="data:image/png;base64,AAAA" alt="logo"> <a href="javascript:x()">go</a></p>') == [
        ("paragraph", "logo go")
    ]


def test_a_page_of_scripts_is_empty():
    with pytest.raises(EmptyDocumentError):
        parse(b"<html><script>x()</script></html>", name="a.html")


def test_absurd_nesting_does_not_raise_a_library_error():
    source = b"<div>" * 50_000 + b"deep" + b"</div>" * 50_000

    with suppress(ResourceLimitError, EmptyDocumentError):
        assert parse(source, name="a.html").markdown() == "deep"
