"""Code of answers in colours, for languages whose lexers were tested with hostile code, within limits.

Many of Pygments' 600 lexers take quadratic time or worse for text that was made for it, and one match of an expression
holds the whole interpreter. So: a list of lexers, without their slow rules; code of at most MAX_CHARACTERS in lines of
at most MAX_LINE; and a limit of processor time that is looked at between two tokens. Anything else is shown plain.
`tests/security/test_linear_expressions.py` attacks every expression that is left.
"""

from __future__ import annotations

import html
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from io import StringIO
from threading import Lock

from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer, RegexLexerMeta

MAX_CHARACTERS = 10_000
MAX_LINES = 500
MAX_LINE = 400  # characters
MAX_SECONDS = 0.2  # of processor time, for one block of code

# Beginnings of expressions that hostile code makes slow. Without them a name or a string has another colour, or none.
SLOW_RULES: Mapping[str, tuple[str, ...]] = {
    "PythonLexer": (r"(\s+)([^\n_]*)(_\b)",),
    "CLexer": (r"((?!\d)(?:[\w$]|\\u", r"(\s*(?:/[*].*?[*]/\s*)?)(include)"),
    "CppLexer": (r"((?!\d)(?:[\w$]|\\u", r"(\s*(?:/[*].*?[*]/\s*)?)(include)"),
    "JavascriptLexer": (r"(super)(\s*)",),
    "TypeScriptLexer": (r"(super)(\s*)",),
    "BashLexer": (r"<<-?\s*(\'?)", r"(?s)\$'("),
    "DockerLexer": (r"(VOLUME|ENTRYPOINT|CMD|SHELL)",),
    "MatlabLexer": (r"(\s*^\s*)",),
}
_preparing = Lock()


@dataclass(frozen=True, slots=True)
class Language:
    """A lexer by its module and class, and the names by which a fence may ask for it."""

    module: str  # of pygments.lexers
    lexer: str
    names: tuple[str, ...]


LANGUAGES = (
    Language("python", "PythonLexer", ("python", "py", "python3", "py3")),
    Language("c_cpp", "CLexer", ("c", "h")),
    Language("c_cpp", "CppLexer", ("cpp", "c++", "cc", "hpp", "cxx")),
    Language("dotnet", "CSharpLexer", ("csharp", "c#", "cs")),
    Language("jvm", "JavaLexer", ("java",)),
    Language("jvm", "KotlinLexer", ("kotlin", "kt")),
    Language("go", "GoLexer", ("go", "golang")),
    Language("rust", "RustLexer", ("rust", "rs")),
    Language("objective", "SwiftLexer", ("swift",)),
    Language("javascript", "JavascriptLexer", ("javascript", "js")),
    Language("javascript", "TypeScriptLexer", ("typescript", "ts")),
    Language("data", "JsonLexer", ("json", "jsonc", "json5")),
    Language("data", "YamlLexer", ("yaml", "yml")),
    Language("html", "XmlLexer", ("xml", "xsd", "xslt", "yin", "netconf")),
    Language("html", "HtmlLexer", ("html", "htm")),
    Language("css", "CssLexer", ("css",)),
    Language("sql", "SqlLexer", ("sql", "mysql", "postgresql", "postgres", "sqlite", "plsql")),
    Language("shell", "BashLexer", ("bash", "sh", "shell", "zsh", "ksh")),
    Language("shell", "PowerShellLexer", ("powershell", "pwsh", "ps1", "posh")),
    Language("configs", "IniLexer", ("ini", "cfg", "conf", "dosini", "properties", "toml")),
    Language("configs", "NginxConfLexer", ("nginx",)),
    Language("configs", "DockerLexer", ("docker", "dockerfile")),
    Language("make", "BaseMakefileLexer", ("make", "makefile", "mk")),
    Language("make", "CMakeLexer", ("cmake",)),
    Language("diff", "DiffLexer", ("diff", "patch", "udiff")),
    Language("scripting", "LuaLexer", ("lua",)),
    Language("matlab", "MatlabLexer", ("matlab", "octave")),
    Language("hdl", "VerilogLexer", ("verilog", "v")),
    Language("hdl", "SystemVerilogLexer", ("systemverilog", "sv")),
    Language("hdl", "VhdlLexer", ("vhdl",)),
    Language("asn1", "Asn1Lexer", ("asn1", "asn.1", "asn")),
    Language("dsls", "ProtoBufLexer", ("protobuf", "proto")),
    Language("tcl", "TclLexer", ("tcl",)),
    Language("erlang", "ErlangLexer", ("erlang", "erl")),
)
_NAMES = {name: language for language in LANGUAGES for name in language.names}


def highlighted_code(code: str, language: str, *, seconds: float = MAX_SECONDS) -> str:
    """Escaped HTML of the code with `<span class="k">` around its parts; without any where it is plain.

    `seconds`: of processor time of this thread.
    """
    language_entry = _NAMES.get(language.lower())
    if language_entry is None or seconds <= 0 or not _is_small(code):
        return html.escape(code)
    out = StringIO()
    try:
        _formatter().format(_tokens(language_lexer(language_entry), code, time.thread_time() + seconds), out)
    except _TooSlowError:
        return html.escape(code)
    return out.getvalue()


class _TooSlowError(Exception):
    """The processor time is over."""


def _is_small(code: str) -> bool:
    lines = code.splitlines() if len(code) <= MAX_CHARACTERS else []
    return 0 < len(lines) <= MAX_LINES and max(map(len, lines)) <= MAX_LINE


def _tokens(lexer: Lexer, code: str, until: float) -> Iterator[tuple[object, str]]:
    for token in lexer.get_tokens(code):
        if time.thread_time() > until:
            raise _TooSlowError
        yield token


@cache
def _formatter() -> HtmlFormatter[str]:
    return HtmlFormatter(nowrap=True)


@cache
def language_lexer(language: Language) -> Lexer:
    """The lexer without its slow rules."""
    return _lexer_class(language)(stripnl=False, ensurenl=False)


def _lexer_class(language: Language) -> type[Lexer]:
    """Rules leave the class itself, which other lexers make for what is embedded in their code."""
    lexer: type[Lexer] = getattr(import_module(f"pygments.lexers.{language.module}"), language.lexer)
    if language.lexer in ("BaseMakefileLexer", "DockerLexer"):  # their commands are read by that one
        _lexer_class(_NAMES["bash"])
    with _preparing:
        lexer()  # reads its rules
        if slow := SLOW_RULES.get(language.lexer):
            assert isinstance(lexer, RegexLexerMeta)
            lexer._tokens = {  # type: ignore[attr-defined]
                state: [rule for rule in rules if not rule[0].__self__.pattern.startswith(slow)]
                for state, rules in lexer._tokens.items()  # type: ignore[attr-defined]
            }
    return lexer
