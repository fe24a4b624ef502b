"""What a file says about a system that is read over HTTP, checked when it is loaded.

Two languages stand in it: JMESPath expressions over the JSON of an answer or of an item (`items = "data.items"`), and
templates, texts with expressions in braces (`address = "/pages/{item.id}"`). Names and meaning: docs/rest-sources.md.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import field, fields, is_dataclass
from typing import Annotated, Any, Literal

import jmespath
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from jmespath.exceptions import JMESPathError
from pydantic import AfterValidator, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked_dataclass

from accounts.value_faults import faults_of
from knowledge.connectors.rest.faults import expression_told, faults_told, toml_told
from knowledge.connectors.rest.templates import template_faults
from knowledge.connectors.rest.texts import FORMATS
from knowledge.rest_errors import RestDescriptionError
from knowledge.types import STRICT

MAX_DESCRIPTION = 20_000  # characters
Fault = tuple[tuple[str, ...], str]  # the keys that lead to it, and what is wrong
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
Words = str | dict[Literal["en", "zh"], str]
rest_part = checked_dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)


def _expression(text: str) -> str:
    """Raises ValueError for what is no JMESPath."""
    try:
        jmespath.compile(text or "@")
    except (JMESPathError, RecursionError) as problem:
        raise ValueError(expression_told(text, problem)) from None
    return text


def _template(text: str) -> str:
    """Raises ValueError where an expression in braces is none, or its format is unknown."""
    if fault := template_faults(text, formats=(*FORMATS, "path")):
        raise ValueError(fault)
    return text


Expression = Annotated[str, Field(max_length=1000), AfterValidator(_expression)]
Template = Annotated[str, Field(max_length=8000), AfterValidator(_template)]


@rest_part
class Parameter:
    """A setting of the source that templates may name. `many`: one value a line."""

    name: Name
    label: Words
    help: Words = ""
    default: Annotated[str, Field(max_length=500)] = ""
    many: bool = False
    required: bool = False


@rest_part
class Paging:
    """How the next page is asked for.

    page, offset: `parameter` counts from `first`, until a page is empty or `total` items have come; link: the header
    Link; next: an address; cursor: a value for `parameter`; merge: an object that is added to the query; delta: an
    address, and at the end `delta`, from which the next list goes on.
    """

    kind: Literal["none", "page", "offset", "link", "next", "cursor", "merge", "delta"] = "none"
    parameter: str = ""
    first: int = 0
    size: Annotated[int, Field(ge=1, le=10_000)] = 100
    next: Expression = ""
    delta: Expression = ""
    total: Expression = ""


@rest_part
class Request:
    """An address below that of the source, or a whole one; query and body are templates, an empty value is left out.

    `call` with `arguments` is one of XML-RPC; a body is sent as JSON. `items`: what is taken of the answer.
    """

    address: Template
    query: dict[str, Template] = field(default_factory=dict)
    body: dict[str, Template] = field(default_factory=dict)
    call: str = ""
    arguments: tuple[Template | dict[str, int | str], ...] = ()
    items: Expression = "@"
    paging: Paging = field(default_factory=Paging)


@rest_part
class Since:
    """How only what has changed is asked for: instead of the list's query, with {since} in `format`."""

    query: dict[str, Template]
    address: Template = ""
    format: str = "%Y-%m-%dT%H:%M:%SZ"  # as strftime in UTC; "epoch": seconds
    overlap_minutes: Annotated[int, Field(ge=0, le=10_080)] = 10


@rest_part
class Each:
    """The list is read for each value of a parameter; where that is empty or not there, of an answer."""

    parameter: str = ""
    request: Request | None = None
    skip_empty: bool = False  # without a value the list is not read at all, else once with an empty one


@rest_part
class Children:
    """Where `when` holds of an item, the list is read again with this query over its own."""

    when: Expression
    query: dict[str, Template]


@rest_part
class Comments:
    """Appended to the text. Without a request they are taken of the detail or the item."""

    items: Expression = "@"
    request: Request | None = None
    text: Template = ""
    author: Expression = ""
    date: Expression = ""


@rest_part
class Attachments:
    """Files of an item, documents of their own that belong to it. Without a request: of the item of the list."""

    id: Expression
    name: Expression
    file: Template
    items: Expression = "@"
    request: Request | None = None
    version: Expression = ""
    size: Expression = ""


@rest_part
class ItemList:
    """Objects of one sort. Either `text`, a template in HTML, or `file`, the address of its bytes.

    `id_per_each`: ids are unique for one value of `each` only; `attached`: read where the source takes attached files;
    `optional`: where the system says that there is no such list, it is empty.
    """

    name: Name
    request: Request
    id: Expression
    id_per_each: bool = False
    attached: bool = False
    optional: bool = False
    title: Template = ""
    text: Template = ""
    file: Template = ""
    file_name: Expression = ""
    size: Expression = ""
    each: Each | None = None
    only: Expression = ""
    removed: Expression = ""
    since: Since | None = None
    children: Children | None = None
    changed: Expression = ""
    version: Expression = ""
    link: Template = ""
    path: Expression = ""
    path_separator: Annotated[str, Field(max_length=3)] = ""
    tags: Expression = ""
    readers: Expression = ""
    parent: Expression = ""
    parent_list: str = ""
    attributes: dict[Name, Expression] = field(default_factory=dict)
    detail: Request | None = None
    comments: Comments | None = None
    attachments: Attachments | None = None


