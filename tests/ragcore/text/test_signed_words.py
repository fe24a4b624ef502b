import pytest

from ragcore.text.signed_words import names_another, signed_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("C# 和 C++ 开发岗", {("C", "#"), ("C", "++")}),
        ("A+ 级、A级与 A- 级供应商", {("A", "+"), ("A", ""), ("A", "-")}),
        ("5G-A、5G-Advanced 与 5G 基站", {("5G", "-A"), ("5G", "")}),
        ("a Type-C plug", {("Type-", "C")}),
        ("A pump of plant C-12, I think", set()),
    ],
)
def test_short_names_are_told_with_their_signs(text, words):
    assert signed_words(text) == words


def test_a_name_with_another_sign_is_another_one():
    assert names_another(signed_words("C# jobs"), signed_words("C++ jobs"))
    assert not names_another(signed_words("C# jobs"), signed_words("C# and C++ jobs"))
    assert not names_another(signed_words("C# jobs"), signed_words("B+ suppliers"))
