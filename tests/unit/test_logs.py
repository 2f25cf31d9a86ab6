import json
import logging

import pytest
from gunicorn.glogging import Logger

from handlers.gunicorn_log import QuietLog
from handlers.logs import JsonLines, event, trace_of

TRACE = "0af7651916cd43dd8448eb211c80319c"


def line_of(record, project=""):
    return json.loads(JsonLines(project).format(record))


def logged(caplog):
    (record,) = caplog.records
    return line_of(record)


def test_an_event_has_its_name_and_its_fields(caplog):
    with caplog.at_level(logging.INFO, "injector"):
        event("chunk.settled", job="j", chunk=3)
    line = logged(caplog)
    assert (line["event"], line["severity"]) == ("chunk.settled", "INFO")
    assert (line["job"], line["chunk"]) == ("j", 3)
    assert line["message"] == "chunk.settled job=j chunk=3"


def test_a_line_is_one_line_whatever_is_in_it(caplog):
    with caplog.at_level(logging.INFO, "injector"):
        event("job.registered", why='two\nlines "quoted" ☃')
    (record,) = caplog.records
    assert "\n" not in JsonLines().format(record)
    assert logged(caplog)["why"] == 'two\nlines "quoted" ☃'


@pytest.mark.parametrize(
    ("traceparent", "cloud", "trace"),
    [
        (f"00-{TRACE}-b7ad6b7169203331-01", "", TRACE),
        ("", f"{TRACE}/1234;o=1", TRACE),
        ("", TRACE, TRACE),
        ("rubbish", "rubbish", ""),
        ("", "", ""),
        (f"00-{TRACE}-b7ad6b7169203331-01\nx", "", ""),
    ],
)
def test_a_trace_is_taken_from_either_header(traceparent, cloud, trace):
    assert trace_of(traceparent, cloud) == trace


def test_an_error_is_logged_with_its_stack(caplog):
    try:
        {}["x"]
    except KeyError:
        logging.getLogger("injector").exception("broken")
    assert "KeyError" in logged(caplog)["stack_trace"]


def test_gunicorn_composes_no_line_for_a_request():
    log = object.__new__(QuietLog)  # as it is, without the handlers that it would set up
    with pytest.raises(AttributeError):
        Logger.access(log, "an answer", "a request", {}, "a time")
    log.access("an answer", "a request", {}, "a time")
