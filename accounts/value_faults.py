"""What is wrong with values that pydantic refused, in the words in which REST framework says it, and translated.

Its own sentences name its types and functions, and are English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

# the sentences of REST framework, which brings their translations
REQUIRED = gettext_noop("This field is required.")
BLANK = gettext_noop("This field may not be blank.")
NULL = gettext_noop("This field may not be null.")
NO_TEXT = gettext_noop("Not a valid string.")
NO_INTEGER = gettext_noop("A valid integer is required.")
NO_NUMBER = gettext_noop("A valid number is required.")
NO_BOOLEAN = gettext_noop("Must be a valid boolean.")
NO_UUID = gettext_noop("Must be a valid UUID.")
TOO_LONG = gettext_noop("Ensure this field has no more than {max_length} characters.")
TOO_SHORT = gettext_noop("Ensure this field has at least {min_length} characters.")
TOO_MANY = gettext_noop("Ensure this field has no more than {max_length} elements.")
TOO_FEW = gettext_noop("Ensure this field has at least {min_length} elements.")
TOO_SMALL = gettext_noop("Ensure this value is greater than or equal to {ge}.")
TOO_LARGE = gettext_noop("Ensure this value is less than or equal to {le}.")

Words = Callable[[Mapping[str, Any]], str]
_QUOTED = re.compile(r"'([^']*+)'")
_TAG = re.compile(r"[A-Z]|.*[\[(]|(?:constrained-)?(?:str|int|float)\Z|bool\Z|none\Z")  # of a member of a union
_OF_TYPE = ("_type", "_parsing")  # endings of the kinds of faults that say only that a value is of another type


def faults_of(errors: Iterable[Mapping[str, Any]]) -> list[tuple[tuple[str, ...], str]]:
    """Place and words of each fault, a place once; `errors`: of pydantic's ValidationError.

    Where a value may be of several types, what is wrong with the type that it has is said, else which types it may
    have.
    """
    by_place: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for error in errors:
        by_place.setdefault(_place(error["loc"]), []).append(error)
    return [(place, _words_of(group)) for place, group in by_place.items() if not _is_told_inside(place, by_place)]


def faults_text(errors: Iterable[Mapping[str, Any]]) -> list[str]:
    """The same as sentences, each with its place."""
    return [f"{'.'.join(place)}: {words}" if place else words for place, words in faults_of(errors)]


def _place(location: Sequence[Any]) -> tuple[str, ...]:
    """Without the names of a union's members, which end in what our code calls its types."""
    return tuple(str(part) for part in location if isinstance(part, int) or not _TAG.match(part))


def _words_of(errors: Sequence[Mapping[str, Any]]) -> str:
    return _words(next((error for error in errors if not _is_of_type(error)), errors[0]))


def _is_of_type(error: Mapping[str, Any]) -> bool:
    return str(error.get("type", "")).endswith(_OF_TYPE)


def _is_told_inside(place: tuple[str, ...], by_place: Mapping[tuple[str, ...], Sequence[Mapping[str, Any]]]) -> bool:
    """Whether another member of a union takes the value, but for what is wrong inside it."""
    is_outer = any(len(other) > len(place) and other[: len(place)] == place for other in by_place)
    return is_outer and all(map(_is_of_type, by_place[place]))


def _words(error: Mapping[str, Any]) -> str:
    """What is wrong, as a sentence."""
    if write := WORDS.get(str(error.get("type", ""))):
        return write(error.get("ctx") or {})
    rule = (error.get("ctx") or {}).get("error")
    return str(rule) if rule is not None else str(error["msg"]).removeprefix("Value error, ")


def _sentence(text: str) -> Words:
    return lambda values: _(text).format(**values)


def _choice(values: Mapping[str, Any]) -> str:
    expected = str(values.get("expected", ""))
    return _("Must be one of %(choices)s.") % {"choices": ", ".join(_QUOTED.findall(expected)) or expected}


def _short_text(values: Mapping[str, Any]) -> str:
    return _(BLANK) if values.get("min_length") == 1 else _(TOO_SHORT).format(**values)


def _no_list(_values: Mapping[str, Any]) -> str:
    return _("Must be a list.")


def _no_object(_values: Mapping[str, Any]) -> str:
    return _("Must be an object.")


WORDS: Mapping[str, Words] = {
    "missing": _sentence(REQUIRED),
    **dict.fromkeys(("extra_forbidden", "unexpected_keyword_argument"), lambda _values: _("Unknown field.")),
    "none_required": _sentence(NULL),
    **dict.fromkeys(("string_type", "bytes_type"), _sentence(NO_TEXT)),
    "string_too_long": _sentence(TOO_LONG),
    "string_too_short": _short_text,
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float", "int_parsing_size"), _sentence(NO_INTEGER)),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), _sentence(NO_NUMBER)),
    **dict.fromkeys(("bool_type", "bool_parsing"), _sentence(NO_BOOLEAN)),
    **dict.fromkeys(("uuid_type", "uuid_parsing"), _sentence(NO_UUID)),
    "greater_than_equal": _sentence(TOO_SMALL),
    "less_than_equal": _sentence(TOO_LARGE),
    **dict.fromkeys(("literal_error", "enum", "union_tag_invalid"), _choice),
    **dict.fromkeys(("list_type", "tuple_type", "set_type"), _no_list),
    "too_long": _sentence(TOO_MANY),
    "too_short": _sentence(TOO_FEW),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type", "dataclass_type"), _no_object),
    "json_invalid": lambda _values: _("Must be valid JSON."),
}
