"""The tokenizer that a registered chat model may name: how its prompts, and what they may hold, are counted.

It is a file or folder below the folder of models (`DATA_DIR/models`): a `tokenizer.json` of Hugging Face, or a
vocabulary of tiktoken; or the name of an encoding of tiktoken whose vocabulary lies in `DATA_DIR/models/tiktoken`.
Nothing is downloaded.
"""

from __future__ import annotations

import logging
from functools import cache, lru_cache
from hashlib import sha1
from pathlib import Path

from django.conf import settings

from knowledge.model_errors import ModelInvalidError
from ragcore.ports import TokenCounter
from ragcore.text.token_count import RememberingCounter, load_counter

logger = logging.getLogger(__name__)

ENCODINGS = ("cl100k_base", "o200k_base")  # those whose way of cutting text is known
SUFFIXES = (".json", ".tiktoken")
MAX_BYTES = 64 * 1024 * 1024
KEPT = 4  # tokenizers of one process; a large vocabulary takes some tens of megabytes
_ADDRESS = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"  # under whose SHA-1 tiktoken stores it


def tokenizer_check(name: str) -> None:
    """Raises ModelInvalidError for what is no tokenizer; "" is the site's usual one."""
    if name and _loaded(*_place(name)) is None:
        raise ModelInvalidError("tokenizer", name=name)


def counter_named(name: str) -> TokenCounter | None:
    """The counter of a tokenizer, loaded once and again when the file has changed; None for "".

    None also where the file cannot be used any more, which is logged: counting never fails an answer.
    """
    if not name:
        return None
    try:
        loaded = _loaded(*_place(name))
    except ModelInvalidError:
        loaded = None
    if loaded is None:
        _warn(name)
    return loaded


def tokenizer_file(name: str) -> Path:
    """Where a tokenizer lies. Raises ModelInvalidError where there is no such file in the folder of models."""
    folder = (Path(settings.DATA_DIR) / "models").resolve()
    if name in ENCODINGS:
        vocabularies = folder / "tiktoken"
        stored = sha1(_ADDRESS.format(name).encode(), usedforsecurity=False).hexdigest()
        places = [vocabularies / f"{name}.tiktoken", vocabularies / stored]
        if (file := next((place for place in places if place.is_file()), None)) is None:
            raise ModelInvalidError("tokenizer_encoding", name=name)
        return file
    try:
        file = (folder / name).resolve()
        if not file.is_relative_to(folder):
            raise ModelInvalidError("tokenizer_outside")
        file = file / "tokenizer.json" if file.is_dir() else file
        is_there = file.is_file() and file.resolve().is_relative_to(folder)
    except (OSError, ValueError) as error:  # a name that no file can have
        raise ModelInvalidError("tokenizer_missing", name=name) from error
    if not is_there:
        raise ModelInvalidError("tokenizer_missing", name=name)
    return file


def _place(name: str) -> tuple[Path, int, int]:
    """The file, with what changes when it does: time (ns) and size (bytes). Raises ModelInvalidError."""
    file = tokenizer_file(name)
    try:
        state = file.stat()
    except OSError as error:
        raise ModelInvalidError("tokenizer", name=name) from error
    if state.st_size > MAX_BYTES:
        raise ModelInvalidError("tokenizer_size", name=name, limit_mb=MAX_BYTES // 1024**2)
    return file, state.st_mtime_ns, state.st_size


@lru_cache(KEPT)
def _loaded(file: Path, _changed: int, _size: int) -> TokenCounter | None:
    try:
        return RememberingCounter(load_counter(file, kind="" if file.suffix in SUFFIXES else ".tiktoken"))
    except ValueError as error:
        logger.info("%s %s", file, error)
        return None


@cache
def _warn(name: str) -> None:
    logger.warning("the tokenizer %s of a language model cannot be used: tokens are counted as usual", name)
