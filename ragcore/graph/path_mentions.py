"""Which relations the words around an entity name, and in which order they are followed from it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragcore.graph.relation_groups import GroupMatch, find_chinese, find_groups, groups_of, latin_words
from ragcore.text.normalise import normalise_query
from ragcore.text.scripts import CJK

ASKED_KINDS = {"where": "place", "who": "person", "when": "time", "how": "thing", "why": "thing",
         "哪里": "place", "哪儿": "place",
         "谁": "person", "何时": "time", "什么时候": "time"}  # fmt: skip
_FILLERS = frozenset(
    [
        "what",
        "which",
        "who",
        "whom",
        "whose",
        "where",
        "when",
        "how",
        "why",
        "is",
        "are",
        "was",
        "were",
        "do",
        "does",
        "did",
        "a",
        "an",
        "the",
        "of",
        "'s",
        "’s",
        "s",
        "in",
        "at",
        "to",
        "for",
        "by",
        "on",
        "and",
        "or",
        "name",
        "be",
        "been",
        "his",
        "her",
        "their",
        "with",
        "from",
        "it",
        "its",
        "that",
        "please",
        "tell",
        "me",
        "about",
    ]
)
_NAME_OF = re.compile(r"\bnames? of\b", re.IGNORECASE)
_WHAT_DOES = re.compile(r"what (?:does|do|did)\b.*\bdo\W*$", re.IGNORECASE)
_POSSESSIVE = re.compile(r"['’]s\b|(?<=s)['’](?=\s)", re.IGNORECASE)
_WHICH_NOUN = re.compile(
    r"(?:(?:in|at|for|by|to|from|of|on) )?(?:which|what)(?: [\w-]+){1,3} (?:do|does|did|is|was|are|were|has|have)\b",
    re.IGNORECASE,
)
_GRAND = re.compile(r"grand-?(\w+)$", re.IGNORECASE)
_LATIN = re.compile(r"[^\W_]+(?:/[^\W_]+)?|['’]s\b")
CJK_RUN = re.compile(f"[{CJK}]")


def is_filler(word: str) -> bool:
    """Whether a word such as "the", "of" or "who" names neither an entity nor a relation."""
    return word.lower() in _FILLERS


@dataclass(frozen=True, slots=True)
class Mention:
    """A run of words of the question that may name a relation."""

    text: str
    groups: frozenset[str]

    @property
    def is_weak(self) -> bool:
        return not self.groups


def chain_mentions(before: str, after: str) -> list[Mention]:
    """What the words around an entity name, in the order in which the relations are followed from it.

    First what it possesses ("A's wife"), then what stands before it ("the father of A", nearest first), then the
    predicate behind it ("where did A's wife die"). "Which company … works for" names one relation twice.
    """
    if CJK_RUN.search(before + after):
        return [*_chinese_mentions(after), *reversed(_chinese_mentions(before))]
    if _WHAT_DOES.match(f"{before} {after}".strip()):
        after = re.sub(r"\bdo\W*$", "profession", after.strip(), flags=re.IGNORECASE)
    possessed: list[Mention] = []
    predicate: list[Mention] = []
    head, *owned = _POSSESSIVE.split(after)
    predicate += _latin_mentions(head)
    for part in owned:
        mentions = _latin_mentions(part)
        possessed += mentions[:1]
        predicate += mentions[1:]
    ahead = list(reversed(_latin_mentions(before)))
    if _WHICH_NOUN.match(before.strip()) and ahead and predicate and ahead[-1].groups & predicate[0].groups:
        ahead = ahead[:-1]
    return [m for mention in (*possessed, *ahead, *predicate) for m in _unfolded(mention)]


def _unfolded(mention: Mention) -> list[Mention]:
    """A grandparent is a parent of a parent."""
    if match := _GRAND.match(mention.text):
        groups = groups_of(match[1])
        return [Mention(match[1], groups)] * 2 if groups else [mention]
    return [mention]


def _latin_mentions(text: str) -> list[Mention]:
    text = _NAME_OF.sub(" ", text)
    plain = [w.lower() for w in _LATIN.findall(normalise_query(text).lower())]
    words = tuple(latin_words(text))
    matches = {m.start: m for m in find_groups(words)}
    mentions: list[Mention] = []
    at = 0
    loose: list[str] = []
    while at <= len(words):
        match = matches.get(at)
        filler = at == len(words) or match is not None or plain[at] in _FILLERS
        if filler and loose:
            mentions.append(Mention(" ".join(loose), frozenset()))
            loose = []
        if at == len(words):
            break
        if match is not None and not all(w in _FILLERS for w in plain[match.start : match.end]):
            mentions.append(Mention(" ".join(plain[match.start : match.end]), match.groups))
            at = match.end
            continue
        if plain[at] not in _FILLERS:
            loose.append(plain[at])
        at += 1 if match is None else match.end - at
    return mentions


def _chinese_mentions(text: str) -> list[Mention]:
    pieces: list[Mention] = []
    text = re.sub("祖父母|祖父|祖母|爷爷|奶奶|外公|外婆", "父母的父母", re.sub("孙子|孙女|孙辈", "子女的子女", text))
    for part in re.split(r"的|[，,。？?！!]", text):
        matches = find_chinese(part)
        pieces += [Mention(part[m.start : m.end], m.groups) for m in _without_asking(part, matches)]
    return pieces


def _without_asking(part: str, matches: Sequence[GroupMatch]) -> list[GroupMatch]:
    return [m for m in matches if part[m.start : m.end] not in ASKED_KINDS and part[m.start : m.end] != "在哪"]
