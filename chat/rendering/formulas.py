r"""Formulas as models write them (`$…$`, `$$…$$`, `\(…\)`, `\[…\]`) as MathML, which browsers set themselves.

`latex2mathml` parses the LaTeX. Its tree is checked against an allow-list and serialised here, because its own output
contains unescaped text. A formula that is too long, too deep or not understood is refused whole: the answer then shows
its source.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from html import escape, unescape
from xml.etree.ElementTree import Element  # nosec B405 (a type; nothing is parsed)

from latex2mathml.converter import Converter

MAX_CHARACTERS = 2000
MAX_DEPTH = 30
TAGS = frozenset(
    ("math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "mstyle", "mpadded", "mphantom")
    + ("msub", "msup", "msubsup", "munder", "mover", "munderover", "mtable", "mtr", "mtd")
)
ATTRIBUTES: Mapping[str, set[str]] = {
    "math": {"display"},
    "mi": {"mathvariant"},
    "mn": {"mathvariant"},
    "mo": {"stretchy", "fence", "form", "movablelimits", "minsize", "maxsize", "mathvariant"},
    "mspace": {"width"},
    "mfrac": {"linethickness"},
    "mstyle": {"displaystyle", "scriptlevel"},
    "mpadded": {"width"},
    "mtd": {"class"},
}

# Environments that are understood, and the name by which latex2mathml knows each.
_ENVIRONMENTS = {
    **{name: name for name in ("matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "Vmatrix", "smallmatrix")},
    "cases": "cases",
    "dcases": "cases",
    "array": "array",
    "split": "split",
    "align": "align*",
    "align*": "align*",
    "aligned": "align*",
    "gather": "matrix",
    "gather*": "matrix",
    "gathered": "matrix",
    "equation": "matrix",
    "equation*": "matrix",
}
# Links, styles, characters by number, and definitions of new commands, which could grow without end.
_REFUSED = re.compile(
    r"\\(?:href|style|class|unicode|rule|verb|def|let|newcommand|renewcommand|providecommand|DeclareMathOperator"
    r"|newenvironment|renewenvironment|color|textcolor|colorbox|fcolorbox|require)(?![A-Za-z])"
)
_ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([^{}]*)\}")
_ARG = re.compile(r"\\arg(?![A-Za-z])")
_EMPTY_LAST_CELL = re.compile(r"&\s*(?=\\end\b)")
_ESCAPED = re.compile(r"\\[\\{}]")
_NESTING = re.compile(r"[{}]|\\(?:left|begin|right|end)(?![A-Za-z])")
_NAME = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,64}(?![A-Za-z])")
_VALUE = re.compile(r"true|false|[a-z-]{1,16}|-?\d{0,2}(?:\.\d{1,3})?(?:em)?")
_CHILDREN = {**dict.fromkeys(("mfrac", "mroot", "msub", "msup", "munder", "mover"), 2), "msubsup": 3, "munderover": 3}
_LIMITS = frozenset(("lim", "max", "min", "sup", "inf", "arg max", "arg min", "argmax", "argmin", "∑", "∏", "⋃", "⋂"))
_STACKED = {"msub": "munder", "msup": "mover", "msubsup": "munderover"}
_ALIGNMENTS = {"left": "align-left", "right": "align-right"}


class _NotUnderstoodError(ValueError):
    """Something in the formula is outside the part of LaTeX that is known here."""


def formula_mathml(source: str, *, display: bool) -> str | None:
    """The formula as one `<math>` element whose text is escaped; None where it is too long or not understood."""
    if not source.strip() or len(source) > MAX_CHARACTERS:
        return None
    mode = "block" if display else "inline"
    try:
        _check_source(source)
        tree = Converter(display=mode).convert_to_element(_prepared(source))
        names = frozenset(_NAME.findall(source))
        inside = "".join(_markup(child, names=names, display=display) for child in tree)
    except Exception:  # noqa: BLE001 (the parser has no base class for its errors; the source is shown instead)
        return None
    return f'<math display="{mode}">{inside}</math>'


# ── before parsing ──────────────────────────────────────────────────────────────────────────────


def _check_source(source: str) -> None:
    """Raise _NotUnderstoodError for refused commands, unknown environments, unbalanced braces and deep nesting."""
    if _REFUSED.search(source):
        raise _NotUnderstoodError
    plain, depth, nesting = _ESCAPED.sub(" ", source), 0, 0
    for match in _NESTING.finditer(plain):
        step = 1 if match[0] in ("{", r"\left", r"\begin") else -1
        nesting += step
        depth += step if match[0] in "{}" else 0
        if depth < 0 or nesting > MAX_DEPTH:
            raise _NotUnderstoodError
    if depth or nesting:
        raise _NotUnderstoodError


def _prepared(source: str) -> str:
    """The source in the words that latex2mathml knows. It would drop a row whose last cell is empty."""
    renamed = _ENVIRONMENT.sub(_renamed_environment, _ARG.sub(r"\\operatorname{arg}", source))
    return _EMPTY_LAST_CELL.sub("& {}", renamed)


def _renamed_environment(match: re.Match[str]) -> str:
    if match[2] not in _ENVIRONMENTS:
        raise _NotUnderstoodError
    return f"\\{match[1]}{{{_ENVIRONMENTS[match[2]]}}}"


# ── after parsing ───────────────────────────────────────────────────────────────────────────────


def _markup(element: Element, *, names: frozenset[str], display: bool, depth: int = 0) -> str:
    """The element as HTML. Only known elements and attributes; raises _NotUnderstoodError for what is not known."""
    tag, children = element.tag, list(element)
    if tag not in TAGS or depth > 4 * MAX_DEPTH or len(children) != _CHILDREN.get(tag, len(children)):
        raise _NotUnderstoodError
    text = _text(element)
    if display and tag in _STACKED and children[0].tag == "mo" and _text(children[0]) in _LIMITS:
        tag = _STACKED[tag]
    if tag not in _CHILDREN:
        children = list(_joined(children, names))
    inside = "".join(_markup(child, names=names, display=display, depth=depth + 1) for child in children)
    return f"<{tag}{_attributes(element)}>{escape(text)}{inside}</{tag}>"


def _text(element: Element) -> str:
    """The text of an element. LaTeX that is left over in it was not understood."""
    raw = element.text or ""
    if raw in ("&", "{", "}", "#", "^", "_") or "\\" in raw:
        raise _NotUnderstoodError
    text = unescape(raw)
    if any(unicodedata.category(character) in ("Co", "Cc", "Cs", "Cn") for character in text):
        raise _NotUnderstoodError
    return text


def _attributes(element: Element) -> str:
    if "linebreak" in element.attrib:  # `\\\\` where there are no rows
        raise _NotUnderstoodError
    allowed = ATTRIBUTES.get(element.tag, set())
    attributes = {name: value for name, value in element.attrib.items() if name in allowed and _VALUE.fullmatch(value)}
    attributes.pop("class", None)  # the parser takes classes from the formula
    if alignment := _ALIGNMENTS.get(element.get("columnalign", "")):
        attributes["class"] = alignment
    return "".join(f' {name}="{escape(value)}"' for name, value in attributes.items())


def _joined(children: Sequence[Element], names: frozenset[str]) -> Iterator[Element]:
    """The children, with letters that the source writes as one name in one element: SINR, not S·I·N·R."""
    longest = max(map(len, names), default=1)
    place = 0
    while place < len(children):
        first = children[place]
        name = _name_at(children[place : place + longest], names)
        if name:
            first = Element("mi", first.attrib)
            first.text = name
        yield first
        place += len(name) or 1


def _name_at(children: Sequence[Element], names: frozenset[str]) -> str:
    """The longest name that the first letters of these elements spell; "" if none."""
    letters = ""
    for child in children:
        letter = child.text or ""
        if child.tag != "mi" or child.attrib != children[0].attrib or not (len(letter) == 1 and letter.isascii()):
            break
        letters += letter
    return next((letters[:size] for size in range(len(letters), 1, -1) if letters[:size] in names), "")
