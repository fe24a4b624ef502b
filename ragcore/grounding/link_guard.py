"""The part of the link filter that has to be right: no text that leaves it has an active construct outside of code.

What is active follows CommonMark 0.31 with GitHub's tables: inline links and pictures have `](`, references need a
definition `[…]: …` at the beginning of a line, autolinks and HTML begin with `<`. Code is left alone only where every
reader of Markdown sees code: back ticks that close within their line, in a paragraph without doubtful ones, and fences
at the very margin. In doubt, text is treated as text: then code may show a back slash or an entity too many.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragcore.grounding.plain_urls import MAX_BEFORE, PlainUrlRule

MAX_CODE = 500  # characters of code in a line that are waited for
MAX_INFO = 200  # characters behind an opening fence
_PLAIN = re.compile(r"[^`~\[\]<\n]{1,500}")  # in parts: each address in them is looked for from its own place
_MAY_BEGIN = re.compile(r"[:@&\\wW]")  # a bare address
_RUN = re.compile(r"`+|~+")
_CONTAINER = re.compile(r"[ \t>*+.)\-0-9]*")  # what may stand before a block: quotes and lists, however deep
_KEPT_TAG = re.compile(r"</?(?P<name>[A-Za-z][A-Za-z0-9-]{0,39})>|<br ?/>")
_TAG_BEGUN = re.compile(r"</?(?:[A-Za-z][A-Za-z0-9-]{0,39})?\Z|<br ?/?\Z")
_TAG_OR_ADDRESS = re.compile(r"<(?:[!?]|/?[A-Za-z][A-Za-z0-9.+-]{0,63}(?:[\s/>:@]|\Z)|[\w.!#$%&'*+/=?^`{|}~-]{1,64}@)")
_UNCLEAR = re.compile(r"[()<>\s]")  # an address with these ends where its reader thinks
_LONGEST_DOUBT = 70  # characters after `<` that decide
_ACTIVE = frozenset(
    [
        "a",
        "applet",
        "area",
        "audio",
        "base",
        "body",
        "button",
        "canvas",
        "dialog",
        "embed",
        "fieldset",
        "form",
        "frame",
        "frameset",
        "head",
        "html",
        "iframe",
        "image",
        "img",
        "input",
        "isindex",
        "keygen",
        "link",
        "listing",
        "map",
        "marquee",
        "math",
        "menu",
        "meta",
        "noembed",
        "noframes",
        "noscript",
        "object",
        "option",
        "param",
        "picture",
        "plaintext",
        "portal",
        "script",
        "select",
        "source",
        "style",
        "svg",
        "template",
        "textarea",
        "title",
        "track",
        "video",
        "xml",
        "xmp",
    ]
)


@dataclass(slots=True)
class LinkGuard:
    """Feed the pieces of a text, get text back in which nothing is active but links to `addresses`.

    `bare`: decides about addresses that stand outside of links and code; None: they stay.
    However the text is cut, the pieces joined are the same. What goes in again comes out unchanged.
    """

    addresses: tuple[str, ...] = ()
    bare: PlainUrlRule | None = None
    _held: str = ""
    _before: str = ""  # the last characters before what is held
    _fence: str = ""  # the run that opened a block of code
    _line: str | None = ""  # the line so far while it is only what may stand before a block, else None
    _blank: bool = True  # the line so far is white space
    _label: bool = False  # inside of a bracket that began its block: `]:` would define a reference
    _doubt: bool = False  # about back ticks of this paragraph
    _lost: bool = False  # about fences: no code from here on
    _escape: bool = False  # the last character was a back slash

    def feed(self, text: str) -> str:
        """The safe text that is certain after this piece."""
        return self._run(self._held + text, final=False)

    def flush(self) -> str:
        """The rest, when the text is over."""
        return self._run(self._held, final=True)

    def _run(self, text: str, *, final: bool) -> str:
        out: list[str] = []
        at = 0
        while at < len(text):
            step = self._step(text, at, final)
            if step is None:
                break
            piece, at = step
            out.append(piece)
        self._held, self._before = text[at:], self._preceding(text, at)
        return "".join(out)

    def _step(self, text: str, at: int, final: bool) -> tuple[str, int] | None:
        """The next safe piece and where the rest begins; None to wait for more."""
        if self._fence:
            return self._in_fence(text, at, final)
        char = text[at]
        if char == "\n":
            return self._newline(at)
        if char in "`~":
            return self._ticks(text, at, final)
        if char == "[":
            self._label = self._label or self._line is not None
            return self._out("[", at + 1)
        if char == "]":
            return self._bracket(text, at, final)
        if char == "<":
            return self._angle(text, at, final)
        match = _PLAIN.match(text, at)
        assert match is not None
        return self._words(text, at, match.end(), final)

    def _words(self, text: str, at: int, end: int, final: bool) -> tuple[str, int] | None:
        """Words up to the next address, or that address."""
        begin = _MAY_BEGIN.search(text, at, end) if self.bare is not None else None
        if self.bare is None or begin is None:
            return self._out(text[at:end], end)
        if begin.start() > at:
            return self._out(text[at : begin.start()], begin.start())
        step = self.bare.at(text, at, self._preceding(text, at), final=final)
        return None if step is None else self._out(*step)

    def _preceding(self, text: str, at: int) -> str:
        """The last characters before a place of the text, which begins with what was held."""
        before = text[max(0, at - MAX_BEFORE) : at]
        return before if len(before) == MAX_BEFORE else (self._before + before)[-MAX_BEFORE:]

    def _out(self, piece: str, after: int) -> tuple[str, int]:
        if self._line is not None:
            self._line = self._line + piece if _CONTAINER.fullmatch(piece) else None
        self._blank = self._blank and not piece.strip()
        self._escape = piece.endswith("\\")
        return piece, after

    def _newline(self, at: int) -> tuple[str, int]:
        if self._blank:
            self._doubt = self._label = False
        self._line, self._blank, self._escape = "", True, False
        return "\n", at + 1

    # ── code ────────────────────────────────────────────────────────────────────────────────────

    def _in_fence(self, text: str, at: int, final: bool) -> tuple[str, int] | None:
        """One line of a block of code, with its end; the closing fence ends the block."""
        end = text.find("\n", at)
        line = text[at:] if end < 0 else text[at:end]
        if self._line == "":  # at the margin: this may be the closing fence
            if end < 0 and not final:
                if re.fullmatch(r" {0,3}(?:`*|~*)[ \t]*", line):
                    return None
            elif re.fullmatch(rf" {{0,3}}{self._fence[0]}{{{len(self._fence)},}}[ \t]*", line):
                self._fence = ""
                return self._out(line, at + len(line))
        if end < 0:
            self._line = None
            return line, len(text)
        self._line, self._blank, self._escape = "", True, False
        return text[at : end + 1], end + 1

    def _ticks(self, text: str, at: int, final: bool) -> tuple[str, int] | None:
        match = _RUN.match(text, at)
        assert match is not None
        run = match.group()
        if match.end() == len(text) and not final:
            return None
        if len(run) >= 3 and self._line is not None and not self._lost:
            opened = self._opened(text, at, run, final)
            if opened is None or opened[0]:
                return opened
        if run[0] == "~":
            return self._out(run, match.end())
        return self._span(text, match.end(), run, final)

    def _opened(self, text: str, at: int, run: str, final: bool) -> tuple[str, int] | None:
        """The line that opens a block of code; ("", at) if this does not open one."""
        end = text.find("\n", at, at + MAX_INFO)
        if end < 0 and not final and len(text) - at < MAX_INFO:
            return None
        line = text[at:end] if end >= 0 else text[at : at + MAX_INFO]
        if run[0] == "`" and "`" in line[len(run) :]:
            return "", at  # code within the line
        if self._line or (end < 0 and len(line) == MAX_INFO):  # in a list or quote, whose end would end it, too
            self._lost = True
            return "", at
        self._fence = run
        self._line = None
        return line, at + len(line)

    def _span(self, text: str, start: int, run: str, final: bool) -> tuple[str, int] | None:
        """Code within a line if that is certain, otherwise only its back ticks."""
        if self._escape or self._doubt or self._lost:
            self._doubt = True
            return self._out(run, start)
        window = text[start : start + MAX_CODE]
        end = window.find("\n")
        closing = re.compile(rf"(?<!`){run}(?!`)").search(window if end < 0 else window[:end])
        complete = final or end >= 0 or len(window) == MAX_CODE
        if not complete and (closing is None or closing.end() == len(window)):
            return None
        if closing is None or closing.end() == MAX_CODE or "|" in window[: closing.start()] or self._label:
            self._doubt = True
            return self._out(run, start)
        return self._out(run + window[: closing.end()], start + closing.end())

    # ── links and HTML ──────────────────────────────────────────────────────────────────────────

    def _bracket(self, text: str, at: int, final: bool) -> tuple[str, int] | None:
        following = text[at + 1 : at + 2]
        if not following and not final:
            return None
        if following == "(":
            rest = text[at + 2 :]
            targets = [f"{address})" for address in self.addresses if not _UNCLEAR.search(address)]
            for target in targets:
                if rest.startswith(target):
                    self._label = False
                    return self._out(f"]({target}", at + 2 + len(target))
            if not final and any(target.startswith(rest) for target in targets):
                return None
            return self._out("]\\(", at + 2)
        label = self._label
        self._label = label and self._escape  # an escaped bracket does not end a label
        if following == ":" and label:
            return self._out("] :", at + 2)
        return self._out("]", at + 1)

    def _angle(self, text: str, at: int, final: bool) -> tuple[str, int] | None:
        rest = text[at : at + _LONGEST_DOUBT]
        complete = final or len(rest) == _LONGEST_DOUBT
        tag = _KEPT_TAG.match(rest)
        if tag is not None and self._line is None and (tag["name"] or "br").lower() not in _ACTIVE:
            return self._out(tag.group(), at + tag.end())
        if not complete and not re.search(r"[\s>]", rest[1:]):
            return None
        if not complete and _TAG_BEGUN.fullmatch(rest):
            return None
        return self._out("&lt;" if _TAG_OR_ADDRESS.match(rest) else "<", at + 1)