@rest_part
class Webhook:
    """How the system signs its calls: hmac-sha256 over the body, in hexadecimal, or the secret itself."""

    header: str
    kind: Literal["hmac-sha256", "token"] = "hmac-sha256"


@rest_part
class Description:
    """A system. `failed`: an expression over each answer; what it finds is said as the error."""

    label: Words
    lists: Annotated[tuple[ItemList, ...], Field(max_length=20)]
    help: Words = ""
    summary: Words = ""
    sign_in: tuple[Literal["none", "basic", "bearer", "header", "oauth2", "feishu"], ...]
    header: str = ""
    token_address: Template = ""
    token_scope: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    failed: Expression = ""
    full_hours: Annotated[int, Field(ge=1, le=720)] = 24
    parameters: tuple[Parameter, ...] = ()
    webhook: Webhook | None = None


def description_parse(text: str) -> Description:
    """The description in a TOML text. Raises RestDescriptionError, which names every fault."""
    if len(text) > MAX_DESCRIPTION:
        raise RestDescriptionError("long", limit=MAX_DESCRIPTION)
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise RestDescriptionError("toml", problem=toml_told(text, problem)) from None
    try:
        plain = json.dumps(values)
    except TypeError:  # TOML has days and times, descriptions have none
        raise RestDescriptionError("toml", problem=_("Days and times stand between quotation marks.")) from None
    try:
        description = _DESCRIPTIONS.validate_json(plain)
    except ValidationError as problem:
        faults = faults_of(problem.errors(include_url=False))
    else:
        faults = [*_faults(description)]
    if faults:
        raise RestDescriptionError("faults", faults=faults_told(text, values, faults, keys=_KEYS))
    return description


_DESCRIPTIONS: TypeAdapter[Description] = TypeAdapter(Description)
_PARTS: tuple[Any, ...] = (
    Description,
    Parameter,
    Paging,
    Request,
    Since,
    Each,
    Children,
    Comments,
    Attachments,
    ItemList,
    Webhook,
)
_KEYS = sorted({entry.name for part in _PARTS for entry in fields(part)})


def _faults(description: Description) -> Iterator[Fault]:
    """What types cannot say."""
    lists = [item_list.name for item_list in description.lists]
    if not lists:
        yield ("lists",), _("A description needs at least one list: begin it with [[lists]].")
    if not description.sign_in:
        yield ("sign_in",), _('At least one is needed; ["none"] where nobody signs in.')
    for number, name in enumerate(lists):
        if name in lists[:number]:
            yield ("lists", str(number), "name"), _("Another list has this name. Give each a name of its own.")
    if "header" in description.sign_in and not description.header:
        yield ("sign_in",), _('“header” needs the name of the header, too: header = "X-Api-Key".')
    if {"oauth2", "feishu"} & set(description.sign_in) and not description.token_address:
        yield ("sign_in",), _('This sign-in needs the address that gives tokens, too: token_address = "…".')
    names = {parameter.name for parameter in description.parameters}
    for number, item_list in enumerate(description.lists):
        for place, words in _list_faults(item_list, names, lists):
            yield ("lists", str(number), *place), words


def _list_faults(item_list: ItemList, parameters: Collection[str], lists: Collection[str]) -> Iterator[Fault]:
    if bool(item_list.text) == bool(item_list.file):
        yield (), _("A list needs either “text”, a template of the document, or “file”, the address of its bytes.")
    each = item_list.each
    if each and each.parameter and each.parameter not in parameters:
        yield (
            ("each", "parameter"),
            _("There is no parameter “%(name)s”. There are: %(names)s.")
            % {"name": each.parameter, "names": ", ".join(sorted(parameters)) or "–"},
        )
    if each and not (each.parameter or each.request):
        yield ("each",), _("It needs “parameter”, whose values are entered, or “request”, which finds them.")
    if item_list.since and not item_list.changed:
        yield ("since",), _("It needs “changed”, too: the expression that finds when an object has changed.")
    if item_list.parent_list and item_list.parent_list not in lists:
        yield (
            ("parent_list",),
            _("There is no list “%(name)s”. There are: %(names)s.")
            % {"name": item_list.parent_list, "names": ", ".join(lists)},
        )
    for place, request in _requests(item_list):
        for words in _paging_faults(request.paging):
            yield (*place, "paging"), words


def _requests(part: Any, place: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Request]]:
    """All requests in a part of a description, each with its place."""
    if isinstance(part, Request):
        return [(place, part)]
    if not is_dataclass(part):
        return []
    return [request for entry in fields(part) for request in _requests(getattr(part, entry.name), (*place, entry.name))]


def _paging_faults(paging: Paging) -> Iterator[str]:
    kind = {"kind": paging.kind}
    if paging.kind in ("page", "offset", "cursor") and not paging.parameter:
        yield _("Paging by “%(kind)s” needs “parameter”: the part of the query that says which page.") % kind
    if paging.kind in ("next", "cursor", "merge", "delta") and not paging.next:
        yield _("Paging by “%(kind)s” needs “next”: the expression that finds the next page in an answer.") % kind
    if paging.kind == "delta" and not paging.delta:
        yield _("Paging by “delta” needs “delta”: the expression that finds the address of the next run.")


def spoken(words: Words) -> str:
    """In the language of the reader; English where there is no other."""
    if isinstance(words, str):
        return words
    language: Literal["en", "zh"] = "zh" if (get_language() or "").startswith("zh") else "en"
    return words.get(language) or next(iter(words.values()), "")
