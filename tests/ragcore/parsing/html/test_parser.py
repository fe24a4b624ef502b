from __future__ import annotations

from base64 import b64encode
from contextlib import suppress

import pytest

from ragcore.errors import CorruptDocumentError, EmptyDocumentError, ResourceLimitError
from ragcore.parsing import parse
from tests.ragcore.parsing.pack import PNG

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


def test_furniture_is_told_by_its_words_and_its_look():
    source = f"""<body><div class="top-menu"><ul><li><a>Home</a></li><li><a>Products</a></li></ul></div>
    <div id="cookie-consent">We use cookies.</div><div class="breadcrumb"><a>Home</a> / <a>Docs</a></div>
    <h1>Guide</h1><p>{"Text about market share. " * 20}</p>
    <table class="share"><tr><th>Company</th><th>Share</th></tr><tr><td>A</td><td>30%</td></tr></table>
    <h2 id="comments">Comments in code</h2>
    <section id="related"><h3>Work</h3><p>Related work is described here.</p></section>
    <div class="social-share"><a>Tweet</a></div><div class="comments-area"><p>{"First! " * 30}</p></div>
    <div class="site_foot"><p>Contact us</p></div><p>版权所有 © 2026 示例公司</p></body>"""

    found = [text for _, text in blocks(source)]

    assert found[0] == "Guide"
    assert found[2].startswith("| Company | Share |")
    assert found[3:] == ["Comments in code", "Work", "Related work is described here."]


def test_what_nobody_sees_is_not_read_but_a_closed_panel_is():
    source = """<p>seen</p><p hidden>a</p><p style="visibility : hidden">b</p><span class="sr-only">c</span>
    <p style="font-size:0px">d</p><div role="tabpanel" hidden><p>panel</p></div><i aria-hidden="true">e</i>"""

    assert [text for _, text in blocks(source)] == ["seen", "panel"]


def test_lists_in_cells_do_not_run_together_and_small_tables_become_text():
    source = """<table><tr><th>Name</th><th>Value</th></tr>
    <tr><td>People</td><td><ul><li>Bill</li><li>Paul</li></ul></td></tr>
    <tr><td>Limits</td><td><table><tr><td>low</td><td>1</td></tr><tr><td>high</td><td>9</td></tr></table></td></tr></table>"""

    assert blocks(source)[0][1].split("\n")[2:] == ["| People | Bill; Paul |", "| Limits | low: 1; high: 9; |"]


def test_a_table_or_program_inside_a_list_stays_what_it_is():
    source = "<ol><li>Run<pre>make</pre>then wait</li><li>Done<ul><li>really</li></ul></li></ol>"

    assert blocks(source) == [
        ("list", "1. Run"),
        ("code", "```\nmake\n```"),
        ("list", "   then wait\n2. Done\n   - really"),
    ]


def test_formulas_keep_their_source():
    source = r"""<p>So <math><mfrac><mi>a</mi><mn>2</mn></mfrac></math> and
    <math><semantics><mi>x</mi><annotation encoding="application/x-tex">x^2</annotation></semantics></math> and
    <img class="mwe-math-fallback-image-inline" alt="{\displaystyle y}" src="m.png"> and 10<sup>-3</sup>.</p>
    <script type="math/tex; mode=display">z=1</script>"""

    assert blocks(source) == [("paragraph", "So $(a)/(2)$ and $x^2$ and $y$ and 10^-3."), ("formula", "$$z=1$$")]


def test_pictures_that_the_page_carries_are_taken_out_and_others_are_links():
    data = b64encode(PNG).decode()
    source = f"""<base href="https://example.org/docs/"><p>see <img src="data:image/png;base64,{data}" alt="plan"></p>
    <img src="a b.png" alt="x"><img src="javascript:x()" alt="y">
    <img data-src="late.png" src="data:image/gif;base64,R0lG">"""

    document = parse(source.encode(), name="a.html")

    assert [(picture.name, picture.media_type, picture.alt) for picture in document.pictures] == [
        ("picture-1.png", "image/png", "plan")
    ]
    assert document.blocks[0].text == "see ![plan](picture:picture-1.png)"
    assert "![x](https://example.org/docs/a%20b.png)" in document.blocks[1].text
    assert "javascript" not in document.markdown()
    assert "https://example.org/docs/late.png" in document.markdown()


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("<title>Own</title><meta property='og:title' content='Social'>", "Own"),
        ("<meta property='og:title' content='Social'>", "Social"),
        ("", "Headline"),
    ],
)
def test_the_title_is_what_the_page_says_first(head, expected):
    assert parse(f"<head>{head}</head><h1>Headline</h1><p>x</p>".encode(), name="a.html").title == expected


def test_elements_nested_without_end_are_refused_quickly():
    with pytest.raises(ResourceLimitError):
        parse(b"<div>" * 100_000, name="a.html")


def test_another_format_under_the_name_of_a_page_is_refused():
    with pytest.raises(CorruptDocumentError):
        parse(b"%PDF-1.7 readable words only, and many of them", name="a.html")


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("25 m<sup>2</sup> and 10<sup>6</sup> Ω", "25 m² and 10^6 Ω"),
        ("2400<sup>3</sup> parts of CO<sub>2</sub>", "2400[^3] parts of CO2"),
        ("the word<sup>1</sup>", "the word[^1]"),
        ('2400<sup><a href="#n3">3</a></sup> parts', "2400[^3] parts"),
        ('10<a href="#n3"><sup>3</sup></a> parts', "10[^3] parts"),
        ('10<span style="font-size: 8px; vertical-align: super">6</span> Ω', "10^6 Ω"),
        ("log<sub>10</sub>5 on the 1<sup>st</sup>", "log_{10}5 on the 1st"),
    ],
)
def test_raised_and_lowered_figures_are_told_apart(source, text):
    assert blocks(f"<p>{source}</p>") == [("paragraph", text)]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<ruby>濮<rp>(</rp><rt>pú</rt><rp>)</rp>阳<rt>yáng</rt></ruby>门店", "濮阳门店"),
        ("<ruby>歙<rt>shè</rt></ruby><ruby>县<rt>xiàn</rt></ruby>门店", "歙县门店"),
        ("<ruby>漢<rt>かん</rt></ruby><ruby>字<rt>じ</rt></ruby>です", "漢字（かんじ）です"),
    ],
)
def test_readings_do_not_cut_the_word(source, text):
    assert blocks(f"<p>{source}</p>") == [("paragraph", text)]


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>limit <s>40 W.</s> 46 W</p>", "limit ~~40 W~~. 46 W"),
        ("<p><del>40 W</del><ins>46 W</ins></p>", "~~40 W~~46 W"),
        ('<p><span style="text-decoration: line-through">旧值</span>新值</p>', "~~旧值~~新值"),
        ("<p>run <strike><code>rm -r</code></strike></p>", "run ~~`rm -r`~~"),
    ],
)
def test_words_that_are_struck_through_are_marked_so(source, text):
    assert blocks(source) == [("paragraph", text)]


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("<ol type=a start=3><li>x<li>y</ol>", "c. x\nd. y"),
        ('<ol style="list-style-type: upper-roman"><li>x<li>y</ol>', "I. x\nII. y"),
        ("<ol><li>x<li value=7>y<li>z</ol>", "1. x\n7. y\n8. z"),
        ("<ol reversed start=2><li>x<li>y</ol>", "2. x\n1. y"),
    ],
)
def test_lists_count_as_the_page_shows_them(source, lines):
    assert blocks(source) == [("list", lines)]
