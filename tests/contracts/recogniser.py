"""What every TextRecogniser must do. Subclass as TestX with a fixture `recogniser`."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from ragcore.types import Pixels
from tests.ragcore.ocr.drawing import cjk_font, drawn, pixels_of

TWO_LINES = pixels_of(drawn([(20, 20, "Replace the fan unit first"), (20, 90, "Then restart the station")]))
BLANK = Pixels(width=200, height=80, channels=1, data=b"\xff" * 16_000)


class RecogniserContract:
    def test_it_has_a_name(self, recogniser):
        assert recogniser.name

    def test_lines_come_from_top_to_bottom_with_their_places(self, recogniser):
        lines = recogniser.recognise(TWO_LINES)

        assert [line.text.replace(" ", "") for line in lines] == ["Replacethefanunitfirst", "Thenrestartthestation"]
        for line, top in zip(lines, (20, 90), strict=True):
            assert 0.8 < line.score <= 1
            assert abs(line.x0 - 20) < 15
            assert abs((line.y0 + line.y1) / 2 - (top + 16)) < 12

    def test_a_picture_without_text_gives_no_lines(self, recogniser):
        assert recogniser.recognise(BLANK) == []

    def test_colours_are_read_like_grey(self, recogniser):
        coloured = Pixels(
            width=TWO_LINES.width,
            height=TWO_LINES.height,
            channels=3,
            data=b"".join(bytes((value,)) * 3 for value in TWO_LINES.data),
        )

        assert [line.text for line in recogniser.recognise(coloured)] == [
            line.text for line in recogniser.recognise(TWO_LINES)
        ]

    @pytest.mark.skipif(cjk_font() is None, reason="no font with Chinese characters is installed")
    def test_chinese_is_read(self, recogniser):
        lines = recogniser.recognise(pixels_of(drawn([(20, 60, "基站退服后先检查电源模块")], size=32)))

        assert [line.text for line in lines] == ["基站退服后先检查电源模块"]

    def test_threads_get_what_one_thread_gets(self, recogniser):
        with ThreadPoolExecutor(3) as pool:
            read = list(pool.map(recogniser.recognise, [TWO_LINES, BLANK, TWO_LINES]))

        assert read[0] == read[2]
        assert read[1] == []
        assert len(read[0]) == 2

    def test_a_size_that_does_not_fit_the_data_is_refused(self, recogniser):
        with pytest.raises(ValueError, match="do not agree"):
            recogniser.recognise(Pixels(width=10, height=10, channels=1, data=b"short"))
