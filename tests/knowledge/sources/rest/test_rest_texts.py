"""Texts of systems as HTML."""

from __future__ import annotations

import pytest

from knowledge.connectors.rest.texts import FORMATS

CODE = (
    '<ac:structured-macro ac:name="code"><ac:parameter ac:name="language">python</ac:parameter>'
    "<ac:plain-text-body><![CDATA[if a < b:\n    go()]]></ac:plain-text-body></ac:structured-macro>"
)
INFO = (
    '<ac:structured-macro ac:name="info"><ac:parameter ac:name="title">Note</ac:parameter>'
    "<ac:rich-text-body><p>Read <b>this</b>.</p></ac:rich-text-body></ac:structured-macro>"
)
EXPAND = INFO.replace('"info"', '"expand"').replace("Note", "More")
TASKS = (
    "<ac:task-list><ac:task><ac:task-id>1</ac:task-id><ac:task-status>complete</ac:task-status>"
    "<ac:task-body>Measure</ac:task-body></ac:task><ac:task><ac:task-status>incomplete</ac:task-status>"
    "<ac:task-body><span>Write</span></ac:task-body></ac:task></ac:task-list>"
)
LINK = '<ac:link><ri:page ri:content-title="Beams &amp; Co"/></ac:link>'
NAMED_LINK = (
    '<ac:link><ri:page ri:content-title="Beams"/><ac:plain-text-link-body><![CDATA[see there]]>'
    "</ac:plain-text-link-body></ac:link>"
)


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        (CODE, '<pre><code class="language-python">if a &lt; b:\n    go()</code></pre>'),
        (INFO, "<blockquote><p><strong>Note</strong></p><p>Read <b>this</b>.</p></blockquote>"),
        (EXPAND, "<p><strong>More</strong></p><p>Read <b>this</b>.</p>"),
        (TASKS, "<ul><li>☑ Measure</li><li>☐ <span>Write</span></li></ul>"),
        (f"<p>{LINK}</p>", "<p>Beams &amp; Co</p>"),
        (f"<p>{NAMED_LINK}</p>", "<p>see there</p>"),
        ("<p>5&nbsp;GHz &ndash; 寻呼</p>", "<p>5\xa0GHz – 寻呼</p>"),
        (
            "<table><tbody><tr><th>A</th><td colspan='2'>1</td></tr></tbody></table>",
            '<table><tbody><tr><th>A</th><td colspan="2">1</td></tr></tbody></table>',
        ),
        ('<p>a</p><ac:structured-macro ac:name="toc"/><p>b</p>', "<p>a</p><p>b</p>"),
        (
            "<ac:layout><ac:layout-section><ac:layout-cell><p>in</p></ac:layout-cell></ac:layout-section></ac:layout>",
            "<p>in</p>",
        ),
        ("<p>not closed <b>bold", "<p>not closed <b>bold</b></p>"),
        ('<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><p>&e;safe</p>', "safe"),
    ],
)
def test_the_storage_format_of_confluence(text, markup):
    made = FORMATS["confluence"](text)

    assert markup in made
    assert "root:" not in made


def test_wiki_markup_of_jira():
    made = FORMATS["jira"](
        "h2. Steps\nTurn *it* off, see [the page|https://x.example/a] by [~mei].\n\n* one\n** two\n# three\n\n"
        "||Name||Value||\n|a|{{b_c_d}}|\n{code:java}\nint a = b*c*d;\n{code}\n{panel:title=Mind}\nThe fan.\n{panel}"
    )

    assert "<h2>Steps</h2>" in made
    assert 'Turn <strong>it</strong> off, see <a href="https://x.example/a">the page</a> by @mei.' in made
    assert "<ul><li>one<ul><li>two</li></ul></li></ul><ol><li>three</li></ol>" in made
    assert "<tr><th>Name</th><th>Value</th></tr><tr><td>a</td><td><code>b_c_d</code></td></tr>" in made
    assert '<pre><code class="language-java">int a = b*c*d;</code></pre>' in made
    assert "<blockquote><p><strong>Mind</strong></p>\n<p>The fan.</p>\n</blockquote>" in made


