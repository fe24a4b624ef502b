"""Formulas of answers as MathML."""

import re
from time import process_time

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from chat.rendering import render_markdown
from chat.rendering.formulas import ATTRIBUTES, MAX_CHARACTERS, TAGS, formula_mathml


def words_of(source: str, *, display: bool = False) -> str:
    markup = formula_mathml(source, display=display)
    assert markup is not None
    return BeautifulSoup(markup, "html.parser").get_text()


@pytest.mark.parametrize(
    ("source", "markup"),
    [
        ("x^2", "<msup><mi>x</mi><mn>2</mn></msup>"),
        ("x_ab", "<msub><mi>x</mi><mi>a</mi></msub><mi>b</mi>"),
        ("P_{target}", "<msub><mi>P</mi><mrow><mi>target</mi></mrow></msub>"),
        ("x_i^2", "<msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup>"),
        (r"\frac{a}{2}", "<mfrac><mrow><mi>a</mi></mrow><mrow><mn>2</mn></mrow></mfrac>"),
        (r"\frac12", "<mfrac><mn>1</mn><mn>2</mn></mfrac>"),
        (r"\sqrt[3]{x}", "<mroot><mrow><mi>x</mi></mrow><mn>3</mn></mroot>"),
        (r"10\,\text{dB m}", '<mn>10</mn><mspace width="0.167em"></mspace><mtext>dB\u00a0m</mtext>'),
        (
            r"\left\{a\right.",
            '<mrow><mo stretchy="true" fence="true" form="prefix">{</mo><mi>a</mi>'
            '<mo stretchy="true" fence="true" form="postfix"></mo></mrow>',
        ),
        (r"95\%", "<mn>95</mn><mi>%</mi>"),
        ("a<b", "<mi>a</mi><mo>&lt;</mo><mi>b</mi>"),
        ("a b", "<mi>a</mi><mi>b</mi>"),
        (r"\mathrm{SINR}", '<mrow><mi mathvariant="normal">SINR</mi></mrow>'),
        (r"\arg z", "<mo>arg</mo><mi>z</mi>"),
    ],
)
def test_what_is_written_in_latex_is_set(source, markup):
    assert formula_mathml(source, display=False) == f'<math display="inline"><mrow>{markup}</mrow></math>'


def test_limits_stand_above_and_below_a_sum_only_where_it_has_a_line_of_its_own():
    assert "<munderover><mo>∑</mo>" in (formula_mathml(r"\sum_{i=1}^n x_i", display=True) or "")
    assert "<msubsup><mo>∑</mo>" in (formula_mathml(r"\sum_{i=1}^n x_i", display=False) or "")
    assert "<munder><mo>max</mo>" in (formula_mathml(r"\max_x f(x)", display=True) or "")
    assert "<msub><mo>max</mo>" in (formula_mathml(r"\max_x f(x)", display=False) or "")


def test_a_formula_of_the_trade_reads_as_it_is_spoken():
    assert words_of(r"SINR = 10\log_{10}\left(\frac{S}{I+N}\right) \geq \Delta") == "SINR=10log10(SI+N)≥Δ"


@pytest.mark.parametrize(
    ("source", "rows", "columns"),
    [
        (r"\begin{matrix}a&b\\c&d\end{matrix}", 2, 2),
        (r"H=\begin{bmatrix}h_{11}&h_{12}&h_{13}\\h_{21}&h_{22}&h_{23}\end{bmatrix}", 2, 3),
        (r"f(x)=\begin{cases}1&x>0\\0&\text{else}\end{cases}", 2, 2),
        (r"\begin{cases}1&x>0\\0&\end{cases}", 2, 2),
        (r"\begin{aligned}a&=b\\c&=d\end{aligned}", 2, 2),
        (r"\left\{\begin{array}{l}a\\b\end{array}\right.", 2, 1),
    ],
)
def test_matrices_and_cases_have_rows_and_columns(source, rows, columns):
    table = BeautifulSoup(formula_mathml(source, display=True) or "", "html.parser").find("mtable")

    assert [len(row.find_all("mtd", recursive=False)) for row in table.find_all("mtr")] == [columns] * rows


def test_cases_begin_at_the_left():
    assert '<mtd class="align-left">' in render_markdown(r"$$\begin{cases}1&x>0\\0&\text{else}\end{cases}$$")


