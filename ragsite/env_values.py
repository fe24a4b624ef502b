"""Values of the environment: what each kind must look like, and secrets from files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote, urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator
from pydantic.fields import FieldInfo
from pydantic_settings import NoDecode, PydanticBaseSettingsSource

from ragcore.client_registry import ClientRegistry

HUB_PATTERN = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")
DEFAULT_PASSWORDS = frozenset({"admin", "changeme", "password", "postgres", "ragsite", "redis", "secret", "test"})


class InvalidEnvironmentError(ValueError):
    """Some variables cannot be used; the message has one line for each of them."""

    def __init__(self, faults: Mapping[str, str]) -> None:
        self.faults = faults
        lines = [f"  {name}: {fault}" for name, fault in faults.items()]
        super().__init__("\n".join(["The configuration in the environment cannot be used:", *lines]))


def _items(value: object) -> object:
    """A comma-separated list as a tuple, spaces and empty items dropped."""
    return tuple(item.strip() for item in value.split(",") if item.strip()) if isinstance(value, str) else value


def absolute_path(path: Path) -> Path:
    """The path from the root on."""
    return path.expanduser().resolve()


def absolute_file(path: Path | None) -> Path | None:
    """The path from the root on, whether or not there is such a file; None where there is no path."""
    return None if path is None else absolute_path(path)


def check_time_zone(name: str) -> str:
    """Raises ValueError for an unknown name."""
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ValueError("is no known time zone, e.g. Asia/Shanghai") from None
    return name


def _url(*schemes: str) -> AfterValidator:
    """A validator that accepts None or a URL with one of these schemes."""

    def check(value: str | None) -> str | None:
        if value is not None and urlsplit(value).scheme not in schemes:
            raise ValueError(f"must be a URL that begins with {' or '.join(f'{s}://' for s in schemes)}")
        return value

    return AfterValidator(check)


def _origins(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if urlsplit(value).scheme not in {"http", "https"} or urlsplit(value).path:
            raise ValueError(f"must list origins like https://kb.example.com, not {value!r}")
    return values


def _hosts(values: tuple[str, ...]) -> tuple[str, ...]:
    if values:
        from ragcore.fetching import AddressPolicy  # loads an HTTP client, which most processes never need

        AddressPolicy.of(values)
    return values


def _folders(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if not Path(value).is_absolute() or Path(value) == Path("/"):
            raise ValueError(f"must list folders with their whole path, and not the root: {value!r}")
    return values


def check_local_model(value: str | None) -> str | None:
    """A folder of a model as its whole path, or a name on the hub. Raises ValueError."""
    if value is None:
        return None
    if value.startswith(("/", "~", ".")):
        folder = Path(value).expanduser()
        if not (folder / "config.json").is_file():
            raise ValueError("names a folder without a config.json, which models of transformers have")
        return str(folder.resolve())
    if not HUB_PATTERN.fullmatch(value):
        raise ValueError("must be a folder with its whole path, or a name on the hub like OWNER/MODEL")
    return value


def check_vocabulary(value: Path | None) -> Path | None:
    """The file of a tokenizer. Raises ValueError."""
    if value is None:
        return None
    file = absolute_path(value)
    if file.suffix.lower() not in (".tiktoken", ".json") or not file.is_file():
        raise ValueError("must name a file that exists and ends in .tiktoken or .json (a model's tokenizer.json)")
    return file


def check_prices(value: str | None) -> str | None:
    """Raises ValueError for what is no table of prices."""
    if value is not None:
        from ragcore.llm.tiers import parse_prices

        parse_prices(value)
    return value


def check_limits(value: str | None) -> str | None:
    """Raises ValueError for what is no table of limits."""
    if value is not None:
        from ragcore.model_limits import parse_limits

        parse_limits(value)
    return value


def check_milvus(value: str | None) -> str | None:
    """Raises ValueError for what is neither an address nor a file of Milvus Lite."""
    if value is not None and urlsplit(value).scheme not in {"http", "https"} and not value.endswith(".db"):
        raise ValueError("must be a URL that begins with http:// or https://, or a file that ends in .db (Milvus Lite)")
    return value


def known_client(
    value: str, clients: ClientRegistry[Any], *words: str, url_setting: str, settings: Mapping[str, Any]
) -> str:
    """The value, where a client of the registry or one of the other words is named so."""
    if value in words:
        return value
    kind = clients.kind_of(value)
    if kind is None:
        forms = [*clients.forms(), *words]
        raise ValueError(f"must be {', '.join(forms[:-1])} or {forms[-1]}")
    if kind.needs_url and not settings.get(url_setting):
        raise ValueError(f"of the kind {kind.forms[0]} needs {url_setting}")
    return value


def _networks(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        try:
            ip_network(value)
        except ValueError:
            raise ValueError(f"must list addresses or networks like 10.0.0.7 or 10.0.0.0/24, not {value!r}") from None
    return values


def _password(value: str | None) -> str | None:
    """A URL whose password is none that everybody tries first."""
    if value is not None and unquote(urlsplit(value).password or "").lower() in DEFAULT_PASSWORDS:
        raise ValueError("has a password that everybody tries first")
    return value


Items = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_items)]
Origins = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_items), AfterValidator(_origins)]
Networks = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_items), AfterValidator(_networks)]
Hosts = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_items), AfterValidator(_hosts)]
Folders = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_items), AfterValidator(_folders)]
PostgresUrl = Annotated[str | None, _url("postgres", "postgresql"), AfterValidator(_password)]
RedisUrl = Annotated[str | None, _url("redis", "rediss", "unix"), AfterValidator(_password)]
MilvusUri = Annotated[str | None, AfterValidator(check_milvus)]
HttpUrl = Annotated[str | None, _url("http", "https")]


class SecretFiles(PydanticBaseSettingsSource):
    """Secrets from files, as container platforms hand them out: `SECRET_KEY_FILE` names the file of `SECRET_KEY`."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        """Fields that are never shown are the secrets. A variable of the environment wins."""
        path = os.environ.get(f"{field_name}_FILE") if field.repr is False else None
        if not path or os.environ.get(field_name):
            return None, field_name, False
        try:
            return Path(path).read_text(encoding="utf-8").strip(), field_name, False
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise InvalidEnvironmentError({f"{field_name}_FILE": f"cannot be read: {reason}"}) from None

    def __call__(self) -> dict[str, Any]:
        values = {name: self.get_field_value(field, name)[0] for name, field in self.settings_cls.model_fields.items()}
        return {name: value for name, value in values.items() if value is not None}
