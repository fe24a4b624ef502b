"""The owner's desk in a real browser: drop files, follow them, look at them, correct a passage."""

from __future__ import annotations

import re
from io import BytesIO
from zipfile import ZipFile

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]

UPLOAD = "/admin/knowledge/document/upload/"
OPENING = "The relief valve opens at 7 bar."
CHAPTERS = (
    (
        "1 Relief valve",
        f"{OPENING} A spring holds the disc on its seat until the force of the steam is greater than its own.",
        "The opening pressure is set in the works with a calibrated gauge. The setting screw is secured with a lead "
        "seal; a valve without its seal must not be put into operation.",
        "The valve closes again at 6.3 bar. Between both pressures it may flutter, which wears the seat and is heard "
        "as a low hum. Fluttering for more than a minute is reported to the plant manager.",
        "The outlet leads into the open through a pipe of at least 40 mm. The pipe falls away from the valve, so that "
        "condensate cannot stand on the disc and freeze.",
    ),
    (
        "2 Yearly inspection",
        "Once a year the valve is lifted by hand at four fifths of the working pressure. It must close without leaking "
        "within three seconds after the lever has been released.",
        "Leaking seats are ground with paste of grain 400 and washed with spirit. The depth of the seat is measured "
        "before and after; below 2.1 mm the valve is replaced.",
        "The result is entered in the log of the boiler with the date, the pressure at which the valve opened, the "
        "name of the inspector and the number of the gauge.",
        "Spare valves are stored dry, with caps on both flanges. After five years in store they are tested like valves "
        "that were in operation.",
    ),
)
PAGES = [
    "/admin/",
    "/admin/knowledge/knowledgeset/",
    UPLOAD,
    "/admin/knowledge/ingestitem/?progress=all",
    "/admin/knowledge/ingestjob/",
    "/admin/knowledge/document/?hands=all",
    "/admin/knowledge/duplicatepair/",
    "/admin/knowledge/knowledgeset/site-options/",
]


def valve_pdf() -> bytes:
    """A chapter a page, so that passages and pages can be told apart."""
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate

    styles = getSampleStyleSheet()
    styles["BodyText"].fontSize, styles["BodyText"].leading, styles["BodyText"].spaceAfter = 12, 17, 10
    flow = []
    for heading, *paragraphs in CHAPTERS:
        flow += [Paragraph(heading, styles["Heading1"]), *(Paragraph(text, styles["BodyText"]) for text in paragraphs)]
        flow.append(PageBreak())
    out = BytesIO()
    SimpleDocTemplate(out, title="Valve").build(flow)
    return out.getvalue()


def choose(page: Page, live_site) -> None:
    page.goto(f"{live_site.url}{UPLOAD}")
    page.get_by_label("3GPP specifications").check()


def drop(page: Page, name: str, content: bytes) -> None:
    """What a browser does when files are dropped, with a file that the page makes itself."""
    page.locator("[data-drop]").evaluate(
        """(drop, [name, codes]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([new Uint8Array(codes)], name));
            drop.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
        }""",
        [name, list(content)],
    )


def row(page: Page, words: str):
    return page.locator("#live-recent .rs-item", has_text=words)


def found(page: Page, query: str) -> str:
    """The best passage for a search of this person."""
    return page.evaluate(
        """async (query) => {
            const token = document.querySelector("[name=csrfmiddlewaretoken]").value;
            const answer = await fetch("/api/v1/rag/retrieve", {
                method: "POST",
                headers: { "Content-Type": "application/json", "X-CSRFToken": token },
                body: JSON.stringify({ query, top_k: 1 }),
            });
            return (await answer.json()).hits[0].content;
        }""",
        query,
    )


@pytest.fixture
def valve(open_page, live_site) -> Page:
    """The page of a document that was dropped and went through the real pipeline."""
    page = open_page()
    choose(page, live_site)
    if not row(page, "valve.pdf").count():
        drop(page, "valve.pdf", valve_pdf())
    expect(row(page, "valve.pdf").first).to_have_attribute("data-state", "live")
    row(page, "valve.pdf").first.locator(".rs-item-name a").click()
    expect(page.locator(".rs-document")).to_be_visible()
    return page


