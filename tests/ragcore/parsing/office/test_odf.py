from __future__ import annotations

import pytest

from ragcore.errors import CorruptDocumentError, PasswordProtectedError, UnsafeArchiveError
from ragcore.parsing import parse
from tests.ragcore.parsing.office_build import odf_bytes, png_bytes

NUMBERED = """<text:list-style style:name="L1">
<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>
<text:list-level-style-bullet text:level="2"/></text:list-style>"""


def blocks(content: bytes, name: str = "a.odt") -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in parse(content, name=name).blocks]


def test_headings_paragraphs_and_spaces_come_in_document_order():
    body = (
        '<text:h text:outline-level="2">Scope</text:h><text:p>One<text:s text:c="2"/>two<text:line-break/>three'
        "<text:span> and</text:span> four</text:p><text:section><text:p>Inside</text:p></text:section>"
    )

    document = parse(odf_bytes("text", body), name="a.odt")

    assert [(b.kind, b.level, b.text) for b in document.blocks] == [
        ("heading", 2, "Scope"),
        ("paragraph", 0, "One  two\nthree and four"),
        ("paragraph", 0, "Inside"),
    ]
    assert document.title == "Scope"


def test_lists_are_numbered_and_nested_as_their_style_says():
    body = (
        '<text:list text:style-name="L1"><text:list-item><text:p>first</text:p><text:list><text:list-item>'
        "<text:p>inner</text:p></text:list-item></text:list></text:list-item>"
        "<text:list-item><text:p>second</text:p></text:list-item></text:list>"
    )

    assert blocks(odf_bytes("text", body, styles=NUMBERED)) == [("list", "1. first\n  - inner\n2. second")]


def test_tables_fill_their_merged_cells():
    body = (
        "<table:table><table:table-row><table:table-cell><text:p>Area</text:p></table:table-cell>"
        '<table:table-cell table:number-columns-repeated="2"><text:p>Limit</text:p></table:table-cell>'
        "</table:table-row><table:table-row>"
        '<table:table-cell table:number-rows-spanned="2"><text:p>North</text:p></table:table-cell>'
        "<table:table-cell><text:p>1</text:p></table:table-cell><table:table-cell><text:p>2</text:p></table:table-cell>"
        "</table:table-row><table:table-row><table:covered-table-cell/><table:table-cell><text:p>3</text:p>"
        "</table:table-cell><table:table-cell><text:p>4</text:p></table:table-cell></table:table-row></table:table>"
    )

    assert blocks(odf_bytes("text", body)) == [
        ("table", "| Area | Limit | Limit |\n| --- | --- | --- |\n| North | 1 | 2 |\n| North | 3 | 4 |")
    ]


def test_deleted_text_remarks_and_contents_are_left_out_and_notes_come_last():
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>old</text:p></text:deletion>"
        "</text:changed-region></text:tracked-changes><text:table-of-content><text:index-body><text:p>Scope 1</text:p>"
        "</text:index-body></text:table-of-content><text:p>Text<office:annotation><text:p>remark</text:p>"
        "</office:annotation><text:note><text:note-citation>1</text:note-citation>"
        "<text:note-body><text:p>See B.</text:p></text:note-body></text:note> end</text:p>"
    )

    assert blocks(odf_bytes("text", body)) == [("paragraph", "Text[^1] end"), ("paragraph", "[^1]: See B.")]


def test_pictures_and_text_boxes_of_frames_are_read():
    body = (
        '<text:p><draw:frame text:anchor-type="as-char"><draw:image xlink:href="Pictures/a.png"/>'
        "<svg:desc>Antenna</svg:desc></draw:frame></text:p>"
        '<text:p>Beside<draw:frame text:anchor-type="paragraph"><draw:text-box><text:p>In the box</text:p>'
        "</draw:text-box></draw:frame></text:p>"
    )

    document = parse(odf_bytes("text", body, parts={"Pictures/a.png": png_bytes()}), name="a.odt")

    assert [(b.kind, b.text) for b in document.blocks] == [
        ("image", "![Antenna](picture:a.png)"),
        ("paragraph", "Beside"),
        ("paragraph", "In the box"),
    ]
    assert document.pictures[0].content == png_bytes()


def test_a_spreadsheet_skips_what_is_only_repeated_emptiness():
    body = (
        '<table:table table:name="Load"><table:table-row table:number-rows-repeated="3"><table:table-cell/>'
        '</table:table-row><table:table-row><table:table-cell table:number-columns-repeated="2"/><table:table-cell>'
        "<text:p>Site</text:p></table:table-cell><table:table-cell><text:p>Power</text:p></table:table-cell>"
        '<table:table-cell table:number-columns-repeated="16000"/></table:table-row><table:table-row>'
        '<table:table-cell table:number-columns-repeated="2"/><table:table-cell><text:p>x</text:p></table:table-cell>'
        "<table:table-cell><text:p>5.0 kW</text:p></table:table-cell></table:table-row>"
        '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row></table:table>'
    )

    assert blocks(odf_bytes("spreadsheet", body), "a.ods") == [
        ("heading", "Load"),
        ("table", "| Site | Power |\n| --- | --- |\n| x | 5.0 kW |"),
    ]