@pytest.mark.parametrize(
    "source",
    [
        *(
            r"\begin{unknown}a\end{unknown}",
            r"\begin{matrix}a",
            r"\unknown{x}",
            "{a",
            "a}",
            r"\frac{a}",
            "x^",
            r"\text",
        ),
        *("a & b", r"a \\ b", r"\left(a", "", "  "),
    ],
)
def test_what_is_not_understood_is_refused_whole(source):
    assert formula_mathml(source, display=True) is None


def test_long_and_deeply_nested_formulas_are_refused_instead_of_failing():
    assert formula_mathml("x" * (MAX_CHARACTERS + 1), display=False) is None
    assert formula_mathml("{" * 500 + "x" + "}" * 500, display=False) is None
    assert formula_mathml("x" + "^{x" * 300 + "}" * 300, display=False) is None
    assert formula_mathml(r"\sqrt" * 300 + "x", display=False) is None


@pytest.mark.parametrize(
    "source",
    [
        *(r"\newcommand{\a}{\a\a}\a", r"\def\a{\a\a}\a", r"\DeclareMathOperator{\a}{a}\a"),
        *("a&" * 990, r"\begin{matrix}" + "a&" * 900 + r"\end{matrix}", "'" * 2000, "_" * 1000, "ab " * 660),
        *(r"\frac" * 400, r"\not" * 400, r"\begin{matrix}" * 29 + "a" + r"\end{matrix}" * 29, r"x\over " * 280 + "y"),
    ],
)
def test_whatever_a_model_writes_takes_little_time_and_room(source):
    formula_mathml("x", display=True)  # reads the table of symbols
    start = process_time()

    markup = formula_mathml(source, display=True) or ""

    assert process_time() - start < 3
    assert len(markup) < 100 * MAX_CHARACTERS


@pytest.mark.parametrize(
    "source",
    [
        r"\href{javascript:alert(1)}{x}",
        r"\href{https://evil.example}{x}",
        r"\style{background:url(//evil.example)}{x}",
        r"\class{support}{x}",
        r"\rule{9999em}{9999em}",
        r"\color{red}{x}",
        r"\unicode{e000}",
        "\\text{\ue000}",
    ],
)
def test_links_styles_and_private_characters_are_refused(source):
    assert formula_mathml(source, display=True) is None


@pytest.mark.parametrize(
    "inside",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        '<a href="javascript:alert(1)">x</a>',
        '<maction actiontype="statusline" onclick="alert(1)">x</maction>',
        '<annotation-xml encoding="text/html"><iframe src="//evil.example"></iframe></annotation-xml>',
        "<semantics><annotation>x</annotation></semantics>",
        "</mtext></math><script>alert(1)</script>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "&#60;script&#62;alert(1)&#x3c;/script>",
    ],
)
@pytest.mark.parametrize(
    "around", [r"\text{%s}", r"\mbox{%s}", r"\operatorname{%s}", r"\tag{%s}", r"\hspace{%s}", "%s"]
)
def test_nothing_that_can_act_comes_out_of_a_formula(inside, around):
    soup = BeautifulSoup(render_markdown(f"$${around % inside}$$"), "html.parser")

    assert {element.name for element in soup.find_all()} <= TAGS | {"p", "code"}
    assert {name for element in soup.find_all() for name in element.attrs} <= set().union(*ATTRIBUTES.values())


def test_spaces_of_any_width_do_not_move_the_page():
    assert "width" not in (formula_mathml(r"a\hspace{9999em}b", display=True) or "")


@given(st.text(alphabet=r"\{}[]^_$<>&\"'abxΔ%123 frctexqmh(){}|.", max_size=60))
def test_whatever_a_model_writes_only_known_elements_come_out(source):
    markup = formula_mathml(source, display=True) or ""

    found = BeautifulSoup(markup, "html.parser").find_all()
    assert {element.name for element in found} <= TAGS
    assert all(set(element.attrs) <= ATTRIBUTES.get(element.name, set()) for element in found)
    assert len(re.findall(r"<[a-z]", markup)) == len(re.findall(r"</[a-z]", markup)) == len(found)


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
    html = render_markdown("$$\\begin{tikzpicture}a\\end{tikzpicture}$$")

    assert "<math" not in html
    assert r"<code>$$\begin{tikzpicture}a\end{tikzpicture}$$</code>" in html


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
