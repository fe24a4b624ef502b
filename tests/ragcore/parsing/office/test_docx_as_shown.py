"""What Word shows and its text alone does not say: raised figures, numbers of lists, boxes, readings, headers."""

from __future__ import annotations

import re
from io import BytesIO
from zipfile import ZipFile

import pytest

from ragcore.parsing import parse
from ragcore.parsing.number_words import number_text
from tests.ragcore.parsing.build import W, docx_bytes, part, with_part
from tests.ragcore.parsing.office_build import png_bytes, zip_bytes

STRICT = {
    b"http://schemas.openxmlformats.org/wordprocessingml/2006/main": b"http://purl.oclc.org/ooxml/wordprocessingml/main",
    b"http://schemas.openxmlformats.org/officeDocument/2006/relationships": (
        b"http://purl.oclc.org/ooxml/officeDocument/relationships"
    ),
}

PICTURE = (
    '<w:r><w:drawing><a:blip xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" r:embed="rId99"/>'
    "</w:drawing></w:r>"
)


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def with_body(*paragraphs: str, numbering: str = "", parts: dict[str, bytes] | None = None) -> bytes:
    """A Word file of these paragraphs (the inside of <w:p>), with list definitions and further parts."""
    content = docx_bytes(lambda document: document.add_paragraph("x"))
    body = "".join(
        f"<w:p>{paragraph}</w:p>" if not paragraph.startswith("<w:altChunk") else paragraph for paragraph in paragraphs
    )
    document = re.sub(
        rb"<w:body>.*?(?=<w:sectPr)",
        lambda _: b"<w:body>" + body.encode(),
        part(content, "word/document.xml"),
        flags=re.DOTALL,
    )
    content = with_part(content, "word/document.xml", document)
    if numbering:
        content = with_part(content, "word/numbering.xml", f"<w:numbering {W}>{numbering}</w:numbering>".encode())
    if parts:
        content = with_more(content, parts)
    return content


def with_more(content: bytes, parts: dict[str, bytes]) -> bytes:
    with ZipFile(BytesIO(content)) as archive:
        return zip_bytes({name: archive.read(name) for name in archive.namelist()} | parts)


def related(content: bytes, **targets: tuple[str, str]) -> bytes:
    """The file with more relationships of its main part: id -> kind and target."""
    links = "".join(
        f'<Relationship Id="{key}" Target="{target}" '
        f'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}"/>'
        for key, (kind, target) in targets.items()
    )
    name = "word/_rels/document.xml.rels"
    return with_part(
        content, name, part(content, name).replace(b"</Relationships>", links.encode() + b"</Relationships>")
    )


def texts(content: bytes) -> list[str]:
    return [block.text for block in parse(content, name="a.docx").blocks]


def test_a_raised_figure_is_no_digit_of_the_one_before_it():
    raised = '<w:vertAlign w:val="superscript"/>'
    lifted = '<w:position w:val="8"/>'

    assert texts(
        with_body(
            run("不低于 10") + run("9", raised) + run(" Ω"),
            run("每批 2400") + run("3", raised) + run(" 米"),
            run("V=10") + run("-3", lifted) + run(" m") + run("3", lifted),
            run("SF") + run("6", '<w:vertAlign w:val="subscript"/>'),
        )
    ) == ["不低于 10^9 Ω", "每批 2400[^3] 米", "V=10^-3 m³", "SF6"]


def test_readings_above_characters_do_not_cut_the_word():
    def ruby(base: str, reading: str) -> str:
        return f"<w:r><w:ruby><w:rt>{run(reading)}</w:rt><w:rubyBase>{run(base)}</w:rubyBase></w:ruby></w:r>"

    assert texts(
        with_body(ruby("亳", "bó") + ruby("州", "zhōu") + run("仓库"), ruby("東京", "とうきょう") + run("支店"))
    ) == [
        "亳州仓库",
        "東京（とうきょう）支店",
    ]


