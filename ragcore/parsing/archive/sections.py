"""Files inside files: members of archives and attachments of messages as sections of one document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace

from ragcore.errors import EmptyDocumentError, PasswordProtectedError, RagError, ResourceLimitError, UnsafeArchiveError
from ragcore.parsing import parse
from ragcore.parsing.archive.safe_zip import DEFAULT_ARCHIVE_LIMITS, UnpackBudget
from ragcore.types import Block, ParsedDocument, Picture

MAX_LEVEL = 6
MAX_DEPTH = 5  # a message in an archive in a message …
MAX_NAMED = 50  # files that could not be read are named up to here
MAX_PICTURES_BYTES = 64 * 1024 * 1024  # of all parts together

_PICTURE = re.compile(r"(!\[[^\]]{0,2000}\]\(picture:)([A-Za-z0-9._-]+)\)")

_nesting: ContextVar[ContainerState | None] = ContextVar("nesting", default=None)


@dataclass(slots=True)
class ContainerState:
    """How deep the parser is inside nested files, and what they may still unpack; all parsers below share it."""

    budget: UnpackBudget = field(default_factory=lambda: UnpackBudget(DEFAULT_ARCHIVE_LIMITS))
    depth: int = 0
    archives: int = 0


@contextmanager
def enter_container(*, name: str, archive: bool = False) -> Iterator[ContainerState]:
    """Enter a file that contains files.

    Raises UnsafeArchiveError for archives below the depth that is allowed, ResourceLimitError for other files.
    """
    outer = _nesting.get()
    here = outer or ContainerState()
    token = _nesting.set(here)
    here.depth += 1
    here.archives += archive
    try:
        if here.archives > here.budget.limits.depth:
            raise UnsafeArchiveError(name=name, depth=here.archives)
        if here.depth > MAX_DEPTH:
            raise ResourceLimitError(name=name, depth=here.depth)
        yield here
    finally:
        here.depth -= 1
        here.archives -= archive
        _nesting.reset(token)


class PartsBuilder:
    """Collects the blocks and pictures of parts, and why others could not be read."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.pictures: list[Picture] = []
        self.skipped: list[tuple[str, str]] = []  # name, code of the error
        self._count = 0
        self._bytes = 0

    def add(self, content: bytes, *, path: str, level: int, under: str = "") -> None:
        """Read one file and add it under a heading of its path; its own headings follow one level deeper.

        A file that cannot be read is recorded as skipped; UnsafeArchiveError is raised.
        """
        with self.record_failure(path):
            self.include(parse(content, name=path.rpartition("/")[2]), path=path, level=level)

    def include(self, document: ParsedDocument, *, path: str, level: int) -> None:
        """Add what was read already. Raises EmptyDocumentError where only pictures were found."""
        if not document.blocks:
            raise EmptyDocumentError(name=path)
        if path:
            self.blocks.append(Block(kind="heading", text=path, level=min(level, MAX_LEVEL)))
        self.blocks += self._moved(document, level)

    @contextmanager
    def record_failure(self, path: str) -> Iterator[None]:
        """Record the error of one part as skipped; UnsafeArchiveError is raised further."""
        try:
            yield
        except UnsafeArchiveError:
            raise
        except RagError as problem:
            self.skip(path, problem)

    def skip(self, path: str, problem: RagError | str) -> None:
        self.skipped.append((path, problem if isinstance(problem, str) else problem.code))

    @property
    def is_locked(self) -> bool:
        """Whether nothing could be read because of a password."""
        return not self.blocks and any(code == PasswordProtectedError.code for _, code in self.skipped)

    def skipped_note(self) -> list[Block]:
        """A last paragraph that names what is not in the document; none where everything is."""
        if not self.skipped:
            return []
        names = [f"{path} ({code.replace('_', ' ')})" for path, code in self.skipped[:MAX_NAMED]]
        more = f", and {len(self.skipped) - MAX_NAMED} more" if len(self.skipped) > MAX_NAMED else ""
        return [Block(kind="paragraph", text=f"Files that could not be read: {', '.join(names)}{more}.")]

    def metadata(self) -> dict[str, str]:
        """`skipped`: one `path: code` a line."""
        return {"skipped": "\n".join(f"{path}: {code}" for path, code in self.skipped)} if self.skipped else {}

    def _moved(self, document: ParsedDocument, level: int) -> list[Block]:
        """Blocks of a part: headings deeper, pages forgotten (they are those of another file), pictures renamed."""
        self._count += 1
        picture_names: set[str] = set()
        for picture in document.pictures:
            self._bytes += len(picture.content)
            if self._bytes <= MAX_PICTURES_BYTES:
                picture_names.add(picture.name)
                self.pictures.append(replace(picture, name=self._picture_name(picture.name), page=None))
        return [
            replace(
                block,
                text=_PICTURE.sub(lambda match: self._picture_link(match, picture_names), block.text),
                level=min(block.level + level, MAX_LEVEL) if block.kind == "heading" else 0,
                page=None,
                box=None,
            )
            for block in document.blocks
        ]

    def _picture_name(self, name: str) -> str:
        return f"part{self._count}-{name}"[-128:]

    def _picture_link(self, match: re.Match[str], picture_names: set[str]) -> str:
        return f"{match[1]}{self._picture_name(match[2])})" if match[2] in picture_names else ""
