"""Inline elements of HTML as Markdown text: pictures, formulas, code, raised numbers."""

from __future__ import annotations

import re

from bs4 import Tag
from bs4.element import PageElement, PreformattedString

from ragcore.parsing.html.pictures import WebPictureCollector
from ragcore.parsing.raised import LOWERED, RAISED, on_level
from ragcore.parsing.ruby import is_reading_kept
from ragcore.parsing.struck import struck_run, with_struck_marks

SPACE = re.compile(r"[ \t\r\n\f\u00a0]+")
_READINGS = ("rt", "rp", "rtc")
_INLINE = frozenset(
    ("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "cite", "code", "data", "del", "dfn", "em", "font", "i")
    + ("img", "image", "ins", "kbd", "label", "mark", "math", "nobr", "q", "rb", "rp", "rt", "rtc", "ruby", "s", "samp")
    + ("small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr")
)
_SILENT = frozenset(("rp", "annotation", "annotation-xml"))
_ICON_PIXELS = 24
_LEVELS = {"sup": RAISED, "sub": LOWERED}
_STRUCK = frozenset(("del", "s", "strike"))
_STRUCK_STYLE = re.compile(r"text-decoration(?:-line)?\s*:[^;]*\bline-through\b", re.IGNORECASE)
_SHIFTED = re.compile(r"vertical-align\s*:\s*(super|sub)\b", re.IGNORECASE)

_TEX_CLASSES = re.compile(r"(?:^|[-_ ])(?:math|tex|latex|mathjax|mwe-math\S*)(?:$|[-_ ])", re.IGNORECASE)
_TWO_PARTS = {
    "mfrac": "({})/({})",
    "msup": "{}^{{{}}}",
    "msub": "{}_{{{}}}",
    "mover": "{}^{{{}}}",
    "munder": "{}_{{{}}}",
}


def is_inline(tag: Tag) -> bool:
    """Whether an element runs inside a line and holds nothing that does not."""
    if not _runs_inside(tag.name):
        return False
    return tag.name == "math" or tag.find(lambda inner: _is_block(inner)) is None


def _is_block(tag: Tag) -> bool:
    return not _runs_inside(tag.name) and tag.find_parent("math") is None


def _runs_inside(name: str) -> bool:
    """Names with a colon are marks of office programs inside a line, e.g. <o:p>."""
    return name in _INLINE or ":" in name


class InlineText:
    """Text of elements on which words can be found: links and emphasis as their text, pictures as Markdown."""

    def __init__(self, collector: WebPictureCollector) -> None:
        self._collector = collector

    def line(self, tag: Tag) -> str:
        """All text of an element on one line."""
        return SPACE.sub(" ", self.text(tag)).strip()

    def text(self, node: Tag) -> str:
        """Text of an element; line breaks stay, inner blocks stand on lines of their own."""
        name = node.name
        if name == "br":
            return "\n"
        if name in ("img", "image"):
            return self._image(node)
        if name == "math":
            return formula(node)
        if name in _SILENT:
            return ""
        if name == "ruby":
            return self._ruby(node)
        text = "".join(
            self.text(child) if isinstance(child, Tag) else SPACE.sub(" ", str(child))
            for child in node.children
            if not isinstance(child, PreformattedString)  # comments
        )
        return self._marked(node, text)

    def _marked(self, node: Tag, text: str) -> str:
        name = node.name
        if name in ("code", "kbd", "samp", "tt") and text.strip() and "`" not in text and "\n" not in text:
            return f"`{text.strip()}`"
        if name == "q":
            return f"\u201c{text.strip()}\u201d"
        if name == "sup" and _leads_to_note(node, text):
            return f"[^{text.strip()}]"
        if name in _STRUCK or _STRUCK_STYLE.search(str(node.get("style") or "")):
            text = with_struck_marks(struck_run(text))
        if level := _level(node):
            return on_level(text, level, before=_beside(node.previous_sibling), after=_beside(node.next_sibling))
        return text if _runs_inside(name) else f"\n{text}\n"

    def _ruby(self, node: Tag) -> str:
        """The characters in one piece, the reading behind them where people search by it and no more of them follow."""
        base = "".join(
            self.text(child) if isinstance(child, Tag) else SPACE.sub("", str(child))
            for child in node.children
            if not isinstance(child, PreformattedString) and getattr(child, "name", None) not in _READINGS
        )
        if isinstance(node.next_sibling, Tag) and node.next_sibling.name == "ruby":
            return base
        rubies = [node]
        while isinstance(before := rubies[0].previous_sibling, Tag) and before.name == "ruby":
            rubies.insert(0, before)
        reading = "".join(part.get_text(strip=True) for ruby in rubies for part in ruby.find_all("rt"))
        return f"{base}（{reading}）" if is_reading_kept(reading) else base

    def _image(self, tag: Tag) -> str:
        alt = SPACE.sub(" ", str(tag.get("alt") or "")).strip().replace("]", ")").replace("[", "(")
        if _is_formula(tag) and alt:
            return f"${_bare_tex(alt)}$"
        target = next((link for source in _sources(tag) if (link := self._collector.target(source, alt))), "")
        if not target or _is_icon(tag):
            return alt
        return f"![{alt}]({target})"


def _sources(tag: Tag) -> list[str]:
    """Addresses of a picture, the real one before the placeholder of pages that load pictures late."""
    late = [tag.get("data-src"), tag.get("data-original"), tag.get("data-lazy-src")]
    usual = [tag.get("src"), tag.get("xlink:href"), tag.get("href") if tag.name == "image" else None]
    return [str(source) for source in (*late, *usual) if source and str(source).strip()]


def _is_icon(tag: Tag) -> bool:
    sizes = [str(tag.get(side) or "").removesuffix("px") for side in ("width", "height")]
    return any(size.isdecimal() and len(size) < 4 and int(size) <= _ICON_PIXELS for size in sizes)


def _level(node: Tag) -> int:
    """Whether an element raises or lowers its text, by its name or its style; marks of notes that lead away do not."""
    if node.find("a") is not None:
        return 0
    if node.name in _LEVELS:
        return _LEVELS[node.name]
    match = _SHIFTED.search(str(node.get("style") or "")) if node.name == "span" else None
    return _LEVELS["sub" if match[1].lower() == "sub" else "sup"] if match else 0


def _leads_to_note(node: Tag, text: str) -> bool:
    """Whether a raised number is a link to a note: without brackets it would be a digit of the figure before it."""
    link = node.find("a") or node.find_parent("a")
    return (
        link is not None
        and link.get_text(strip=True) == text.strip()
        and re.fullmatch(r"\d{1,3}", text.strip()) is not None
    )


def _beside(node: PageElement | None) -> str:
    """The text of a neighbour."""
    if node is None:
        return ""
    return node.get_text() if isinstance(node, Tag) else str(node)


# ── formulas ────────────────────────────────────────────────────────────────────────────────────


def _is_formula(tag: Tag) -> bool:
    classes = " ".join(tag.get("class") or [])
    return bool(_TEX_CLASSES.search(classes))


def formula(tag: Tag) -> str:
    """TeX between dollar signs: as the page states it, else written from the MathML."""
    source = tag.find("annotation", encoding=re.compile("tex", re.IGNORECASE))
    text = source.get_text() if source else str(tag.get("alttext") or _linear(tag))
    text = _bare_tex(text)
    return f"${text}$" if text else ""


def _bare_tex(text: str) -> str:
    """TeX without the shell that generators put around it."""
    text = SPACE.sub(" ", text).strip().strip("$").strip()
    shell = re.fullmatch(r"\{\\(?:display|text)style (.*)\}", text)
    return shell[1].strip() if shell else text


def _linear(node: Tag) -> str:
    """MathML on one line, with fractions, powers and indices told apart."""
    if node.name in _SILENT:
        return ""
    parts = [
        _linear(child) if isinstance(child, Tag) else SPACE.sub(" ", str(child)).strip() for child in node.children
    ]
    parts = [part for part in parts if part]
    name = node.name.rpartition(":")[2]
    if name in _TWO_PARTS and len(parts) == 2:
        return _TWO_PARTS[name].format(*parts)
    if name in ("msubsup", "munderover") and len(parts) == 3:
        return f"{parts[0]}_{{{parts[1]}}}^{{{parts[2]}}}"
    if name == "msqrt":
        return rf"\sqrt{{{' '.join(parts)}}}"
    return " ".join(parts)