def test_old_form_fields_say_whether_they_are_ticked_and_what_was_chosen():
    def field(data: str) -> str:
        return (
            f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{data}</w:ffData></w:fldChar></w:r>'
            '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
        )

    box = '<w:checkBox><w:default w:val="{}"/>{}</w:checkBox>'
    choice = '<w:ddList><w:result w:val="1"/><w:listEntry w:val="low"/><w:listEntry w:val="high"/></w:ddList>'
    boxes = [(0, ""), (0, "<w:checked/>"), (1, ""), (1, '<w:checked w:val="0"/>')]

    (line,) = texts(with_body("".join(field(box.format(*state)) + run(" x ") for state in boxes) + field(choice)))

    assert line == "☐ x ☒ x ☒ x ☐ x high"


def test_letters_of_symbol_fonts_are_what_they_show():
    marks = '<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>' + run(" yes ", "")
    font = '<w:rFonts w:ascii="Symbol" w:hAnsi="Symbol"/>'

    assert texts(with_body(marks + run("10 ") + run("W", font))) == ["☑ yes 10 Ω"]


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        ("decimalEnclosedCircle", "①②㉑"),
        ("chineseLegalSimplified", "壹贰贰拾壹"),
        ("ideographTraditional", "甲乙21"),
        ("ideographDigital", "一二二一"),
        ("ideographZodiac", "子丑21"),
        ("ordinalText", "FirstSecondTwenty-first"),
        ("cardinalText", "OneTwoTwenty-one"),
        ("ordinal", "1st2nd21st"),
        ("upperRoman", "IIIXXI"),
        ("aiueo", "アイナ"),
        ("decimalFullWidth", "１２２１"),
        ("001, 002, 003, ...", "001002021"),
    ],
)
def test_numbers_stand_in_the_format_of_their_list(kind, numbers):
    assert "".join(number_text(value, kind) for value in (1, 2, 21)) == numbers


def level(depth: int, kind: str, text: str, more: str = "") -> str:
    begins = f'<w:lvl w:ilvl="{depth}"><w:start w:val="1"/><w:numFmt w:val="{kind}"/>'
    return f'{begins}{more}<w:lvlText w:val="{text}"/></w:lvl>'


def item(text: str, depth: int = 0, number: int = 7) -> str:
    numbered = f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr>'
    return f"<w:pPr>{numbered}</w:pPr>{run(text)}"


def definition(key: int, levels: str, *, number: int | None = 7) -> str:
    return f'<w:abstractNum w:abstractNumId="{key}">{levels}</w:abstractNum>' + (
        f'<w:num w:numId="{number}"><w:abstractNumId w:val="{key}"/></w:num>' if number else ""
    )


def test_a_legal_level_counts_all_levels_in_digits():
    levels = level(0, "upperRoman", "Article %1") + level(1, "decimal", "%1.%2", "<w:isLgl/>")

    (found,) = texts(with_body(item("a"), item("b"), item("c", 1), numbering=definition(3, levels)))

    assert found == "Article I a\nArticle II b\n  2.1 c"


def test_a_number_without_a_gap_stands_at_its_text():
    levels = level(0, "chineseCountingThousand", "第%1步：", '<w:suff w:val="nothing"/>')

    assert texts(with_body(item("断电"), item("挂牌"), numbering=definition(3, levels))) == [
        "第一步：断电\n第二步：挂牌"
    ]


def test_a_level_that_never_restarts_counts_on():
    levels = level(0, "decimal", "%1.") + level(1, "lowerLetter", "%2)", '<w:lvlRestart w:val="0"/>')

    (found,) = texts(with_body(item("a"), item("b", 1), item("c"), item("d", 1), numbering=definition(3, levels)))

    assert found == "1. a\n  a) b\n2. c\n  b) d"


def test_a_list_style_stands_for_the_levels_of_its_definition():
    styled = definition(1, '<w:styleLink w:val="Points"/>' + level(0, "decimalEnclosedCircle", "%1"), number=1)
    linked = definition(2, '<w:numStyleLink w:val="Points"/>')

    assert texts(with_body(item("a"), item("b"), numbering=styled + linked)) == ["① a\n② b"]


