"""The pages of a list, one after another, until it ends. Pages that repeat themselves are an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from knowledge.connectors.rest.client import Answer, RestClient
from knowledge.connectors.rest.description import Paging, Request
from knowledge.connectors.rest.templates import filled, filled_address, text_of, value_of
from knowledge.rest_errors import RestAnswerError

MAX_PAGES = 20_000
Values = Mapping[str, Any]  # what templates may name


class PageReader:
    """Reads requests of a description. `delta` holds where the last list by delta ended."""

    def __init__(self, client: RestClient) -> None:
        self.client = client
        self.delta = ""

    def objects(
        self,
        request: Request,
        values: Values,
        *,
        list_name: str,
        query: Mapping[str, str] | None = None,
        start: str = "",
    ) -> Iterator[list[Any]]:
        """Each page as a list. `query`: templates over those of the request; `start`: an address to begin at.

        Raises RestAnswerError, also "loop" where pages repeat themselves; RestBusyError, UrlNotAllowedError, …
        """
        page = _Page(request, {**values, "size": str(request.paging.size)}, query or {}, start)
        contents, self.delta = set[int](), ""
        for number in range(MAX_PAGES):
            answered, answer = self._ask(request, page)
            items = value_of(request.items, answered)
            if items is None and number:
                items = []  # some systems leave the list out of the page behind the last one
            if not isinstance(items, list):
                raise RestAnswerError("items", url=page.address[:200], expression=request.items)
            if request.paging.kind in ("page", "offset", "cursor") and items:
                content = _fingerprint(items, page.address)
                if content in contents:
                    raise RestAnswerError("loop", list=list_name)
                contents.add(content)
            yield items
            if not page.turn(answered, answer, len(items)):
                self.delta = text_of(value_of(request.paging.delta, answered))
                return
            if page.place in page.places:
                raise RestAnswerError("loop", list=list_name)
            page.places.add(page.place)
        raise RestAnswerError("pages", list=list_name, limit=MAX_PAGES)

    def detail(self, request: Request, values: Values, *, list_name: str) -> Any:
        """What a request finds; the lists of all its pages together. Raises as `objects`."""
        if request.paging.kind != "none":
            return [item for page in self.objects(request, values, list_name=list_name) for item in page]
        answered, _answer = self._ask(request, _Page(request, values, {}, ""))
        return value_of(request.items, answered)

    def _ask(self, request: Request, page: _Page) -> tuple[Any, Answer]:
        if request.call:
            arguments = tuple(
                filled(argument, page.values) if isinstance(argument, str) else argument
                for argument in request.arguments
            )
            return self.client.call(page.address, name=request.call, arguments=arguments)
        body = {name: text for name, template in request.body.items() if (text := filled(template, page.values))}
        return self.client.data(page.address, query=page.query, body=body)


class _Page:
    """Where the next page is: an address and its query."""

    def __init__(self, request: Request, values: Values, query: Mapping[str, str], start: str) -> None:
        self.values, self.paging = values, request.paging
        self.address = start or filled_address(request.address, values)
        templates = {} if start else {**request.query, **query}
        self.query = {name: text for name, template in templates.items() if (text := filled(template, values))}
        self._first_query, self._count, self._number = self.query, 0, self.paging.first
        if self.paging.kind in ("page", "offset") and not start:
            self.query = {**self.query, self.paging.parameter: str(self.paging.first)}
        self.places: set[str] = set()
        self.place = self._here()

    def _here(self) -> str:
        return f"{self.address} {sorted(self.query.items())}"

    def turn(self, answered: Any, answer: Answer, count: int) -> bool:
        """Go to the next page; whether there is one."""
        self._count += count
        self.places.add(self._here())
        has_next = self._turn(self.paging, answered, answer, count)
        self.place = self._here()
        return has_next

    def _turn(self, paging: Paging, answered: Any, answer: Answer, count: int) -> bool:
        following = value_of(paging.next, answered)
        match paging.kind:
            case "page" | "offset":
                total = value_of(paging.total, answered)
                if not count or (isinstance(total, int) and self._count >= total):
                    return False
                self._number += 1
                number = self._number if paging.kind == "page" else paging.first + self._count
                self.query = {**self.query, paging.parameter: str(number)}
                return True
            case "cursor":
                self.query = {**self._first_query, paging.parameter: text_of(following)}
                return bool(following) and bool(text_of(following))
            case "merge":
                if not isinstance(following, dict):
                    return False
                self.query = {**self._first_query, **{name: text_of(value) for name, value in following.items()}}
                return bool(following)
            case "link":
                following = answer.next_link
            case "none":
                return False
        if not isinstance(following, str) or not following:
            return False
        self.address, self.query = following, {}
        return True


def _fingerprint(items: list[Any], address: str) -> int:
    """The same for pages with the same objects. Raises RestAnswerError where they are nested without end."""
    try:
        return hash(repr(items))
    except RecursionError:
        raise RestAnswerError("not_json", url=address[:200]) from None