def test_a_dropped_file_is_followed_until_it_is_live_and_its_passage_is_corrected(open_page, live_site, picture):
    page = open_page()
    choose(page, live_site)

    drop(page, "valve.pdf", valve_pdf())

    expect(row(page, "valve.pdf")).to_have_attribute("data-state", "live")
    expect(page.locator("[data-files] .rs-item")).to_have_count(0)
    page.locator("#live-recent").scroll_into_view_if_needed()
    picture(page, "desk-upload.png", colours=128)
    row(page, "valve.pdf").locator(".rs-item-name a").click()

    passage = page.locator(".rs-passage-card").first
    expect(page.locator(".rs-sheet img")).to_be_visible()
    expect(passage).to_contain_text(OPENING)
    passage.get_by_text("Edit", exact=True).click()
    passage.locator("textarea[name=text]").fill("The relief valve opens at **eleven** bar since the retrofit.")
    passage.locator("[data-preview-button]").click()
    expect(passage.locator("[data-preview] strong")).to_have_text("eleven")
    passage.get_by_role("button", name="Save").first.click()

    edited = page.locator(".rs-passage-card").first
    expect(edited.locator(".rs-passage-text")).to_contain_text("eleven bar since the retrofit")
    expect(edited.locator(".rs-edited")).to_contain_text(re.compile("Edited by Wei Lin|Edited by Lin Wei"))
    assert "eleven" in found(page, "relief valve retrofit eleven bar")

    edited.locator(".rs-edited").get_by_role("button", name="Undo").click()
    expect(page.locator(".rs-passage-card").first).to_contain_text(OPENING)
    assert "eleven" not in found(page, "relief valve retrofit eleven bar")


def test_uploads_are_still_there_after_a_reload(valve, live_site):
    valve.goto(f"{live_site.url}{UPLOAD}")

    expect(row(valve, "valve.pdf").first).to_have_attribute("data-state", "live")
    expect(valve.locator("#live-recent [data-part=summary]")).to_contain_text("searchable")


def test_a_file_that_cannot_be_read_says_why_with_its_code(open_page, live_site):
    page = open_page()
    choose(page, live_site)

    drop(page, "broken.pdf", b"%PDF-1.7 nothing follows")
    drop(page, "tune.xyz", b"?")

    broken = row(page, "broken.pdf")
    expect(broken).to_have_attribute("data-state", "failed")
    expect(broken.locator("[data-code=corrupt_document]")).to_be_visible()
    expect(broken.get_by_role("button", name="Try again").first).to_be_visible()
    refused = page.locator("[data-files] .rs-item", has_text="tune.xyz")
    expect(refused.locator("[data-code=unsupported_format]")).to_contain_text("Files of the kind .xyz are not read.")
    expect(refused.locator("[data-code=unsupported_format]")).to_contain_text("subtitles, Word")


def test_the_sets_of_the_last_upload_are_ticked_and_no_others(open_page, live_site):
    page = open_page(at=UPLOAD)
    expect(page.locator("input[name=sets]:checked")).to_have_count(0)
    page.get_by_label("3GPP specifications").check()
    drop(page, "gauge.md", b"# Gauge\n\nThe gauge shows the depth of rain.")
    expect(row(page, "gauge.md")).to_have_attribute("data-state", "live")

    page.reload()

    expect(page.locator("input[name=sets]:checked")).to_have_count(1)
    expect(page.get_by_label("3GPP specifications")).to_be_checked()


def test_nothing_is_sent_before_a_set_is_chosen(open_page):
    page = open_page(at=UPLOAD)

    drop(page, "note.md", b"# Note\n\nText.")

    hint = page.locator("[data-sets-hint]")
    expect(hint).to_have_text("Choose at least one knowledge set. The files are kept and sent then.")
    expect(page.locator("input[name=sets]").first).to_be_focused()
    expect(page.locator("[data-files] .rs-item")).to_have_count(0)

    page.locator("label.rs-choice").first.click()

    expect(page.locator("#live-recent .rs-item", has_text="note.md").first).to_be_visible()
    expect(hint).to_be_empty()


