"""Code of answers in colours."""

from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st

from chat.rendering import render_markdown
from chat.rendering.code import MAX_CHARACTERS, highlighted_code


def test_the_parts_of_code_have_the_classes_of_the_style_sheet():
    html = render_markdown('```python\ndef f():\n    return "a<b"  # why\n```')

    soup = BeautifulSoup(html, "html.parser")
    assert soup.select_one("pre code.language-python span.k").text == "def"
    assert soup.select_one("span.c1").text == "# why"
    assert soup.select_one("pre").get_text() == 'def f():\n    return "a<b"  # why\n'


def test_a_language_that_nobody_knows_and_very_long_code_stay_plain():
    assert highlighted_code("a<b", "no-such-language") == "a&lt;b"
    assert "<span" not in highlighted_code("x = 1\n" * MAX_CHARACTERS, "python")


@given(st.text(max_size=80), st.sampled_from(["python", "json", "bash", "html", "c", "", "nobody"]))
def test_the_words_of_code_are_kept_and_nothing_in_them_becomes_markup(line, language):
    code = f"{line}\n"  # as every block of Markdown ends
    soup = BeautifulSoup(f"<pre>{highlighted_code(code, language)}</pre>", "html.parser")

    assert {element.name for element in soup.pre.find_all()} <= {"span"}
    kept = code.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    assert soup.pre.get_text().replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "") == kept
