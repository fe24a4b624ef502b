"""Entities: XML that grows without end, or that reads files and asks servers while it is parsed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tests.ragcore.parsing.build import part, with_part
from tests.security.hostile import Hostile, Trap, good_files, made

_LAUGHS = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
DECLARATIONS: dict[str, Callable[[Trap], str]] = {
    "billion laughs": lambda _: f'<!DOCTYPE x [<!ENTITY l0 "lol">{_LAUGHS}<!ENTITY e "&l9;">]>',
    "quadratic blow-up": lambda _: f'<!DOCTYPE x [<!ENTITY a "{"a" * 50_000}"><!ENTITY e "{"&a;" * 20_000}">]>',
    "reads a file": lambda trap: f'<!DOCTYPE x [<!ENTITY e SYSTEM "file://{trap.secret_file}">]>',
    "asks a server": lambda trap: f'<!DOCTYPE x [<!ENTITY e SYSTEM "{trap.url}/entity">]>',
    "declared elsewhere": lambda trap: f'<!DOCTYPE x SYSTEM "{trap.url}/x.dtd" [<!ENTITY e "x">]>',
    "parameter entity": lambda trap: f'<!DOCTYPE x [<!ENTITY % p SYSTEM "{trap.url}/p">%p;<!ENTITY e "x">]>',
}
# where text stands in each format: the part, and the text that the reference takes the place of
_PLACES = {
    ".docx": ("word/document.xml", "The limit is 64."),
    ".xlsx": ("xl/worksheets/sheet1.xml", "limit"),
    ".pptx": ("ppt/slides/slide1.xml", "The limit is 64."),
    ".odt": ("content.xml", "The limit is 64."),
    ".epub": ("OEBPS/1.xhtml", "The limit is 64."),
}


def entities() -> Iterator[Hostile]:
    for label in DECLARATIONS:
        for ending in _PLACES:
            yield made(f"xml in {ending}", label, f"a{ending}", _spoiling(ending, label))
        yield made("xml in .html", label, "a.html", _page(label))
        yield made(
            "xml in the package of a book", label, "a.epub", _spoiling(".epub", label, ("OEBPS/book.opf", "Limits"))
        )
        yield made("xml in a picture of a page", label, "a.html", _drawing(label))
    yield made("xml elsewhere", "style sheet", "a.html", _style_sheet)
    yield made("xml elsewhere", "linked template", "a.docx", _template)
    yield made("xml elsewhere", "pictures of a message", "a.eml", _tracking)


def _spoiling(ending: str, label: str, place: tuple[str, str] | None = None) -> Callable[[Trap], bytes]:
    name, text = place or _PLACES[ending]

    def build(trap: Trap) -> bytes:
        content = good_files()[ending]
        return with_part(content, name, _spoiled(part(content, name).decode(), text, DECLARATIONS[label](trap)))

    return build


def _spoiled(source: str, text: str, declaration: str) -> bytes:
    """The declaration behind the XML head, and a reference to the entity behind the text."""
    assert text in source
    head, end, body = source.partition("?>") if source.startswith("<?xml") else ("", "", source)
    return (head + end + declaration + body.replace(text, f"{text} &e;", 1)).encode()


def _page(label: str) -> Callable[[Trap], bytes]:
    page = '<?xml version="1.0"?>{}<html xmlns="http://www.w3.org/1999/xhtml"><body><p>text &e;</p></body></html>'
    return lambda trap: page.format(DECLARATIONS[label](trap)).encode()


def _drawing(label: str) -> Callable[[Trap], bytes]:
    from base64 import b64encode

    drawing = '<?xml version="1.0"?>{}<svg xmlns="http://www.w3.org/2000/svg"><text>&e;</text></svg>'
    return lambda trap: (
        b'<p>text</p><img alt="x" src="data:image/svg+xml;base64,'
        + b64encode(drawing.format(DECLARATIONS[label](trap)).encode())
        + b'">'
        + drawing.format("").encode()
    )


def _style_sheet(trap: Trap) -> bytes:
    return (
        f'<?xml-stylesheet type="text/xsl" href="{trap.url}/x.xsl"?><html><head><base href="{trap.url}/">'
        f'<link rel="stylesheet" href="{trap.url}/x.css"><meta http-equiv="refresh" content="0;url={trap.url}/"></head>'
        f'<body><p>text</p><img src="{trap.url}/x.png"><iframe src="file://{trap.secret_file}"></iframe>'
        f'<object data="{trap.url}/o"></object><xi:include href="file://{trap.secret_file}" parse="text"/>'
    ).encode()


def _template(trap: Trap) -> bytes:
    content = good_files()[".docx"]
    name = "word/_rels/document.xml.rels"
    link = (
        '<Relationship Id="rIdX" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/attachedTemplate"'
        f' Target="{trap.url}/t.dotx" TargetMode="External"/></Relationships>'
    )
    return with_part(content, name, part(content, name).replace(b"</Relationships>", link.encode()))


def _tracking(trap: Trap) -> bytes:
    return (
        "From: a@example.org\nContent-Type: text/html\n\n"
        f'<p>text</p><img src="{trap.url}/pixel.gif"><link rel="stylesheet" href="{trap.url}/x.css">'
    ).encode()