def test_a_missing_part_costs_itself_only():
    content = with_body(run("The oil is L-HM46.") + PICTURE)

    for target in ("NULL", "media/gone.png", "../../../nowhere"):
        assert texts(related(content, rId99=("image", target))) == ["The oil is L-HM46."]


def test_a_picture_under_a_name_in_other_letters_is_found():
    content = with_body(PICTURE, parts={"word/Media/Image1.PNG": png_bytes()})

    assert parse(related(content, rId99=("image", "media/image1.png")), name="a.docx").pictures


def test_broken_styles_and_lists_cost_their_looks_only():
    content = with_part(with_body(run("text"), numbering=" "), "word/styles.xml", b"<w:styles")

    assert texts(content) == ["text"]


def test_the_strict_form_of_the_standard_is_read():
    content = with_body(run("strict text"))
    for name in ("word/document.xml", "word/_rels/document.xml.rels", "_rels/.rels", "word/styles.xml"):
        data = part(content, name)
        for usual, strict in STRICT.items():
            data = data.replace(usual, strict)
        content = with_part(content, name, data)

    assert texts(content) == ["strict text"]


def test_what_page_headers_say_of_the_document_is_an_attribute_and_said_once():
    first = f"{run('文件编号：QP-07')}<w:r><w:tab/></w:r>{run('版本：B/2')}"
    header = f"<w:hdr {W}><w:p>{first}</w:p><w:p>{run('第 1 页')}</w:p></w:hdr>"
    footer = (
        f"<w:ftr {W}><w:tbl><w:tr><w:tc><w:p>{run('生效日期')}</w:p></w:tc>"
        f"<w:tc><w:p>{run('2026-03-01')}</w:p></w:tc></w:tr></w:tbl></w:ftr>"
    )
    content = with_body(run("正文。"), parts={"word/header9.xml": header.encode(), "word/footer9.xml": footer.encode()})

    document = parse(related(content, rId8=("header", "header9.xml"), rId9=("footer", "footer9.xml")), name="a.docx")

    assert {key: document.metadata.get(key) for key in ("document_number", "version", "date")} == {
        "document_number": "QP-07",
        "version": "B/2",
        "date": "2026-03-01",
    }
    assert [block.text for block in document.blocks] == ["文件编号：QP-07；版本：B/2；生效日期：2026-03-01", "正文。"]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("chunk.html", b"<html><body><h1>Inside</h1><p>Valve K9 stays shut.</p></body></html>"),
        (
            "chunk.mht",
            b"MIME-Version: 1.0\nContent-Type: multipart/related; boundary=B\n\n"
            b"--B\nContent-Type: text/html; charset=utf-8\n\n"
            b"<h1>Inside</h1><p>Valve K9 stays shut.</p>\n--B--\n",
        ),
    ],
)
def test_an_embedded_web_page_is_part_of_the_text(name, data):
    content = with_body(run("before"), '<w:altChunk r:id="rId50"/>', run("behind"), parts={f"word/{name}": data})

    assert texts(related(content, rId50=("aFChunk", name))) == ["before", "Inside", "Valve K9 stays shut.", "behind"]


def test_words_that_are_struck_through_are_marked_so():
    struck = "<w:strike/>"

    assert texts(
        with_body(
            run("上限 ") + run("40 ", struck) + run("dBm", "<w:dstrike/>") + run(" 46 dBm"),
            run("整段作废。", struck),
            run("from ")
            + run("-40 V", struck)
            + run(" at ")
            + run("12 %", struck)
            + run(" 限值")
            + run("-3 V", struck),
            run("still valid", '<w:strike w:val="0"/>') + run("。", struck),
        )
    ) == ["上限 ~~40 dBm~~ 46 dBm", "~~整段作废~~。", "from ~~-40 V~~ at ~~12 %~~ 限值 ~~-3 V~~", "still valid。"]
