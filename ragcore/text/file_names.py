"""File names for comparing: which are the same, and which differ only by what marks a version."""

from __future__ import annotations

import re
from pathlib import PurePath

from ragcore.text.names import key_of
from ragcore.text.normalise import nfkc
from ragcore.text.scripts import CJK

LEAST_LETTERS = 3  # of a name without its version: "a (2).md" is like too many others

# What people add to the name of a file that is another version: a number, a day, "final", "copy".
_ADDED = re.compile(r"(?:v|ver|version|rev|r|版本)?\d{1,8}|copy|final|draft|new|old|latest|updated|of|v|rev|version")
_IS_CJK = re.compile(f"[{CJK}]")
_ADDED_CHINESE = re.compile(r"(?<=.)(?:副本|终稿|定稿|最终版|修订版|新版|旧版|初稿|草稿)$")


def name_key(name: str) -> str:
    """A file name for comparing: NFKC, without regard to capitals, with single spaces."""
    return " ".join(nfkc(PurePath(name).name).casefold().split())


def loose_key(name: str) -> str:
    """The name without its ending and what marks a version of it; "" where too little is left to compare."""
    words = key_of(name_key(name)).split()
    while len(words) > 1 and _ADDED.fullmatch(words[-1]):
        words.pop()
    key = _ADDED_CHINESE.sub("", " ".join(words))
    return key if sum(char.isalpha() for char in key) >= (2 if _IS_CJK.search(key) else LEAST_LETTERS) else ""
