"""Whatever a stranger uploads ends in text or in an error that says why, within limits, and harms nobody."""

from __future__ import annotations

import os
import resource
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from threading import Thread

import pytest

from ragcore.errors import RagError
from ragcore.parsing import SUPPORTED_FORMATS
from ragcore.parsing.sandbox.parse import parse_in_sandbox
from ragcore.parsing.sandbox.process import SandboxLimits
from ragcore.types import ParsedDocument
from tests.forms_plugin import spread
from tests.security import hostile, hostile_archives, hostile_pdf, hostile_xml
from tests.security.hostile import Hostile, Trap

SECRET = "the-secret-of-this-machine"
MAX_SECONDS = 20.0
MAX_RESIDENT_BYTES = 600 << 20  # the address space of a reader is 512 MiB
LIMITS = SandboxLimits()
FILES = list(
    chain(
        hostile.random_files(),
        hostile.wrong_endings(),
        hostile.strange_names(),
        hostile.texts(),
        hostile.nesting(),
        hostile.pictures(),
        hostile.polyglots(),
        hostile_archives.archives(),
        hostile_xml.entities(),
        hostile_pdf.pdfs(),
    )
)
GOOD = hostile.good_files()
REPEATED = {
    *(f"random: {ending} signed" for ending in (".xlsx", ".pptx", ".odt", ".epub", ".zip", ".msg", ".xls", ".ppt")),
    *(f"wrong ending: {pair}" for pair in (".png as .pdf", ".zip as .docx", ".epub as .xlsx", ".pdf as .eml")),
    *(f"wrong ending: {pair}" for pair in (".xlsx as .csv", ".png as .zip", "program as .docx")),
    *(f"bomb: main part of {ending}" for ending in (".xlsx", ".pptx", ".odt")),
    *(f"bomb: spare part of {ending}" for ending in (".docx", ".pptx", ".epub")),
    *(f"name: {kind}" for kind in ("absolute", "quotes", "line break", "right to left")),
    *(
        f"pdf: {kind}"
        for kind in ("content packed three times", "text that is drawn a million times", "a million lines")
    ),
}
SOME_OF_A_FAMILY = 4  # files of a family in the short form, from the first to the last
XML_FAMILIES = sorted({file.family for file in hostile_xml.entities() if file.label in hostile_xml.DECLARATIONS})


@contextmanager
def listening() -> Iterator[tuple[str, list[object]]]:
    """A server that must not be asked, and who asked."""
    callers: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection, caller = server.accept()
                except OSError:  # closed at the end
                    return
                callers.append(caller)
                connection.close()

        Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", callers


@pytest.fixture(scope="module")
def trap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trap]:
    folder = tmp_path_factory.mktemp("trap")
    secret, outside = folder / "secret.txt", folder / "outside"
    secret.write_text(SECRET)
    outside.mkdir()
    with listening() as (url, callers):
        yield Trap(url=url, secret_file=secret, outside=outside)
        assert callers == []


@pytest.fixture
def resident_bytes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the readers had in memory at most, one number a process."""
    seen: list[int] = []
    wait4 = os.wait4

    def noting(pid: int, options: int) -> tuple[int, int, resource.struct_rusage]:
        ended = wait4(pid, options)
        seen.append(ended[2].ru_maxrss << 10)
        return ended

    monkeypatch.setattr(os, "wait4", noting)
    return seen


def resident_limit() -> int:
    """What a reader may have had; Linux counts for a new process what the one that started it had, so no less."""
    return max(MAX_RESIDENT_BYTES, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) + 1)


def outcome(content: bytes, name: str) -> ParsedDocument | RagError:
    """What becomes of a file. Any other exception is a fault of ours and passes."""
    try:
        return parse_in_sandbox(content, name=name, limits=LIMITS)
    except RagError as problem:
        return problem


def check(found: ParsedDocument | RagError, *, refused: bool = False) -> None:
    """Text that holds no secret, or an error with a code of its own."""
    if isinstance(found, RagError):
        assert found.code not in ("error", "permanent_error", "transient_error")
        assert SECRET not in f"{found.message} {dict(found.data)}"
        return
    assert not refused, found.markdown()[:200]
    assert found.markdown().strip() or found.pictures or found.unread_pages
    assert SECRET not in f"{found.markdown()} {found.title} {dict(found.metadata)}"
    assert not any(SECRET.encode() in picture.content for picture in found.pictures)


def test_there_are_enough_of_them_and_each_has_a_name_of_its_own():
    assert len(FILES) >= 60
    assert len({file.id for file in FILES}) == len(FILES)
    assert {file.id for file in FILES} >= REPEATED


def formed(file: Hostile) -> object:
    """Mark what is left to the full form: what is repeated, and of a large family all but SOME_OF_A_FAMILY."""
    return pytest.param(file, id=file.id, marks=[] if file.id in SHORT_FORM else [pytest.mark.full])


def short_form() -> set[str]:
    by_family: dict[str, list[str]] = {}
    for file in FILES:
        if not is_repeated(file):
            by_family.setdefault(file.family, []).append(file.id)
    return {one for ids in by_family.values() for one in spread(ids, SOME_OF_A_FAMILY)}


def is_repeated(file: Hostile) -> bool:
    """Noise without a true signature, and what another format meets as well.

    Of entities each format meets one kind, and each kind one or two formats: one reader of XML serves all. One file
    stands for each signature, for each way of unpacking without end, and for each kind of strange name.
    """
    is_plain_noise = file.family == "random" and "signed" not in file.label
    is_other_kind = file.family in XML_FAMILIES and file.label != short_kind(XML_FAMILIES.index(file.family))
    return is_plain_noise or is_other_kind or file.id in REPEATED


def short_kind(position: int) -> str:
    kinds = list(hostile_xml.DECLARATIONS)
    return kinds[position % len(kinds)]


SHORT_FORM = short_form()


@pytest.mark.parametrize("file", map(formed, FILES))
def test_a_hostile_file_ends_in_text_or_in_an_error_that_says_why(file: Hostile, trap: Trap, resident_bytes: list[int]):
    content = file.build(trap)
    begin = time.monotonic()

    found = outcome(content, file.name)

    assert time.monotonic() - begin < MAX_SECONDS
    check(found, refused=file.refused)
    assert max(resident_bytes, default=0) < resident_limit()
    assert list(trap.outside.iterdir()) == []
    assert not list(Path.cwd().glob("evil*"))


@pytest.mark.parametrize("ending", [ending for ending in GOOD if ending in SUPPORTED_FORMATS])
def test_a_good_file_is_read_and_its_beginnings_end_in_text_or_in_an_error(ending: str, resident_bytes: list[int]):
    name = f"a{ending}"
    cut = hostile.truncated(GOOD[ending], list(GOOD).index(ending))

    with ThreadPoolExecutor(2) as pool:
        whole, *parts = pool.map(lambda content: outcome(content, name), [GOOD[ending], *cut])

    assert isinstance(whole, ParsedDocument)
    for found in parts:
        check(found)
    assert max(resident_bytes) < resident_limit()
