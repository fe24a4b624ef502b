from ragcore.representations.derived_texts import image_captions, markdown_blocks

IMAGE = "![A mast with three antennas](picture:p1.png)"


def captions(text: str) -> list[str]:
    return image_captions(markdown_blocks(text))


def test_a_caption_has_description_figure_line_and_the_sentences_around():
    text = f"First. The mast is steel.\n\n{IMAGE}\n\nFigure 2: Mast in Ulm\n\nIt is checked yearly. By whom?"

    assert captions(text) == [
        "A mast with three antennas\nFigure 2: Mast in Ulm\nThe mast is steel.\nIt is checked yearly."
    ]


def test_a_figure_line_above_counts_where_none_is_below():
    assert captions(f"图 1 铁塔\n\n{IMAGE}\n\n铁塔很高。很重。") == [
        "A mast with three antennas\n图 1 铁塔\n铁塔很高。"
    ]


def test_file_names_and_placeholders_are_no_description():
    for alt in ("image1.png", "Picture 3", "", "图片 2", "IMG_0012.JPG"):
        assert captions(f"The mast.\n\n![{alt}](picture:x.png)") == ["The mast."]


def test_an_image_about_which_nothing_is_said_has_no_caption():
    assert captions("![](picture:x.png)") == []
    assert captions("Before.\n\n## Heading\n\n![](picture:x.png)\n\n## Next\n\nAfter.") == []


def test_text_that_was_read_from_the_picture_belongs_to_its_caption():
    assert captions("![](picture:x.png)\nRRC CONNECTED\nRRC IDLE") == ["RRC CONNECTED RRC IDLE"]


def test_each_image_has_its_own_caption():
    text = "One.\n\n![first](picture:a.png)\n\n![second](picture:b.png)\n\nTwo."

    assert captions(text) == ["first\nOne.\nTwo.", "second\nOne.\nTwo."]
