"""Code in quoted answers, from files that are read, cut and answered as the product does it."""

import pytest

from chat.pages.shared_view import with_markers
from chat.rendering import render_markdown
from chat.rendering.markdown import claim_at
from knowledge.rendering import markdown_html
from ragcore.chunking import splitter_for
from ragcore.cleaning.clean import clean
from ragcore.extractive.generator import ExtractiveGenerator
from ragcore.extractive.sentences import read_statements
from ragcore.grounding.citations import extract_citations
from ragcore.grounding.links import without_links
from ragcore.grounding.support import support_states
from ragcore.options import ChunkingOptions
from ragcore.parsing.code.parser import CodeParser
from ragcore.parsing.html.parser import HtmlParser
from ragcore.parsing.markdown import MarkdownParser
from ragcore.ports import GenerationRequest
from ragcore.text.code_blocks import code_blocks
from ragcore.text.token_count import EstimateCounter
from ragcore.text.tokenise import JiebaTokenizer
from ragcore.types import Passage, Source

TOKENIZER = JiebaTokenizer()
SLOTS = '''def slots_per_subframe(numerology):
    # number of slots: 2 ** numerology
    return 2 ** numerology


def slot_length_ms(numerology):
    """Slot length in milliseconds."""
    return 1 / slots_per_subframe(numerology)'''
START = 'python -m radiosim --port 8080 \\\n    --data "/srv/data" | tee start.log'
GUIDE = f"""# Simulator

Each numerology has its own slot length. A power is written as `a ** b`, a name as `x_y_z`.

```python
{SLOTS}
```

The longest slot is 1 ms.

## Start

Start the simulator with this command:

```bash
{START}
```

The log says Ready after ten seconds.

## Install

1. Install the package:
   ```bash
   pip install -e ".[dev]"
   ```
2. Create the table:
   ```sql
   CREATE TABLE runs (id int, n int[1]);
   ```
3. Restart the service.

## Handlers

~~~python
handlers[1](event)
print("**bold**", "[a](http://example.org/x)", "![p](p.png)", "<b>", __name__)
~~~
"""
CHINESE = """# 仿真器使用说明

## 命令行启动

在终端执行以下命令启动仿真器：

```bash
python -m radiosim --port 8080
# 后台启动时加 &
```

启动后十秒日志显示就绪。

## 小区配置

```yaml
cell:
  - id: 1
    power_dbm: 43
```
"""
PAGE = """<h1>Slots</h1><p>Use this function for the slot length:</p>
<pre class="language-python">def slot(mu):
    return 1 / 2 ** mu   # ms &lt; 1
</pre><p>It is short.</p>"""
MODULE = '''"""Radio helpers."""

RETRIES = 3


def retry_delay(attempt):
    """Seconds before the next attempt."""
    # doubles each time
    return min(60, 2 ** attempt)
'''
READERS = {".md": MarkdownParser(), ".html": HtmlParser(), ".py": CodeParser()}