def test_a_folder_is_taken_with_what_lies_below_it(open_page, live_site, tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "one.md").write_text("# One\n\nThe first note about anemometers.", encoding="utf-8")
    (tmp_path / "deep" / "two.md").write_text("# Two\n\nThe second note about barometers.", encoding="utf-8")
    (tmp_path / ".hidden").write_text("not meant", encoding="utf-8")
    page = open_page()
    choose(page, live_site)

    with page.expect_file_chooser() as chooser:
        page.locator("[data-folder]").click()
    chooser.value.set_files(tmp_path)

    for name in ("one.md", "two.md"):
        expect(row(page, name)).to_have_attribute("data-state", "live")
    expect(page.locator(".rs-item", has_text=".hidden")).to_have_count(0)


def test_an_archive_is_unpacked_and_what_is_not_taken_is_named(open_page, live_site):
    out = BytesIO()
    with ZipFile(out, "w") as archive:
        archive.writestr("radio/antenna.md", "# Antenna\n\nThe antenna is tilted by four degrees.")
        archive.writestr("radio/firmware.bin", b"\x00\x01")
    page = open_page()
    choose(page, live_site)

    drop(page, "radio.zip", out.getvalue())

    expect(row(page, "antenna.md")).to_have_attribute("data-state", "live")
    refused = page.locator("[data-files] .rs-item", has_text="radio.zip")
    expect(refused).to_contain_text("Rejected files: 1")
    refused.get_by_role("link", name="Open").click()
    expect(page.locator("[data-part=refused]")).to_contain_text("radio/firmware.bin")
    expect(page.locator("[data-part=refused] [data-code]")).to_have_attribute("data-code", "unsupported_format")


def test_passages_and_their_places_on_the_page_point_to_each_other(valve, picture):
    card = valve.locator(".rs-passage-card").first
    ordinal = card.get_attribute("data-passage")
    box = valve.locator(f".rs-left rect[data-passage='{ordinal}']").first

    card.locator("[data-show]").click()
    expect(box).to_have_attribute("data-chosen", "")
    picture(valve, "desk-document.png", colours=128)

    valve.locator(".rs-left rect").last.click()
    last = valve.locator(".rs-left rect").last.get_attribute("data-passage")
    expect(valve.locator(f".rs-passage-card[data-passage='{last}']")).to_have_attribute("data-chosen", "")


def test_the_page_of_a_document_is_dark_where_the_reader_is_and_paper_stays_white(open_page, valve, picture):
    page = open_page(color_scheme="dark")
    page.goto(valve.url)

    expect(page.locator(".rs-sheet img")).to_be_visible()
    luminance = "element => getComputedStyle(element).backgroundColor.match(/[\\d.]+/g).slice(0, 3).map(Number)"
    paper, card = (page.locator(name).first.evaluate(luminance) for name in (".rs-sheet img", ".rs-passage-card"))
    picture(page, "desk-document-dark.png", colours=128)

    assert (paper, paper > card) == ([255, 255, 255], True)


def test_a_wide_table_scrolls_in_its_passage_and_keeps_its_words_whole(open_page, live_site):
    columns = range(24)
    lines = [
        [f"Measurement{n}" for n in columns],
        ["---" for _n in columns],
        *([str(n * k) for n in columns] for k in (1, 2)),
    ]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    page = open_page(width=1280)
    choose(page, live_site)
    drop(page, "wide.md", f"# Wide\n\n{table}\n".encode())
    expect(row(page, "wide.md")).to_have_attribute("data-state", "live")
    row(page, "wide.md").locator(".rs-item-name a").click()

    cell = page.locator(".rs-passage-card th").first
    expect(cell).to_be_visible()

    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    assert cell.evaluate("cell => cell.getClientRects()[0].height") < 60  # one line, not a letter a line


