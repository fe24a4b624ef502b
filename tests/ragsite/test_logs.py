"""What a log says, and what it must not say."""

import logging
import sys

import structlog

from ragsite.celery import app as celery


def test_a_traceback_does_not_show_the_values_of_variables():
    (formatter,) = {
        handler.formatter
        for handler in logging.getLogger().handlers
        if isinstance(handler.formatter, structlog.stdlib.ProcessorFormatter)
    }
    key = "-".join(["rs", "secret"])
    try:
        raise RuntimeError(f"failed after {len(key)} characters")
    except RuntimeError:
        record = logging.LogRecord("tests", logging.ERROR, __file__, 1, "fault", (), sys.exc_info())

    text = formatter.format(record)

    assert "failed after 9 characters" in text
    assert "test_logs.py" in text
    assert key not in text


def test_workers_write_logs_as_the_web_process_does(monkeypatch, settings):
    taken = []
    monkeypatch.setattr("logging.config.dictConfig", taken.append)
    before = logging.getLogger().handlers[:]

    celery.log.setup(loglevel="ERROR")

    assert taken == [settings.LOGGING]
    assert logging.getLogger().handlers == before


def test_a_wrong_host_header_costs_one_line_without_a_traceback_or_mail(client, settings, caplog, mailoutbox):
    settings.ADMINS, settings.DEBUG = [("root", "root@example.org")], False
    caplog.set_level("WARNING")

    for host in ("[::1", "evil.example", "a b"):
        caplog.clear()
        assert client.get("/login", headers={"host": host}).status_code == 400
        (record,) = [one for one in caplog.records if one.name.startswith("django")]
        assert (record.levelname, record.exc_info) == ("WARNING", None)
        assert host in record.getMessage()
    assert mailoutbox == []