def test_a_presentation_is_read_slide_by_slide_with_its_notes():
    body = (
        '<draw:page><draw:frame presentation:class="title"><draw:text-box><text:p>Handover</text:p></draw:text-box>'
        "</draw:frame><draw:frame><draw:text-box><text:p>Body</text:p></draw:text-box></draw:frame>"
        '<draw:frame presentation:class="footer"><draw:text-box><text:p>Company</text:p></draw:text-box></draw:frame>'
        '<presentation:notes><draw:frame presentation:class="notes"><draw:text-box><text:p>Mind it.</text:p>'
        "</draw:text-box></draw:frame></presentation:notes></draw:page><draw:page><draw:frame><draw:text-box>"
        "<text:p>第二页</text:p></draw:text-box></draw:frame></draw:page>"
    )

    document = parse(odf_bytes("presentation", body), name="a.odp")

    assert [(b.kind, b.text, b.page) for b in document.blocks] == [
        ("heading", "Handover", 1),
        ("paragraph", "Body", 1),
        ("paragraph", "Notes: Mind it.", 1),
        ("heading", "第 2 页", 2),
        ("paragraph", "第二页", 2),
    ]
    assert (document.title, document.pages) == ("Handover", 2)


def test_an_encrypted_document_says_so():
    manifest = b"<manifest:manifest xmlns:manifest='m'><manifest:encryption-data/></manifest:manifest>"

    with pytest.raises(PasswordProtectedError):
        parse(odf_bytes("text", "", parts={"META-INF/manifest.xml": manifest}), name="a.odt")


def test_entities_are_refused():
    content = odf_bytes("text", "<text:p>x</text:p>", parts={"styles.xml": b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'})

    with pytest.raises(UnsafeArchiveError):
        parse(content, name="a.odt")


@pytest.mark.parametrize("name", ["a.odt", "a.ods", "a.odp"])
def test_a_document_of_another_program_is_corrupt(name):
    with pytest.raises(CorruptDocumentError):
        parse(odf_bytes("drawing", "<text:p>x</text:p>"), name=name)


def test_readings_do_not_cut_the_word_and_notes_stand_with_their_cells():
    ruby = "<text:ruby><text:ruby-base>{}</text:ruby-base><text:ruby-text>{}</text:ruby-text></text:ruby>"
    note = "<office:annotation><text:p>covered by He Jun</text:p></office:annotation>"
    first = "<table:table-row><table:table-cell><text:p>x</text:p></table:table-cell><table:table-cell>"
    cells = ("<text:p>a</text:p>", f"{note}<text:p>B</text:p>")
    rows = "".join(f"{first}{cell}</table:table-cell></table:table-row>" for cell in cells)
    sheet = f'<table:table table:name="S">{rows}</table:table>'

    assert blocks(odf_bytes("text", f"<text:p>{ruby.format('亳', 'bó')}{ruby.format('州', 'zhōu')}仓库</text:p>")) == [
        ("paragraph", "亳州仓库")
    ]
    assert blocks(odf_bytes("spreadsheet", sheet), "a.ods")[1][1].endswith("| x | B (covered by He Jun) |")


def test_raised_and_lowered_figures_are_told_apart():
    styles = "".join(
        f'<style:style style:name="{name}" style:family="text">'
        f'<style:text-properties style:text-position="{shift} 58%"/></style:style>'
        for name, shift in (("up", "super"), ("above", "33%"), ("down", "sub"), ("line", "0%"))
    )
    body = (
        '<text:p>10<text:span text:style-name="up">7</text:span> Ω, 8 m<text:span text:style-name="above">2</text:span>'
        ', H<text:span text:style-name="down">2</text:span>S, 10<text:span text:style-name="line">6</text:span> and '
        '3200<text:span text:style-name="up">4</text:span> parts</text:p>'
    )

    assert blocks(odf_bytes("text", body, styles=styles)) == [
        ("paragraph", "10^7 Ω, 8 m², H2S, 106 and 3200[^4] parts")
    ]


def test_words_that_are_struck_through_are_marked_so():
    style = (
        '<style:style style:name="old" style:family="text">'
        '<style:text-properties style:text-line-through-style="solid"/></style:style>'
    )
    body = '<text:p>limit <text:span text:style-name="old">40 W</text:span> 46 W</text:p>'

    assert blocks(odf_bytes("text", body, styles=style)) == [("paragraph", "limit ~~40 W~~ 46 W")]


def test_a_slide_with_nothing_on_it_leaves_nothing():
    page = "<draw:page><draw:frame><draw:text-box>%s</draw:text-box></draw:frame></draw:page>"
    body = page % "" + page % "<text:p>Hall 4</text:p>"

    assert blocks(odf_bytes("presentation", body), "a.odp") == [("heading", "Slide 2"), ("paragraph", "Hall 4")]
