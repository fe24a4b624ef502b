"""The connectors of systems that are described in files: one kind for each shipped file, and one for other ones."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import field, make_dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

from django.utils.functional import lazy
from django.utils.translation import gettext_lazy as _
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from knowledge.connector_errors import ConnectorError
from knowledge.connectors.base import Connector, SettingField, connector
from knowledge.connectors.items import Listed
from knowledge.connectors.rest.client import RestClient
from knowledge.connectors.rest.description import (
    MAX_DESCRIPTION,
    Description,
    Parameter,
    Words,
    description_parse,
    spoken,
)
from knowledge.connectors.rest.listing import Listing
from knowledge.connectors.rest.pages import PageReader
from knowledge.connectors.rest.sign_in import CREDENTIALS
from knowledge.rest_errors import RestDescriptionError
from knowledge.types import STRICT
from ragcore.fetching.addresses import check_url

DESCRIPTIONS = Path(__file__).parent / "descriptions"
Line = Annotated[str, Field(max_length=500)]
Lines = Annotated[tuple[Line, ...], Field(max_length=200)]
WEBHOOK = "webhook"  # the credential with which the system signs its calls
_spoken_later = lazy(spoken, str)


class RestConnector(Connector):
    """A system that speaks HTTP. A subclass says where its description comes from."""

    @classmethod
    def description_of(cls, settings: Any) -> tuple[Description, str]:
        """The description and the text that it was read from. Raises RestDescriptionError."""
        raise NotImplementedError

    @classmethod
    def parameters_of(cls, settings: Any, description: Description) -> dict[str, Any]:
        """The values of the parameters by name; a list where a parameter has many."""
        raise NotImplementedError

    @classmethod
    def settings_check(cls, settings: Any) -> None:
        """Raises RestDescriptionError."""
        description, _text = cls.description_of(settings)
        cls.parameters_of(settings, description)

    @classmethod
    def host_of(cls, location: str) -> tuple[str, int] | None:
        check_url(location)
        parts = urlsplit(location)
        if parts.query or parts.fragment or not parts.hostname:
            raise ConnectorError("address")
        return parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)

    def changes(self, cursor: Mapping[str, Any]) -> Iterator[Listed]:
        description, text = self.description_of(self.settings)
        base = self.location.rstrip("/")
        values = {**self.parameters_of(self.settings, description), "base": base}
        client = RestClient(base=base, description=description, access=self.access, values=values)
        has_comments = getattr(self.settings, "comments", True)
        listing = Listing(
            description=description,
            pages=PageReader(client),
            values=values,
            digest=hashlib.sha256(f"{text}{sorted(values.items())}{has_comments}".encode()).hexdigest()[:12],
            has_attachments=getattr(self.settings, "attachments", True),
            has_comments=has_comments,
        )
        yield from listing.items(cursor)


# ── shipped descriptions ────────────────────────────────────────────────────────────────────────


@cache
def shipped(name: str) -> tuple[Description, str]:
    """The description in the shipped file of this name, and its text."""
    text = (DESCRIPTIONS / f"{name}.toml").read_text(encoding="utf-8")
    return description_parse(text), text


def shipped_names() -> list[str]:
    """The names of the shipped files, which are kinds of sources, too."""
    return sorted(path.stem for path in DESCRIPTIONS.glob("*.toml"))


def shipped_kind(name: str) -> type[RestConnector]:
    """The kind of connector of a shipped file, with a setting for each parameter."""
    description, _text = shipped(name)
    switches = [*(["attachments"] if _has(description, "attachments") else [])]
    switches += ["comments"] if _has(description, "comments") else []

    class Shipped(RestConnector):
        kind = name
        label = _label(description.label)
        summary = _label(description.summary)
        location_help = _label(description.help)
        settings_type = _settings_type(description, switches)
        setting_fields = (*map(_setting_field, description.parameters), *map(_switch_field, switches))
        credential_fields: ClassVar = credential_fields_of(description.sign_in, has_webhook=bool(description.webhook))

        @classmethod
        def description_of(cls, settings: Any) -> tuple[Description, str]:
            return shipped(name)

        @classmethod
        def parameters_of(cls, settings: Any, description: Description) -> dict[str, Any]:
            return {
                parameter.name: _value(parameter, getattr(settings, parameter.name))
                for parameter in description.parameters
            }

    return Shipped


def credential_fields_of(sign_ins: tuple[str, ...], *, has_webhook: bool) -> tuple[frozenset[str], ...]:
    """The sets of credentials that these sign-ins take, each also with the secret of a webhook."""
    shapes = list(dict.fromkeys(CREDENTIALS[kind] for kind in sign_ins if kind != "none"))
    if has_webhook:
        shapes += [shape | {WEBHOOK} for shape in shapes] + [frozenset({WEBHOOK})] * ("none" in sign_ins)
    return tuple(shapes)


def _has(description: Description, name: str) -> bool:
    is_attached = name == "attachments" and any(item_list.attached for item_list in description.lists)
    return is_attached or any(getattr(item_list, name) is not None for item_list in description.lists)


def _settings_type(description: Description, switches: list[str]) -> type:
    """A checked dataclass with a field for each parameter and switch."""
    values: list[Any] = [
        (parameter.name, Lines, field(default=()))
        if parameter.many
        else (parameter.name, Line, field(default=parameter.default))
        for parameter in description.parameters
    ]
    values += [(name, bool, field(default=True)) for name in switches]
    plain = make_dataclass("ShippedSettings", values, frozen=True, kw_only=True)
    return checked_dataclass(frozen=True, kw_only=True, config=STRICT)(plain)


def _setting_field(parameter: Parameter) -> SettingField:
    kind = "lines" if parameter.many else "text"
    return SettingField(
        name=parameter.name,
        label=_label(parameter.label),
        help_text=_label(parameter.help),
        kind=kind,
        is_required=parameter.required,
    )


def _switch_field(name: str) -> SettingField:
    label = {"attachments": _("attached files"), "comments": _("comments")}[name]
    return SettingField(name=name, label=label, kind="switch")


def _label(words: Words) -> Any:
    return words if isinstance(words, str) else _spoken_later(words)


def _value(parameter: Parameter, value: Any) -> Any:
    """Of a parameter that is empty its default; many come as a list."""
    if parameter.many:
        return [text for text in value if text.strip()] or ([parameter.default] if parameter.default else [])
    return value.strip() or parameter.default


for _name in shipped_names():
    connector(shipped_kind(_name))


# ── descriptions of one's own ───────────────────────────────────────────────────────────────────


@checked_dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class OwnSettings:
    """`description`: TOML; `parameters`: `name = value` each, a name again for each of many values."""

    description: Annotated[str, Field(max_length=MAX_DESCRIPTION)] = ""
    parameters: Lines = ()
    attachments: bool = True
    comments: bool = True


@connector
class OwnConnector(RestConnector):
    """A system that somebody here has described."""

    kind = "rest"
    label = _("REST source")
    summary = _("Any other system with a REST interface, by a description of your own.")
    location_help = _(
        "The address of the interface, such as https://courses.example.com/v1; the description names what is below it."
    )
    settings_type = OwnSettings
    setting_fields = (
        SettingField(
            name="description",
            label=_("description"),
            kind="text_area",
            help_text=_("TOML, as the documentation “A REST source of your own” shows."),
            is_required=True,
        ),
        SettingField(
            name="parameters",
            label=_("parameters"),
            kind="lines",
            help_text=_("Those of the description: name = value, one per line."),
        ),
        *map(_switch_field, ("attachments", "comments")),
    )
    credential_fields: ClassVar = credential_fields_of(("none", *CREDENTIALS), has_webhook=True)

    @classmethod
    def description_of(cls, settings: Any) -> tuple[Description, str]:
        if not settings.description.strip():
            raise RestDescriptionError("missing")
        return description_parse(settings.description), settings.description

    @classmethod
    def parameters_of(cls, settings: Any, description: Description) -> dict[str, Any]:
        values: dict[str, list[str]] = {parameter.name: [] for parameter in description.parameters}
        for line in settings.parameters:
            name, _separator, value = (part.strip() for part in line.partition("="))
            if name not in values:
                raise RestDescriptionError("parameters", name=name, names=list(values))
            values[name] += [value] if value else []
        return {
            parameter.name: _value(
                parameter, values[parameter.name] if parameter.many else "".join(values[parameter.name][:1])
            )
            for parameter in description.parameters
        }
