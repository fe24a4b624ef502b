from __future__ import annotations

import pytest

from ragcore.parsing.raised import LOWERED, RAISED, levelled_text


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ([("10", 0), ("6", RAISED), (" Ω", 0)], "10^6 Ω"),
        ([("5×10", 0), ("−", RAISED), ("8", RAISED), (" Pa·m", 0), ("3", RAISED), ("/s", 0)], "5×10^-8 Pa·m³/s"),
        ([("10", 0), ("6", RAISED), ("Ω", 0)], "10^6Ω"),
        ([("2", 0), ("8", RAISED), ("x", 0)], "2^{8}x"),
        ([("2,400", 0), ("3", RAISED), (" parts", 0)], "2,400[^3] parts"),
        ([("标准", 0), ("1", RAISED), ("。", 0)], "标准[^1]。"),
        ([("3", RAISED), (" Without rework.", 0)], "[^3]: Without rework."),
        ([("word", 0), ("1)", RAISED)], "word[^1]"),
        ([("area 25 m", 0), ("2", RAISED)], "area 25 m²"),
        ([("25 米", 0), ("2", RAISED)], "25 米²"),
        ([("s", 0), ("-1", RAISED)], "s⁻¹"),
        ([("20 ", 0), ("o", RAISED), ("C", 0)], "20 oC"),
        ([("20", 0), ("o", RAISED), ("C", 0)], "20°C"),
        ([("1", 0), ("st", RAISED), (" floor", 0)], "1st floor"),
        ([("x", 0), ("n", RAISED)], "x^n"),
        ([("Na", 0), ("+", RAISED)], "Na+"),
        ([("Ca", 0), ("2+", RAISED)], "Ca²⁺"),
        ([("235", RAISED), ("U", 0)], "^235U"),
        ([("SF", 0), ("6", LOWERED), (" gas", 0)], "SF6 gas"),
        ([("log", 0), ("10", LOWERED), ("5", 0)], "log_{10}5"),
        ([("25", 0), ("8", LOWERED)], "25_8"),
        ([("a raised sentence", RAISED)], "a raised sentence"),
    ],
)
def test_raised_and_lowered_figures_are_told_from_those_on_the_line(pieces, text):
    assert levelled_text(pieces) == text
