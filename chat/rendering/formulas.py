r"""Formulas as models write them (`$…$`, `$$…$$`, `\(…\)`, `\[…\]`) as MathML, which browsers set themselves (B4).

A useful part of LaTeX: letters and symbols, sub- and superscripts, fractions, roots, sums with limits, accents, text.
What is not understood is never half right: the whole formula then stays the source text that was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files

MAX_CHARACTERS = 2000
MAX_DEPTH = 30
TAGS = frozenset(
    ("math", "mrow", "mi", "mn", "mo", "mtext", "mfrac", "msqrt", "mroot")
    + ("msub", "msup", "msubsup", "munder", "mover", "munderover")
)
ATTRIBUTES: Mapping[str, set[str]] = {"math": {"display"}, "mi": {"mathvariant"}, "mo": {"stretchy"}}

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|[A-Za-z]+|\d+(?:\.\d+)?|\s+|.", re.DOTALL)
_FUNCTIONS = frozenset(
    ("sin", "cos", "tan", "cot", "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh")
    + ("log", "ln", "lg", "exp", "det", "dim", "mod", "arg", "gcd")
)
_LIMITS = frozenset(
    (r"\sum", r"\prod", r"\max", r"\min", r"\lim", r"\argmax", r"\argmin", r"\sup", r"\inf", r"\bigcup", r"\bigcap")
)
_ACCENTS = {r"\hat": "^", r"\bar": "¯", r"\overline": "¯", r"\vec": "→", r"\tilde": "~", r"\dot": "˙"}
_SPACES = {r"\,": "\u2009", r"\;": "\u2005", r"\:": "\u2005", r"\ ": "\u00a0", r"\!": "", r"\quad": "\u2003"}
_SPACES |= {r"\qquad": "\u2003\u2003", r"\limits": "", r"\displaystyle": "", "~": "\u00a0"}
_FONTS = {r"\mathrm": "normal", r"\operatorname": "normal", r"\mathbf": "bold", r"\boldsymbol": "bold"}
_FONTS |= {r"\mathit": "italic", r"\mathcal": "script", r"\mathbb": "double-struck"}
_WORDS = frozenset({r"\text", r"\textrm", r"\textbf", r"\textit", r"\mbox"})
_FENCES = {r"\{": "{", r"\}": "}", r"\|": "‖", r"\langle": "⟨", r"\rangle": "⟩", r"\lfloor": "⌊", r"\rfloor": "⌋"}
_FENCES |= {r"\lceil": "⌈", r"\rceil": "⌉", r"\vert": "|", ".": ""}
_ESCAPED = frozenset({r"\%", r"\#", r"\&", r"\_", r"\$"})


class _NotUnderstoodError(ValueError):
    """Something in the formula is outside the part of LaTeX that is known here."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """MathML of one element; `limits`: indices stand above and below it in a displayed formula."""

    markup: str
    limits: bool = False


def formula_mathml(source: str, *, display: bool) -> str | None:
    """The formula as one `<math>` element whose text is escaped; None where it is too long or not understood."""
    if not source.strip() or len(source) > MAX_CHARACTERS:
        return None
    try:
        parser = _Parser(source, display=display)
        inside = parser.row(until=None)
    except _NotUnderstoodError:
        return None
    return f'<math display="{"block" if display else "inline"}"><mrow>{inside}</mrow></math>'


class _Parser:
    """Reads the tokens of one formula from left to right."""

    def __init__(self, source: str, *, display: bool) -> None:
        self._tokens: list[str] = _TOKEN.findall(source)  # letters in a row are one name: SINR, not S·I·N·R
        self._place = 0
        self._depth = 0
        self._display = display

    def row(self, until: str | None) -> str:
        """Elements up to the word `until`, which is taken, or to the end."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _NotUnderstoodError
        out = list(self._elements(until))
        self._depth -= 1
        return "".join(out)

    def _elements(self, until: str | None) -> Iterator[str]:
        while (word := self._next()) is not None:
            if word == until:
                return
            if not word.isspace():
                yield self._indexed(self._element(word))
        if until is not None:
            raise _NotUnderstoodError

    def _element(self, word: str) -> _Piece:
        if word == "{":
            return _Piece(f"<mrow>{self.row('}')}</mrow>")
        if word[0].isdigit():
            return _Piece(f"<mn>{word}</mn>")
        if word.startswith("\\") or word == "~":
            return self._command(word)
        if word in "}^_&#":
            raise _NotUnderstoodError
        return _Piece(f"<mi>{escape(word)}</mi>" if word.isalpha() else f"<mo>{escape(word.replace('-', '−'))}</mo>")

    def _command(self, word: str) -> _Piece:
        if word in _SPACES:
            return _Piece(f"<mtext>{_SPACES[word]}</mtext>" if _SPACES[word] else "")
        if word in _ESCAPED:
            return _Piece(f"<mo>{escape(word[1:])}</mo>")
        if word in _WORDS:
            return _Piece(f"<mtext>{escape(self._plain())}</mtext>")
        if word in _FONTS:
            return _Piece(f'<mi mathvariant="{_FONTS[word]}">{escape(self._plain())}</mi>')
        if word in _ACCENTS:
            return _Piece(f"<mover>{self._argument()}<mo>{_ACCENTS[word]}</mo></mover>")
        if word in (r"\left", r"\right", r"\big", r"\Big"):
            return _Piece(self._fence())
        return self._structure(word) or self._symbol(word)

    def _structure(self, word: str) -> _Piece | None:
        if word in (r"\frac", r"\dfrac", r"\tfrac"):
            return _Piece(f"<mfrac>{self._argument()}{self._argument()}</mfrac>")
        if word != r"\sqrt":
            return None
        if self._peek() == "[":
            self._next()
            degree = self.row("]")
            return _Piece(f"<mroot>{self._argument()}<mrow>{degree}</mrow></mroot>")
        return _Piece(f"<msqrt>{self._argument()}</msqrt>")

    def _symbol(self, word: str) -> _Piece:
        name = word[1:]
        if word in _FENCES:
            return _Piece(f'<mo stretchy="false">{escape(_FENCES[word])}</mo>')
        if name in _FUNCTIONS:
            return _Piece(f'<mi mathvariant="normal">{name}</mi>')
        if word in _LIMITS and name not in symbols():
            return _Piece(f"<mo>{name}</mo>", limits=True)
        if name in symbols():
            sign = symbols()[name]
            return _Piece(f"<mi>{sign}</mi>" if sign.isalpha() else f"<mo>{escape(sign)}</mo>", word in _LIMITS)
        raise _NotUnderstoodError

    def _indexed(self, base: _Piece) -> str:
        """The element with what stands below and above it, in either order."""
        found: dict[str, str] = {}
        while (mark := self._peek()) in ("_", "^") and mark not in found:
            self._next()
            found[mark] = self._argument()
        while self._peek() == "'" and "^" not in found:
            self._next()
            found["^"] = "<mo>′</mo>"
        below, above = found.get("_"), found.get("^")
        stacked = base.limits and self._display
        match below, above:
            case None, None:
                return base.markup
            case _, None:
                name, parts = ("munder" if stacked else "msub"), below
            case None, _:
                name, parts = ("mover" if stacked else "msup"), above
            case _:
                name, parts = ("munderover" if stacked else "msubsup"), f"{below}{above}"
        return f"<{name}>{base.markup or '<mrow></mrow>'}{parts}</{name}>"

    def _argument(self) -> str:
        """The next element or group as exactly one element."""
        word = self._next()
        while word is not None and word.isspace():
            word = self._next()
        if word is None:
            raise _NotUnderstoodError
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _NotUnderstoodError
        if len(word) > 1 and word.isascii() and word.isalnum():  # x_ab is an index a, then b
            self._tokens[self._place - 1 : self._place] = [word[0], word[1:]]
            word = word[0]
        markup = self._element(word).markup
        self._depth -= 1
        return markup if word == "{" else f"<mrow>{markup}</mrow>"

    def _plain(self) -> str:
        """The characters of a group that is text and no formula."""
        if self._next() != "{":
            raise _NotUnderstoodError
        out: list[str] = []
        while (word := self._next()) != "}":
            if word is None or word in "{^$":
                raise _NotUnderstoodError
            out.append(word[1:] if word.startswith("\\") and not word[1:].isalpha() else word)
        if any(part.startswith("\\") for part in out):
            raise _NotUnderstoodError
        return "".join(out)

    def _fence(self) -> str:
        word = self._next()
        if word is None:
            raise _NotUnderstoodError
        sign = _FENCES.get(word, word)
        if sign and sign not in "()[]{}|/‖⟨⟩⌊⌋⌈⌉":
            raise _NotUnderstoodError
        return f"<mo>{escape(sign)}</mo>" if sign else ""

    def _next(self) -> str | None:
        if self._place >= len(self._tokens):
            return None
        self._place += 1
        return self._tokens[self._place - 1]

    def _peek(self) -> str | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None


@cache
def symbols() -> Mapping[str, str]:
    """Commands that stand for one character: name → character."""
    lines = files("chat").joinpath("formula_symbols.txt").read_text("utf-8").splitlines()
    pairs = (line.split() for line in lines if line and not line.startswith("#"))
    return {name: sign for sign, *names in pairs for name in names}
