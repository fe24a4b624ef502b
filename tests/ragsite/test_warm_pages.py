"""Templates are read before the first page asks for them."""

from django.template import engines
from django.template.loader import get_template

from ragsite.warm_pages import FOLDER, warm_pages


def test_every_template_is_read_and_kept():
    read = warm_pages()

    assert read == len(list(FOLDER.rglob("*.html")))
    kept = engines["django"].engine.template_loaders[0].get_template_cache
    assert {"chat/turn.html", "chat/found.html", "admin/base.html"} <= {key.split("-")[0] for key in kept}
    assert get_template("chat/turn.html").template is kept["chat/turn.html"]
