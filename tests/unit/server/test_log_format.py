"""How log lines look."""

import json
import logging

import pytest

from hashrange.server.log_format import JsonFormatter, KeyValueFormatter, configure_logging


def record(text="request", exc_info=None, **fields):
    made = logging.LogRecord("hashrange.server", logging.INFO, "file", 1, text, (), exc_info)
    made.created = 1_773_500_966.535
    made.fields = fields
    return made


@pytest.fixture
def failure():
    try:
        raise ValueError("broken")
    except ValueError as error:
        return (ValueError, error, error.__traceback__)


def test_a_text_line_has_time_level_event_and_fields():
    assert KeyValueFormatter().format(record(operation="PutItem", status=200)) == (
        "2026-03-14T15:09:26.535Z info request operation=PutItem status=200"
    )


def test_a_value_that_could_be_misread_is_quoted():
    assert (
        KeyValueFormatter()
        .format(record(error='no "room"\nleft', empty=""))
        .endswith(r'error="no \"room\"\nleft" empty=""')
    )


def test_a_json_line_has_the_same():
    assert json.loads(JsonFormatter().format(record(operation="PutItem", status=200))) == {
        "time": "2026-03-14T15:09:26.535Z",
        "level": "info",
        "event": "request",
        "operation": "PutItem",
        "status": 200,
    }


def test_an_exception_is_shown(failure):
    assert "ValueError: broken" in KeyValueFormatter().format(record(exc_info=failure))
    assert "ValueError: broken" in json.loads(JsonFormatter().format(record(exc_info=failure)))["exception"]


def test_lines_go_to_standard_error_from_the_level_on(capsys):
    logger = logging.getLogger("hashrange")
    before = logger.handlers, logger.level, logger.propagate
    try:
        configure_logging("warning")
        logger.getChild("x").info("hidden")
        logger.getChild("x").warning("shown", extra={"fields": {"n": 1}})
    finally:
        logger.handlers, logger.level, logger.propagate = before
        logger.manager._clear_cache()  # type: ignore[attr-defined]
    assert capsys.readouterr().err.endswith(" warning shown n=1\n")


def test_lines_of_other_packages_go_there_too(capsys):
    loggers = [logging.getLogger("hashrange"), logging.getLogger("an_application")]
    before = [(logger.handlers, logger.level, logger.propagate) for logger in loggers]
    try:
        configure_logging("info", packages=["an_application"])
        logging.getLogger("an_application.worker").info("shown", extra={"fields": {"n": 1}})
        logging.getLogger("an_application.worker").debug("hidden")
    finally:
        for logger, values in zip(loggers, before, strict=True):
            logger.handlers, logger.level, logger.propagate = values
        loggers[0].manager._clear_cache()  # type: ignore[attr-defined]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(" info shown n=1")
