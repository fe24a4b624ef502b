"""A file that is attached, dropped or pasted, quoted and removed, in a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.ragcore.ocr.drawing import drawn, encoded
from tests.scripted_llm import Reply

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db, pytest.mark.timeout(300)]
TEXT = "The daily allowance for Ravensburg is 34 euros. Receipts are sent to the travel desk within ten days."
DROP = """({ name, text }) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  document.querySelector("#main").dispatchEvent(
    new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }),
  );
}"""


@pytest.fixture(autouse=True)
def fresh_script(live_site):
    live_site.llm.default = Reply(texts=("The daily allowance is 34 euros [1].",))


def test_a_file_is_dropped_read_quoted_and_shown_beside_the_answer(open_page, live_site):
    page = open_page(live_site.reader)
    page.evaluate(DROP, {"name": "travel.md", "text": TEXT})
    file = page.locator("#attached > li")
    expect(file).to_have_attribute("data-state", "ready")

    page.locator("#question").fill("How high is the daily allowance for Ravensburg?")
    page.locator("#question").press("Enter")
    turn = page.locator(".turn").last
    expect(turn).to_have_attribute("data-state", "done")
    expect(turn.locator(".question-files")).to_contain_text("travel.md")
    turn.get_by_role("button", name="Share with colleagues").click()
    expect(page.locator("#share-warning")).to_have_text("Rests on your attached file: others will see nothing of it.")
    page.keyboard.press("Escape")
    turn.locator(".cite").first.click()

    panel = page.locator("#evidence")
    expect(panel).to_contain_text("Only you can read this file")
    expect(panel.locator("mark").first).to_contain_text("34 euros")
    with page.expect_download() as saved:
        panel.get_by_role("link", name="Save the file").click()
    assert saved.value.suggested_filename == "travel.md"

    page.reload()
    expect(file).to_have_attribute("data-state", "ready")
    file.get_by_role("button", name="Remove travel.md").click()
    expect(file).to_have_count(0)
    page.reload()
    expect(file).to_have_count(0)


def test_a_picture_from_the_picker_is_asked_about_before_it_has_been_read(open_page, live_site, tmp_path):
    live_site.llm.default = Reply(texts=("The pump is replaced on 14 March [1].",))
    path = tmp_path / "notice.png"
    path.write_bytes(encoded(drawn([(20, 40, "The pump P-12 is replaced on 14 March.")])))
    page = open_page(live_site.reader)
    with page.expect_file_chooser() as picker:
        page.locator("#attach").click()
    picker.value.set_files(path)
    page.locator("#question").fill("Summarise this file")
    page.locator("#question").press("Enter")

    turn = page.locator(".turn").last
    expect(turn).to_have_attribute("data-state", "done")
    expect(turn.locator(".question-files")).to_contain_text("notice.png")
    expect(turn.locator(".turn-sources .source")).to_have_count(1)
    expect(turn.locator(".turn-sources .source")).to_contain_text("notice.png")
    turn.locator(".cite").first.click()
    expect(page.locator("#evidence")).to_contain_text("14 March")


def test_a_file_that_cannot_be_read_says_why_and_does_not_hinder(open_page, live_site):
    page = open_page(live_site.reader)
    chosen = [
        {"name": "broken.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.7 nothing"},
        {"name": "virus.exe", "mimeType": "application/octet-stream", "buffer": b"MZ"},
    ]
    page.locator("#attach-input").set_input_files(chosen)  # type: ignore[arg-type]

    files = page.locator("#attached > li")
    for at in range(2):
        expect(files.nth(at)).to_have_attribute("data-state", "failed")
        expect(files.nth(at).locator(".attached-state")).not_to_be_empty()
    page.locator("#question").fill("Is anything there?")
    page.locator("#question").press("Enter")
    expect(page.locator(".turn").last).to_have_attribute("data-state", "done")
