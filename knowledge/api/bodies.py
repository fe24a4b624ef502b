"""Reading request bodies that are no JSON object: files, and many lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import IO, Any

from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser, DataAndFiles, MultiPartParser

from knowledge.services.bulk import MAX_LINE_BYTES

READ_BYTES = 64 * 1024


class FileParser(MultiPartParser):
    """`multipart/form-data`; Django writes files to disk and takes names from `filename*` (RFC 5987) too."""

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> DataAndFiles[Any, Any]:
        try:
            return super().parse(stream, media_type, parser_context)
        except (LookupError, ValueError) as error:  # an unknown charset, or parts missing, in `filename*`
            raise ParseError(_("The form data cannot be read.")) from error


class LinesParser(BaseParser):
    """The body as lines of bytes, read while they are used: nothing is kept, whatever the length of the body."""

    media_type = "application/x-ndjson"

    def parse(  # type: ignore[override]  # REST framework hands on whatever a parser returns
        self, stream: IO[bytes], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Iterator[bytes]:
        return lines_of(stream)


class JsonLinesParser(LinesParser):
    """The same body under the name that many clients send."""

    media_type = "application/*"


class TextLinesParser(LinesParser):
    media_type = "text/plain"


def lines_of(stream: IO[bytes]) -> Iterator[bytes]:
    """Lines without their end. Of one over MAX_LINE_BYTES only its first MAX_LINE_BYTES + 1 bytes are kept."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        rest = line
        while not rest.endswith(b"\n") and (rest := stream.readline(READ_BYTES)):
            continue
        yield line.rstrip(b"\r\n")