def test_what_came_of_a_button_is_told_where_the_reader_is(open_page, live_site):
    page = open_page(width=1280)
    choose(page, live_site)
    drop(page, "torn.pdf", b"%PDF-1.7 torn")
    expect(row(page, "torn.pdf")).to_have_attribute("data-state", "failed")

    row(page, "torn.pdf").get_by_role("button", name="Try again", exact=True).click()

    expect(page.locator("[data-told]")).to_have_text("The document is being retried.")
    expect(page.locator("[data-told]")).to_be_in_viewport()


def test_pages_are_turned_and_lead_to_their_passages(valve):
    expect(valve.locator(".rs-pager")).to_contain_text("/ 2")

    valve.get_by_role("link", name="Next").click()

    expect(valve.locator(".rs-sheet img")).to_have_attribute("alt", "Page 2 of the original")
    expect(valve.locator(".rs-right")).to_contain_text("Once a year the valve is lifted by hand")


def test_a_rebuilt_document_is_followed_and_its_versions_are_compared(valve):
    valve.get_by_role("button", name="Re-process with current settings").click()
    valve.get_by_role("link", name="Done. Show the current document.").click()
    expect(valve.locator(".rs-document-head")).to_contain_text("version 2")
    valve.get_by_role("link", name="Versions").click()
    valve.get_by_role("button", name="Compare").click()

    expect(valve.locator("[role=status]").first).to_contain_text("0 added")
    expect(valve.locator(".rs-diff-skip").first).to_be_visible()


def test_the_configuration_shows_origins_and_what_would_change(open_page, picture):
    page = open_page(at="/admin/knowledge/knowledgeset/")
    page.get_by_role("link", name="Settings: 3GPP specifications").click()
    field = page.locator("[name='chunking.max_tokens']")

    field.fill("5")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".rs-option[data-wrong]")).to_have_count(1)
    page.locator("[name='chunking.max_tokens']").fill("600")
    page.get_by_role("button", name="Save").click()
    line = page.locator(".rs-option", has=page.locator("[name='chunking.max_tokens']"))
    expect(line.locator(".rs-origin")).to_have_text("600 (set here)")
    picture(page, "desk-options.png", colours=128)
    line.get_by_role("button", name="Reset").click()
    expect(line.locator(".rs-origin")).to_contain_text("(default)")

    page.get_by_role("link", name="Preview chunking").click()
    page.locator("[name='chunking.max_tokens']").fill("120")
    page.locator("[name='chunking.min_tokens']").fill("64")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("button", name=re.compile("Apply and re-process"))).to_be_visible()
    picture(page, "desk-preview.png", colours=128)


def test_the_sets_stand_on_their_axes(open_page, picture):
    page = open_page(width=1280, at="/admin/knowledge/knowledgeset/")

    expect(page.locator(".rs-axis h2")).to_have_count(3)
    expect(page.locator(".rs-health").first).to_be_visible()
    picture(page, "desk-sets.png", colours=128)


def test_the_upload_page_is_used_by_keyboard_alone(open_page):
    page = open_page(at=UPLOAD)
    page.locator("input[name=sets]").first.focus()

    page.keyboard.press("Space")
    expect(page.locator("input[name=sets]").first).to_be_checked()
    with page.expect_file_chooser():  # asked for before the key, and answered by the page: keys take a shorter way
        page.locator("[data-drop] input").focus()
        outline = page.locator("[data-drop]").evaluate("drop => getComputedStyle(drop).outlineStyle")
        page.keyboard.press("Enter")

    assert outline == "solid"


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.full), "dark"])
def test_no_page_of_the_desk_is_wider_than_a_telephone(open_page, live_site, valve, scheme):
    document = valve.url
    page = open_page(width=390, height=844, color_scheme=scheme)

    for address in [*PAGES, document.removeprefix(live_site.url)]:
        page.goto(f"{live_site.url}{address}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address
