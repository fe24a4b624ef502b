"""Formulas of answers as MathML."""

import re

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from chat.rendering import render_markdown
from chat.rendering.formulas import ATTRIBUTES, MAX_CHARACTERS, TAGS, formula_mathml, symbols


def words_of(source: str, *, display: bool = False) -> str:
    markup = formula_mathml(source, display=display)
    assert markup is not None
    return BeautifulSoup(markup, "html.parser").get_text()


@pytest.mark.parametrize(
    ("source", "markup"),
    [
        ("x^2", "<msup><mi>x</mi><mrow><mn>2</mn></mrow></msup>"),
        ("x_ab", "<msub><mi>x</mi><mrow><mi>a</mi></mrow></msub><mi>b</mi>"),
        ("P_{target}", "<msub><mi>P</mi><mrow><mi>target</mi></mrow></msub>"),
        ("x_i^2", "<msubsup><mi>x</mi><mrow><mi>i</mi></mrow><mrow><mn>2</mn></mrow></msubsup>"),
        (r"\frac{a}{2}", "<mfrac><mrow><mi>a</mi></mrow><mrow><mn>2</mn></mrow></mfrac>"),
        (r"\frac12", "<mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn></mrow></mfrac>"),
        (r"\sqrt[3]{x}", "<mroot><mrow><mi>x</mi></mrow><mrow><mn>3</mn></mrow></mroot>"),
        (r"10\,\text{dB m}", "<mn>10</mn><mtext>\u2009</mtext><mtext>dB m</mtext>"),
        (r"\left\{a\right.", "<mo>{</mo><mi>a</mi>"),
        (r"95\%", "<mn>95</mn><mo>%</mo>"),
        ("a<b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
    ],
)
def test_what_is_written_in_latex_is_set(source, markup):
    assert formula_mathml(source, display=False) == f'<math display="inline"><mrow>{markup}</mrow></math>'


def test_limits_stand_above_and_below_a_sum_only_where_it_has_a_line_of_its_own():
    assert "<munderover><mo>∑</mo>" in (formula_mathml(r"\sum_{i=1}^n x_i", display=True) or "")
    assert "<msubsup><mo>∑</mo>" in (formula_mathml(r"\sum_{i=1}^n x_i", display=False) or "")


def test_a_formula_of_the_trade_reads_as_it_is_spoken():
    assert words_of(r"SINR = 10\log_{10}\left(\frac{S}{I+N}\right) \geq \Delta") == "SINR=10log10(SI+N)≥Δ"


@pytest.mark.parametrize(
    "source",
    [r"\begin{matrix}a\end{matrix}", r"\unknown{x}", "{a", "a}", r"\frac{a}", "x^", r"\text", "a & b", "", "  "],
)
def test_what_is_not_understood_is_refused_whole(source):
    assert formula_mathml(source, display=True) is None


def test_long_and_deeply_nested_formulas_are_refused_instead_of_failing():
    assert formula_mathml("x" * (MAX_CHARACTERS + 1), display=False) is None
    assert formula_mathml("{" * 500 + "x" + "}" * 500, display=False) is None
    assert formula_mathml("x" + "^{x" * 300 + "}" * 300, display=False) is None


@given(st.text(alphabet=r"\{}[]^_$<>&\"'abxΔ%123 frctexqmh(){}|.", max_size=60))
def test_whatever_a_model_writes_only_known_elements_come_out(source):
    markup = formula_mathml(source, display=True) or ""

    found = BeautifulSoup(markup, "html.parser").find_all()
    assert {element.name for element in found} <= TAGS
    assert all(set(element.attrs) <= ATTRIBUTES.get(element.name, set()) for element in found)
    assert len(re.findall(r"<[a-z]", markup)) == len(re.findall(r"</[a-z]", markup)) == len(found)


def test_every_symbol_is_one_character_with_one_meaning():
    assert len(symbols()) > 100
    assert all(len(sign) == 1 and name.isalpha() for name, sign in symbols().items())


# ── in an answer ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "display"),
    [("a $x_1$ b", "inline"), (r"a \(x_1\) b", "inline"), ("$$x_1$$", "block"), ("\\[\nx_1\n\\]", "block")],
)
def test_each_way_of_writing_a_formula_is_set(text, display):
    html = render_markdown(text)

    assert f'<math display="{display}"><mrow><msub>' in html
    assert "$" not in html


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $10.",
        "US$ and A$ are currencies",
        r"see \[5\] of the list",
        r"\[Source\] is escaped",
        "`$x$`",
        "```\n$x$\n```",
    ],
)
def test_prices_brackets_and_code_are_no_formulas(text):
    assert "<math" not in render_markdown(text)


def test_a_formula_outside_the_known_part_stays_as_it_was_written():
    html = render_markdown("$$\\begin{matrix}a\\end{matrix}$$")

    assert "<math" not in html
    assert r"<code>$$\begin{matrix}a\end{matrix}$$</code>" in html


def test_a_sentence_with_a_formula_is_marked_as_a_whole():
    sentence = {"text": "Here $x_1$ is the step.", "support": "weak", "reason": "r"}

    html = render_markdown("Here $x_1$ is the step. More.", sentences=[sentence])

    assert html.startswith('<p><span class="support weak"')
    assert '<math display="inline">' in html.split("</span>")[0]


def test_a_sentence_that_cuts_a_formula_in_two_is_left_alone():
    sentence = {"text": "Here $x.", "support": "weak", "reason": "r"}

    html = render_markdown("Here $x. y$ ends.", sentences=[sentence])

    assert "support" not in html
    assert "<math" in html
