"""Which language of the interface fits a person's."""

from __future__ import annotations

import pytest

from accounts.languages import interface_language


@pytest.mark.parametrize(
    ("locale", "language"),
    [
        *(("zh-CN", "zh-hans"), ("zh_Hans", "zh-hans"), ("zh", "zh-hans"), ("en-US", "en"), ("EN", "en")),
        *(("", None), ("fr-FR", None), ("nonsense of somebody", None), ("../en", None), ("x" * 64, None)),
    ],
)
def test_a_locale_means_a_language_of_the_interface_or_none(locale, language):
    assert interface_language(locale) == language
