"""Zip archives, books and messages in memory for the tests."""

from __future__ import annotations

from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

PNG = bytes.fromhex("89504e470d0a1a0a") + bytes(range(200))
XHTML = '<?xml version="1.0" encoding="utf-8"?>\n<html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>{}</body></html>'
CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)


def zip_bytes(members: dict[str, str | bytes], *, compression: int = ZIP_DEFLATED) -> bytes:
    buffer = BytesIO()
    with ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def zip_with_raw_names(members: dict[bytes, bytes]) -> bytes:
    """Names as old programs write them: bytes of the country's encoding, without the mark for UTF-8."""
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for position, content in enumerate(members.values()):
            archive.writestr(ZipInfo(f"{position:02d}".ljust(len(list(members)[position]), "x")), content)
    packed = buffer.getvalue()
    for position, name in enumerate(members):
        packed = packed.replace(f"{position:02d}".ljust(len(name), "x").encode(), name)
    return packed


def epub_bytes(
    chapters: dict[str, str], *, extra: dict[str, str | bytes] | None = None, nav: str = "", **said: str
) -> bytes:
    """A book of these chapters in the order given: file name below OEBPS -> inside of <body>."""
    items = "".join(
        f'<item id="c{i}" href="{name}" media-type="application/xhtml+xml"/>' for i, name in enumerate(chapters)
    )
    items += '<item id="nav" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>' if nav else ""
    spine = "".join(f'<itemref idref="c{i}"/>' for i in range(len(chapters)))
    metadata = "".join(f"<dc:{key}>{value}</dc:{key}>" for key, value in said.items())
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata>{metadata}</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    members: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": package,
        **{f"OEBPS/{name}": XHTML.format(body) for name, body in chapters.items()},
        **({"OEBPS/nav.xhtml": XHTML.format(nav)} if nav else {}),
        **(extra or {}),
    }
    return zip_bytes(members)
