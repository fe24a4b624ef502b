"""By what rules and connectors name the other document of a relation, and which documents answer to a name.

A reference is written `path: tests/{1}_test.md` or `item: ID` (both of the same source), `name: F123.md`,
`link: https://…`, `title: …`, `number: HR-012`, or `attribute=value`. It becomes one key; a document has the keys of
its names, numbers, title and attributes, so that references that wait for it are found by equality when it arrives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet

from knowledge.models import Document
from ragcore.text.names import MAX_DEPTH, asked_words, ending_of, key_of
from ragcore.text.normalise import nfkc

MAX_KEY = 640  # characters
MAX_VALUES = 50  # of one attribute that is a list
NAME, PATH, ITEM, TITLE, NUMBER, ATTRIBUTE = "name", "path", "item", "title", "number", "attribute"
_PREFIX = re.compile(r"\s*(path|name|item|title|number|link)\s*:\s*(?!//)", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"\s*([A-Za-z_][\w.-]{0,63})\s*=\s*(.+)", re.DOTALL)
_SLASH = re.compile(r"[/\\]+")
_HOST = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_NUMBER = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{0,8}[-_. ]?\d+(?:[-_./]\d+)*[A-Za-z]?(?![A-Za-z0-9])")
_WORDS_BEFORE = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z]{1,8}[-_ ]){1,2}$")
_BETWEEN = re.compile(r"[-_ ]+")


def reference_key(text: str, *, source_id: int) -> str:
    """The key of a reference; "" for one that names nothing. `source_id`: of the document that refers."""
    prefix = _PREFIX.match(text)
    kind, rest = (prefix[1].lower(), text[prefix.end() :].strip()) if prefix else ("", text.strip())
    attribute = None if prefix or _HOST.match(rest) else _ATTRIBUTE.fullmatch(rest)
    if attribute is not None:
        return f"{ATTRIBUTE}:{attribute[1]}={attribute[2].strip()}"[:MAX_KEY]
    if kind == ITEM:
        return f"{ITEM}:{source_id}:{rest}"[:MAX_KEY] if rest else ""
    if kind == TITLE:
        return f"{TITLE}:{_folded(rest)}"[:MAX_KEY] if rest else ""
    if kind == NUMBER:
        return f"{NUMBER}:{max(numbers, key=len)}"[:MAX_KEY] if (numbers := list(_numbers(rest))) else ""
    name = _name_key(rest)
    if not name:
        return ""
    is_path = kind == PATH or (not kind and "/" in rest and not _HOST.match(rest))
    return (f"{PATH}:{source_id}:{name}" if is_path else f"{NAME}:{name}")[:MAX_KEY]


def document_keys(document: Document, *, terms: Iterable[str]) -> set[str]:
    """All keys to which a document answers. `terms`: its DocumentNames."""
    names = [term for term in terms if term.startswith("/")]
    keys = {f"{NAME}:{name}" for name in names} | {f"{PATH}:{document.source_id}:{name}" for name in names}
    if document.external_id:
        keys.add(f"{ITEM}:{document.source_id}:{document.external_id}")
    keys.add(f"{TITLE}:{_folded(document.title)}")
    texts = (document.title, document.external_id, *names)
    keys |= {f"{NUMBER}:{number}" for text in texts for number in _numbers(text)}
    keys |= set(_attribute_keys(document.metadata))
    return {key[:MAX_KEY] for key in keys}


def candidates(documents: QuerySet[Document], key: str) -> QuerySet[Document]:
    """Documents that may answer to a key, by an index; `document_keys` says which of them do."""
    kind, _colon, value = key.partition(":")
    if kind in (PATH, ITEM):
        source, _colon, name = value.partition(":")
        if kind == ITEM:
            return documents.filter(source_id=int(source), external_id=name[:512])
        return documents.filter(source_id=int(source), names__terms__contains=[name])
    if kind == NAME:
        return documents.filter(names__terms__contains=[value])
    if kind == TITLE:
        return documents.filter(title__iregex=_escaped(value))
    if kind == NUMBER:
        apart = " ".join(re.findall(r"\d+|[^\W\d_]+", value))
        in_names = [Q(names__terms__contains=words) for text in (value, apart) if (words := asked_words(text))]
        digits = re.sub(r"^\D+", "", value)
        ends = [value[at:] for at in range(len(value) - len(digits) + 1)]  # names keep their words apart: dev, f123
        in_titles = Q(title__iregex=_escaped(digits)) | Q(names__terms__overlap=ends)
        return documents.filter(reduce(or_, in_names, in_titles))
    name, _equals, text = value.partition("=")
    return documents.filter(_has_value(name, text))


def _has_value(name: str, text: str) -> Q:
    """The attribute is this text, this number, or a list with either."""
    values: list[Any] = [text]
    if re.fullmatch(r"-?\d{1,15}(\.\d{1,10})?", text):
        values.append(float(text) if "." in text else int(text))
    condition = Q()
    for value in values:
        condition |= Q(metadata__contains={name: value}) | Q(metadata__contains={name: [value]})
    return condition


def _attribute_keys(metadata: Mapping[str, Any]) -> Iterator[str]:
    for name, value in metadata.items():
        for part in value[:MAX_VALUES] if isinstance(value, list) else [value]:
            if isinstance(part, (str, int, float)) and not isinstance(part, bool):
                yield f"{ATTRIBUTE}:{name}={str(part).strip()}"


def _name_key(text: str) -> str:
    """As `ragcore.text.names.name_terms` stores it: the last folders without endings, or one name with its ending."""
    plain = _HOST.sub("", nfkc(text)).partition("#")[0].partition("?")[0]
    segments = [segment for segment in _SLASH.split(plain) if key_of(segment)][-MAX_DEPTH:]
    if not segments:
        return ""
    key = "".join(f"/{key_of(segment)}" for segment in segments)
    return f"{key}.{ending}" if len(segments) == 1 and (ending := ending_of(segments[0])) else key


def _numbers(text: str) -> Iterator[str]:
    """Each number with the letters at it, then with up to two words of letters before: f123, devf123."""
    plain = nfkc(text)
    for match in _NUMBER.finditer(plain):
        number = _BETWEEN.sub("", match[0]).casefold()
        yield number
        words = _WORDS_BEFORE.search(plain, max(0, match.start() - 18), match.start())
        for word in reversed(_BETWEEN.split(words[0])[:-1] if words else []):
            number = word.casefold() + number
            yield number


def _escaped(text: str) -> str:
    """For a regular expression of Postgres; unlike `icontains` it goes by the trigrams of titles."""
    return re.sub(r"([^\w\s])", r"\\\1", text)


def _folded(text: str) -> str:
    return " ".join(nfkc(text).casefold().split())