def sources(text, name="guide.md", tokens=400):
    parsed = READERS[f".{name.rpartition('.')[2]}"].parse(text.encode(), name=name)
    splitter = splitter_for(ChunkingOptions(max_tokens=tokens, min_tokens=tokens // 4), EstimateCounter())
    drafts = splitter.split(clean(parsed))
    passages = [
        Passage(
            chunk=at, document=1, version=1, ordinal=draft.ordinal, text=draft.text, title=parsed.title or name,
            heading_path=draft.heading_path,
        )
        for at, draft in enumerate(drafts, start=1)
        if draft.kind == "body"
    ]  # fmt: skip
    return tuple(
        Source(number=at, passage=passage, text=passage.text, score=1 / at)
        for at, passage in enumerate(passages, start=1)
    )


def answer(question, found, style="report", language="en"):
    request = GenerationRequest(question=question, sources=found, language=language, style=style)
    return "".join(ExtractiveGenerator(TOKENIZER).blocks(request))


def shown_code(text):
    return [block.code for block in code_blocks(text)]


@pytest.mark.parametrize(
    ("question", "document", "name", "code"),
    [
        ("how is the slot length computed in python", GUIDE, "guide.md", SLOTS),
        ("show me the code for slots per subframe", GUIDE, "guide.md", SLOTS),
        ("what is the command to start the simulator", GUIDE, "guide.md", START),
        ("how are handlers called in code", GUIDE, "guide.md", GUIDE.split("~~~python\n")[1].split("\n~~~")[0]),
        ("命令行如何启动", CHINESE, "guide.md", "python -m radiosim --port 8080\n# 后台启动时加 &"),
        ("小区的配置文件怎么写", CHINESE, "guide.md", "cell:\n  - id: 1\n    power_dbm: 43"),
        ("启动仿真器的命令是什么", CHINESE, "guide.md", "python -m radiosim --port 8080\n# 后台启动时加 &"),
        (
            "which function gives the slot length",
            PAGE,
            "page.html",
            "def slot(mu):\n    return 1 / 2 ** mu   # ms < 1",
        ),
    ],
)
def test_a_question_about_code_shows_the_block_as_it_was_written(question, document, name, code):
    text = answer(question, sources(document, name))

    assert shown_code(text)[0] == code


def test_code_of_a_repository_is_shown_without_the_signs_that_it_travels_with():
    text = answer("what does retry_delay do", sources(MODULE, "radio.py"))

    assert "```python\ndef retry_delay(attempt):\n" in text
    assert "    return min(60, 2 ** attempt)\n```" in text
    assert "lines=" not in text


def test_steps_keep_their_code_and_their_order():
    text = answer("How do I install the simulator?", sources(GUIDE))

    assert shown_code(text) == ['pip install -e ".[dev]"', "CREATE TABLE runs (id int, n int[1]);"]
    assert text.index("1. Install") < text.index("2. Create") < text.index("3. Restart")
    assert "<pre>" in render_markdown(text, citations={1, 2, 3, 4}).split("2.")[0]


@pytest.mark.parametrize("question", ["What is a ** b?", "how is a power written"])
def test_code_within_a_sentence_keeps_its_signs(question):
    assert "`a ** b`" in answer(question, sources(GUIDE))


def test_a_block_is_one_statement_and_a_comment_in_it_no_heading():
    statements = read_statements(sources(GUIDE), TOKENIZER)

    assert [s.text.count("```") for s in statements if s.is_code] == [2] * 5
    assert all("number of slots" not in s.heading and "2  numerology" not in s.text for s in statements)


@pytest.mark.parametrize("style", ["report", "simple", "precise"])
def test_no_style_takes_a_block_apart(style):
    text = answer("how is the slot length computed in python", sources(GUIDE), style)

    assert shown_code(text) == [SLOTS]


@pytest.mark.parametrize(
    "question",
    ["how is the slot length computed in python", "How do I install the simulator?", "how are handlers called in code"],
)
def test_a_quoted_block_is_supported_and_its_marker_leads_to_it(question):
    found = sources(GUIDE)
    text = without_links(answer(question, found))

    extracted = extract_citations(text, found, tokenizer=TOKENIZER)
    sentences = support_states(extracted.text, found, tokenizer=TOKENIZER)

    blocks = code_blocks(text)
    quoted = [sentence for sentence in sentences if sentence.text.startswith("```")]
    assert extracted.text == text
    assert len(quoted) == len(blocks) > 0
    assert {sentence.support for sentence in sentences} == {"supported"}
    places = [claim_at(text, place) for place in range(text.count("[1]") + text.count("[2]") + text.count("[4]"))]
    assert all(text[block.start : block.end].strip() in places for block in blocks)


def test_code_that_was_changed_is_not_taken_for_a_quotation():
    found = sources(GUIDE)
    text = answer("how is the slot length computed in python", found)

    sentences = support_states(text.replace("2 ** numerology\n\n", "3 ** numerology\n\n"), found, tokenizer=TOKENIZER)

    assert not any(sentence.text.startswith("```") for sentence in sentences)


def test_the_quoted_lines_are_marked_in_the_source():
    found = sources(GUIDE)
    block = code_blocks(found[0].text)[0]

    shown = markdown_html(found[0].text, claim=block.markdown)

    assert shown.count("<mark>") == 1
    assert "<mark>def slots_per_subframe(numerology):" in shown
    assert shown.index("<mark>") < shown.index("2 ** numerology") < shown.index("</mark>")


def test_a_long_block_is_cut_to_the_lines_that_are_asked_for():
    lines = [f"    step_{at} = load({at})" for at in range(60)]
    lines[25] = "    timeout = backoff(attempt) * 2"
    code = "\n".join(["def run(attempt):", *lines])
    found = sources(f"# Runner\n\nThe runner in code:\n\n```python\n{code}\n```\n", tokens=2000)

    text = answer("show the code that computes the timeout by backoff", found)

    shown = shown_code(text)[0].split("\n")
    assert shown[0] == "def run(attempt):"
    assert "    timeout = backoff(attempt) * 2" in shown
    assert shown.count("    …") == 2
    assert len(shown) <= 30
    sentences = support_states(text, found, tokenizer=TOKENIZER)
    assert [s.support for s in sentences if s.text.startswith("```")] == ["supported"]


def test_a_question_about_something_else_gets_no_code():
    assert shown_code(answer("How long is the longest slot?", sources(GUIDE))) == []


def test_a_summary_is_made_of_sentences():
    assert shown_code(answer("Summarise the document Simulator", sources(GUIDE))) == []


@pytest.mark.parametrize(
    "text",
    [
        "A line\n~~~~~~\nthat is underlined.\n\nAnother\n~~~~~~~\nText.",
        "An open fence:\n\n```python\nx = 1\n",
        "Ticks within ```a line``` only.",
    ],
)
def test_what_only_looks_like_a_fence_is_text(text):
    assert code_blocks(text) == []


def test_a_shared_block_has_its_markers_below_it():
    block = "```python\nx = a[1]\n```"

    assert with_markers(block, [1, 1, 2]) == f"{block}\n[1][2]"
    assert "<pre>" in render_markdown(with_markers(block, [1]), citations={1})
    assert with_markers("It is so [1].", [1, 2]) == "It is so [1]. [2]"