def test_textile():
    made = FORMATS["textile"](
        'h1. Steps\n\nSee "the page":https://x.example/a and @code@.\n\n|_. Name |_. Value |\n| a |=. b |\n\n'
        '<pre><code class="ruby">\nx < 1\n</code></pre>'
    )

    assert "<h1>Steps</h1>" in made
    assert '<a href="https://x.example/a">the page</a> and <code>code</code>' in made
    assert "<tr><th>Name</th><th>Value</th></tr><tr><td>a</td><td>b</td></tr>" in made
    assert "<pre><code>x &lt; 1</code></pre>" in made


def test_the_document_format_of_atlassian():
    words = {"type": "text", "text": "a<b", "marks": [{"type": "strong"}, {"type": "link", "attrs": {"href": "/x"}}]}
    cell = {"type": "tableCell", "attrs": {"colspan": 2}, "content": [{"type": "text", "text": "1"}]}
    document = {
        "type": "doc",
        "content": [
            {"type": "heading", "attrs": {"level": 3}, "content": [{"type": "text", "text": "Steps"}]},
            {"type": "paragraph", "content": [words, {"type": "mention", "attrs": {"text": "@Mei"}}]},
            {"type": "table", "content": [{"type": "tableRow", "content": [cell]}]},
            {"type": "taskList", "content": [{"type": "taskItem", "attrs": {"state": "DONE"}, "content": [words]}]},
            {"type": "codeBlock", "attrs": {"language": "c"}, "content": [{"type": "text", "text": "a < b"}]},
            {"type": "somethingNew", "content": [{"type": "text", "text": "kept"}]},
        ],
    }

    made = FORMATS["adf"](document)

    assert "<h3>Steps</h3>" in made
    assert '<a href="/x"><strong>a&lt;b</strong></a>@Mei' in made
    assert '<tr><td colspan="2">1</td></tr>' in made
    assert "<li>☑ " in made
    assert '<pre><code class="language-c">a &lt; b</code></pre>' in made
    assert "kept" in made


def test_blocks_of_feishu():
    def block(own_id: str, kind: int, name: str, words: str, children=(), **style):
        run = {"text_run": {"content": words, "text_element_style": style}}
        return {"block_id": own_id, "block_type": kind, "children": list(children), name: {"elements": [run]}}

    table = {"block_id": "t", "block_type": 31, "table": {"cells": ["c1", "c2"], "property": {"column_size": 2}}}
    cells = [{"block_id": f"c{n}", "block_type": 32, "children": [f"w{n}"]} for n in (1, 2)]
    made = FORMATS["feishu"](
        [
            {"block_id": "p", "block_type": 1, "children": ["h", "l1", "l2", "t", "gone"], "page": {"elements": []}},
            block("h", 4, "heading2", "步骤"),
            block("l1", 12, "bullet", "one", children=["l3"]),
            block("l2", 12, "bullet", "two", bold=True),
            block("l3", 12, "bullet", "below"),
            table,
            *cells,
            block("w1", 2, "text", "a"),
            block("w2", 2, "text", "b<c"),
        ]
    )

    assert "<h2>步骤</h2>" in made
    assert "<ul>\n<li>one<ul>\n<li>below</li>\n</ul>\n</li>\n<li><strong>two</strong></li>\n</ul>" in made
    assert "<table><tr><td><p>a</p>\n</td><td><p>b&lt;c</p>\n</td></tr></table>" in made


@pytest.mark.parametrize("kind", sorted(FORMATS))
@pytest.mark.parametrize("value", [None, "", {}, [], 7, [None], {"content": 7}, "\x00 {code} |a||"])
def test_no_value_breaks_a_format(kind, value):
    assert isinstance(FORMATS[kind](value), str)
