"""Texts of any length without what makes ordinary texts easy to cut: ends of sentences, words, short lines."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable

RANDOM = random.Random(7)
HAN = [chr(code) for code in range(0x4E00, 0x5E00)]


def repeated(part: str) -> Callable[[int], str]:
    return lambda size: (part * (size // len(part) + 1))[:size]


def padded(part: str) -> Callable[[int], str]:
    """Between two letters, so that it is no text without any."""
    return lambda size: f"a{repeated(part)(size)}b"


def hex_dump(size: int) -> str:
    lines = (
        f"{at:08x}  " + " ".join(f"{RANDOM.randrange(256):02x}" for _ in range(16)) for at in range(0, size // 3, 16)
    )
    return "\n".join(lines)[:size]


def table(size: int) -> str:
    rows = [f"| {number} | p{number % 97} | {number * 7 % 1000} |" for number in range(size // 16)]
    return "\n".join(["| No | Name | Value |", "|---|---|---|", *rows])[:size]


def nested_list(size: int) -> str:
    return "\n".join("  " * (number % 8) + f"- item {number}" for number in range(size // 18))[:size]


def deep_list(size: int) -> str:
    return "\n".join(" " * number + "- i" for number in range(int((2 * size) ** 0.5)))[:size]


KINDS: dict[str, Callable[[int], str]] = {
    "Chinese without ends": lambda size: "".join(RANDOM.choices(HAN, k=size)),
    "one Han character": repeated("的"),
    "English without ends": repeated("configuration of the network element with transport layer settings "),
    "hex dump": hex_dump,
    "hex in one line": lambda size: RANDOM.randbytes(size // 2 + 1).hex()[:size],
    "base64 in one line": lambda size: base64.b64encode(RANDOM.randbytes(size)).decode()[:size],
    "one token": repeated("RRC "),
    "one letter": repeated("a"),
    "spaces": padded(" "),
    "wide spaces": padded("\u3000"),
    "tabs": padded("\t"),
    "newlines": padded("\n"),
    "blank lines": padded(" \n"),
    "punctuation": repeated("!?.,;:-()[]{}…"),
    "full stops": repeated("."),
    "Chinese punctuation": repeated("，。！？；："),
    "stops apart": padded(". "),
    "emoji": repeated("😀🚀🎉👍"),
    "abbreviations": repeated("e.g. i.e. U.S. Mr. A "),
    "numbers of lists": repeated("1. 2. 3. 4. 5. "),
    "dashes and stops": repeated("- . "),
    "citation marks": repeated("[1] "),
    "closing marks": repeated(".\"'）"),
    "identifiers": repeated("a-b_c.d/"),
    "numbers": repeated("1,234,567,"),
    "both scripts": repeated("参数RRC的值T300为5ms，"),
    "wrapped lines without end": repeated("continued line of wrapped text without any end that goes on,\n"),
    "table": table,
    "nested list": nested_list,
    "deep list": deep_list,
    "flat list": repeated("- item of list\n"),
    "code in one line": lambda size: "```\n" + repeated("if(a>b){return foo(bar[1],2);}")(size) + "\n```",
    "code": lambda size: "```\n" + repeated("  x = foo(bar[1], 2)\n")(size) + "\n```",
    "Markdown marks": repeated("*_`#>|[]("),
    "open emphasis": repeated("*a_b ["),
    "open brackets": repeated("["),
    "backticks": repeated("`"),
    "open tags": repeated("<"),
    "quotes in quotes": padded("> "),
    "open formulas": repeated("$$a\n"),
    "open formulas apart": repeated("$$ a\n\n"),
    "headings": repeated("# Title\n\n## Sub\n\ntext\n\n"),
    "headings alone": repeated("# T\n\n"),
    "captions": repeated("Table 1: x\n\n"),
}
MARKDOWN = (
    *("table", "nested list", "deep list", "flat list", "code in one line", "code", "headings", "headings alone"),
    *("open emphasis", "open brackets", "backticks", "open tags", "quotes in quotes"),
    *("open formulas", "open formulas apart"),
)
