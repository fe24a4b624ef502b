"""What a browser would send of a form: the values of its fields, read from the page."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

Fields = dict[str, list[str]]


class FormReader(HTMLParser):
    """Collects the fields of all forms of a page that are sent by POST."""

    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Fields] = []
        self._fields: Fields | None = None
        self._select = self._text = ""
        self._options: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        name = said.get("name", "")
        if tag == "form":
            self._fields = {} if said.get("method", "").lower() == "post" else None
        if self._fields is None or "disabled" in said:
            return
        if tag == "input" and name:
            self._input(name, said)
        elif tag == "select" and name:
            self._select, self._options = name, []
        elif tag == "option" and self._select:
            self._options.append((said.get("value", ""), "selected" in said))
        elif tag == "textarea" and name:
            self._text = name
            self._fields.setdefault(name, [""])

    def _input(self, name: str, said: dict[str, str]) -> None:
        kind = said.get("type", "text")
        is_off = kind in ("checkbox", "radio") and "checked" not in said
        if self._fields is None or is_off or kind in ("submit", "file", "button", "image"):
            return
        self._fields.setdefault(name, []).append(said.get("value", "on" if kind == "checkbox" else ""))

    def handle_data(self, data: str) -> None:
        if self._text and self._fields is not None:
            self._fields[self._text][-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._text = ""
        elif tag == "select" and self._select and self._fields is not None:
            chosen = [value for value, is_chosen in self._options if is_chosen]
            self._fields[self._select] = chosen or [value for value, _ in self._options[:1]]
            self._select = ""
        elif tag == "form" and self._fields is not None:
            self.forms.append(self._fields)
            self._fields = None


def form_of(page: str) -> dict[str, Any]:
    """The largest form of a page, without the choice of a language and what belongs to the visit."""
    reader = FormReader()
    reader.feed(page)
    largest = max((one for one in reader.forms if "language" not in one), key=len, default={})
    return {name: values for name, values in largest.items() if name != "csrfmiddlewaretoken"}
