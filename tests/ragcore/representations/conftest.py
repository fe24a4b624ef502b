import pytest

from ragcore.text.tokenise import JiebaTokenizer
from tests.ragcore.chunking.counting import SimpleCounter


@pytest.fixture(scope="session")
def tokenizer():
    return JiebaTokenizer()


@pytest.fixture(scope="session")
def counter():
    return SimpleCounter()
