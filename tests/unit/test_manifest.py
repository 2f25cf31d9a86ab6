"""What a manifest may say, and what it means."""

import json
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from injector.errors import Misused
from injector.manifest import Manifest, manifest_schema, parse_manifest
from injector.manifest.nodes import kind_of
from tests.manifests import SHORT, WHOLE, complaints, only, read


def test_whole_manifest_is_read():
    manifest = read(WHOLE)
    assert manifest.job == "welcome-2026-11"
    assert manifest.identity.field == "user_id"
    assert manifest.task.http.url == "https://worker.example/users/{user_id}/welcome"
    assert manifest.task.http.oidc.audience == "https://worker.example"
    assert manifest.task.dispatch_deadline == 600
    assert manifest.task.schedule == "now"


def test_short_manifest_gets_the_defaults():
    manifest = read(SHORT)
    assert manifest.identity == "index"
    assert manifest.task.http.method == "POST"
    assert manifest.task.http.content == "record"
    assert manifest.create_timeout == 20
    assert (manifest.weight, manifest.priority) == (1, 0)


@pytest.mark.parametrize(
    "extra",
    [
        "",
        "types: {age: integer}\n",
        "create_timeout: 30\n",
        "stop_when_rejected: 0\n",
        "encoding: latin-1\n",
        "weight: 0.5\n",
    ],
)
def test_manifest_reads_back_from_its_json(extra):
    key = extra.partition(":")[0]
    base = "".join(
        line for line in SHORT.splitlines(keepends=True) if not line.startswith(key + ":")
    )
    manifest = read((base if key else SHORT) + extra)
    assert parse_manifest(manifest.model_dump_json()) == manifest


@pytest.mark.parametrize(
    "body", ["record", "none", "'Hello {name}'", "{id: '{id}', n: [1, 2.5, true, null]}"]
)
def test_every_kind_of_body_reads_back_from_its_json(body):
    manifest = read(SHORT.replace('"https://t.example/"', f'"https://t.example/", body: {body}'))
    assert parse_manifest(manifest.model_dump_json()) == manifest


def test_other_json_is_refused_with_the_key():
    with pytest.raises(Misused, match=r"unknown key 'jobs'; did you mean 'job'\?"):
        parse_manifest('{"jobs": 1}')


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("15s", 15), ("10m", 600), ("90s", 90), ("30m", 1800), ("0.25h", 900), ("20m30s", 1230)],
)
def test_durations_are_read(written, seconds):
    manifest = read(SHORT.replace("task: {", f"task: {{dispatch_deadline: {written}, "))
    assert manifest.task.dispatch_deadline == seconds


@pytest.mark.parametrize("timeout", ["60", "30.5", "31s", "0", "-1", "1h"])
def test_call_deadline_that_cloud_tasks_would_refuse_is_refused_with_the_range(timeout):
    line = only(SHORT + f"create_timeout: {timeout}\n")
    assert "is outside 0.1 s to 30 s" in line or "is not a duration" in line


@pytest.mark.parametrize("timeout", ["30", "0.5", "500ms", "20s"])
def test_call_deadline_in_range_is_accepted(timeout):
    assert 0.1 <= read(SHORT + f"create_timeout: {timeout}\n").create_timeout <= 30


@pytest.mark.parametrize("deadline", ["14s", "31m", "24h"])
def test_dispatch_deadline_out_of_range_is_refused(deadline):
    line = only(SHORT.replace("task: {", f"task: {{dispatch_deadline: {deadline}, "))
    assert "15 s to 1800 s" in line


@pytest.mark.parametrize(
    ("scalar", "kind"),
    [
        ("no", "boolean"),
        ("yes", "boolean"),
        ("On", "boolean"),
        ("off", "boolean"),
        ("true", "boolean"),
        ("0123", "number that begins with 0"),
        ("08", "number that begins with 0"),
        ("0555567", "number that begins with 0"),
        ("0x1F", "hexadecimal"),
        ("0o17", "octal"),
        ("1:2", "base 60"),
        ("5:00", "base 60"),
        ("5e3", "number"),
        ("1e-3", "number"),
        ("1_000", "underscores"),
        ("1.5", "number"),
        (".inf", "infinite"),
        ("-.INF", "infinite"),
        (".nan", "not-a-number"),
        ("2026-11-30", "date"),
        ("42", "number"),
    ],
)
def test_scalar_that_parsers_read_otherwise_needs_quotes_where_text_is_wanted(scalar, kind):
    line = only(SHORT.replace("group: g", f"group: {scalar}"))
    assert line.startswith("m.yaml:2:1: group: expected text, got a")
    assert kind in line
    assert line.endswith(f'quote it: "{scalar}"')
    assert read(SHORT.replace("group: g", f'group: "{scalar}"')).group == scalar


@pytest.mark.parametrize(
    ("scalar", "words"),
    [
        (".inf", "finite"),
        (".nan", "finite"),
        ("1e999", "finite"),
        ("much", "expected a number, got the text 'much'"),
        ('"5"', "without quotes"),
        ("08", "plain decimal number"),
        ("1_000", "plain decimal number"),
        ("5:00", "plain decimal number"),
        ("yes", "plain decimal number"),
        ("2026-11-30", "plain decimal number"),
        ("[1]", "got a list"),
        ("{a: 1}", "got a mapping"),
        ("", "got no value"),
    ],
)
def test_number_field_refuses_what_is_no_plain_finite_number(scalar, words):
    assert words in only(SHORT + f"weight: {scalar}\n")


@pytest.mark.parametrize(("scalar", "number"), [("5e2", 500), ("1e-1", 0.1), ("7.5", 7.5)])
def test_number_in_scientific_form_is_a_number_and_never_text(scalar, number):
    assert read(SHORT + f"weight: {scalar}\n").weight == number


def test_whole_number_field_refuses_a_fraction():
    assert "whole number" in only(SHORT + "priority: 1.5\n")


@pytest.mark.parametrize("scalar", ["5:00", "five", "5 m", "5x", ".inf", "yes"])
def test_duration_that_is_none_is_refused_with_an_example(scalar):
    assert "write one such as 90s, 10m or 1h30m" in only(SHORT + f"create_timeout: {scalar}\n")


@given(st.text("0123456789:_.eE+-xob", min_size=1, max_size=8))
@example("0E0_0")
@example(".1_0")
def test_no_text_without_letters_passes_as_text_if_python_reads_a_number_in_it(scalar):
    try:
        float(scalar)
    except ValueError:
        return
    assert kind_of(scalar) != "text"


@pytest.mark.parametrize("job", ["a b", "a/b", "é", "-a", "a" * 101, "a.b"])
def test_job_id_that_no_url_and_no_task_id_can_hold_is_refused(job):
    assert "letters, digits" in only(SHORT.replace("job: j", f'job: "{job}"'))


@pytest.mark.parametrize(
    ("http", "words"),
    [
        ("url: ftp://x.example/", "must begin with https:// or http://"),
        ("url: //x.example/", "must begin with https:// or http://"),
        ('url: "https://"', "must begin with https:// or http://"),
        ('url: "https://x.example/{id"', "unmatched '{'"),
        ('url: "https://x.example/id}"', "unmatched '}'"),
        ('url: "https://x.example/{}"', "has the expression {}"),
        ('url: "https://x.example/{a b}"', "has the expression {a b}"),
        ('url: "https://x.example/a b"', "percent-encode it"),
        ('url: "https://x.example:port/"', "no usable host and port"),
        ('url: "https://:80/"', "no usable host and port"),
        ('url: "https://x.example:0/"', "no usable host and port"),
        ('url: "https://x.example:99999/"', "no usable host and port"),
        ("url: https://x.example/, method: SEND", "write one of POST"),
        ("url: https://x.example/, method: post", "did you mean POST?"),
        ("url: https://x.example/, method: GET, body: record", "carries no body"),
        ("url: https://x.example/, headers: {Host: a}", "is set by Cloud Tasks itself"),
        ("url: https://x.example/, headers: {content-length: a}", "is set by Cloud Tasks"),
        ("url: https://x.example/, headers: {X-CloudTasks-TaskName: a}", "is set by Cloud Tasks"),
        ("url: https://x.example/, headers: {X-AppEngine-Cron: a}", "is set by Cloud Tasks"),
        ("url: https://x.example/, headers: {'a b': c}", "is not a header's name"),
        ('url: https://x.example/, headers: {X-A: "a\\nb"}', "a header cannot hold"),
        ("url: https://x.example/, headers: {X-A: a, x-a: b}", "given twice"),
        ("url: https://x.example/, oidc: {}", "needs 'task.http.oidc.service_account'"),
        (
            "url: https://x.example/, oidc: {service_account: a@b}, oauth: {service_account: a@b}",
            "exclude each other",
        ),
        (
            "url: https://x.example/, oidc: {service_account: s@p.a}, headers: {Authorization: x}",
            "replaced by the token",
        ),
        ('url: "{+link}", oidc: {service_account: s@p.a}', "oidc needs an audience"),
        ('url: "https://{host}/", oidc: {service_account: s@p.a}', "oidc needs an audience"),
        ("url: https://x.example/, body: {when: 2026-11-30}", "quote it"),
        ("url: https://x.example/, body: {n: .inf}", "quote it"),
    ],
)
def test_request_that_cannot_be_sent_is_refused_before_any_record_is_read(http, words):
    lines = complaints(SHORT.replace('url: "https://t.example/"', http))
    assert words in lines[0]


@pytest.mark.parametrize(
    ("limit", "records", "allowed"),
    [
        ("1%", 1000, 10),
        ("1%", 99, 0),
        ("0", 5, 0),
        ("7", 5, 7),
        ("0.1%", 28_000, 28),
        ("100%", 3, 3),
    ],
)
def test_limit_of_rejects_is_a_share_or_a_count(limit, records, allowed):
    manifest = read(SHORT + f"stop_when_rejected: {limit}\n")
    assert manifest.rejects_allowed(records) == allowed


@pytest.mark.parametrize("limit", ["101%", "-1", "1.5", "some", "1 %"])
def test_limit_of_rejects_that_is_neither_is_refused(limit):
    assert "write a share such as 1%, or a count" in only(SHORT + f"stop_when_rejected: {limit}\n")


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("{at: 2026-12-01T09:00:00}", "has no time zone; add Z"),
        ("{at: 2026-12-01}", "is not a time"),
        ("{at: 2026-02-30T00:00:00Z}", "is not a time"),
        ("{at: 0999-13-01T00:00:00Z}", "is not a time"),
        ("{}", "needs"),
        ("later", "is not known here"),
        ("{field: due, at: 2026-12-01T09:00:00Z}", "unknown key 'field'"),
    ],
)
def test_schedule_that_names_no_instant_is_refused(when, words):
    assert words in complaints(SHORT.replace("task: {", f"task: {{schedule: {when}, "))[0]


def test_same_instant_in_another_zone_is_the_same_manifest():
    one, other = (
        read(SHORT.replace("task: {", f"task: {{schedule: {{at: '{at}'}}, "))
        for at in ("2026-12-01T09:00:00Z", "2026-12-01T11:00:00+02:00")
    )
    assert one.model_dump_json() == other.model_dump_json()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", '"5"', "true", "[]", "null"])
def test_json_has_to_hold_finite_numbers_too(number):
    text = read(SHORT).model_dump_json().replace('"weight":1.0', f'"weight":{number}')
    with pytest.raises(Misused, match="weight: expected a"):
        parse_manifest(text)


def test_json_schema_describes_every_key_and_is_json():
    schema = json.loads(json.dumps(manifest_schema()))
    assert set(schema["properties"]) == set(Manifest.model_fields)
    assert schema["required"] == ["job", "group", "records"]
    assert schema["oneOf"] == [{"required": ["task"]}, {"required": ["message"]}]
    assert schema["additionalProperties"] is False
    kinds = [schema, *(schema["$defs"][name] for name in ("Task", "Http", "Message"))]
    assert all("description" in field for kind in kinds for field in kind["properties"].values())


def test_json_schema_lets_an_editor_offer_words_and_check_ranges():
    schema = manifest_schema()
    http = schema["$defs"]["Http"]["properties"]
    assert http["method"]["enum"][:2] == ["POST", "PUT"]
    assert schema["properties"]["create_timeout"]["maximum"] == 30
    assert re.fullmatch(schema["properties"]["job"]["pattern"], "welcome-2026-11")
    assert not re.fullmatch(schema["properties"]["job"]["pattern"], "a b")


def test_manifest_never_changes():
    with pytest.raises(ValueError, match="frozen"):
        read(SHORT).job = "other"


@pytest.mark.parametrize(
    "url", ["https://hooks.example/a?b=c", "http://127.0.0.1:9/x", "http://localhost/x"]
)
def test_webhook_is_over_https_or_on_this_machine(url):
    assert read(SHORT + f"notify: {{webhook: '{url}'}}\n").notify.webhook == url


@pytest.mark.parametrize("url", ["http://hooks.example/", "ftp://x.example/", "hooks", "https://"])
def test_webhook_elsewhere_without_tls_is_refused(url):
    with pytest.raises(Misused, match="must begin with https://, or be on this machine"):
        read(SHORT + f"notify: {{webhook: '{url}'}}\n")


SHORT_MESSAGE = "job: j\ngroup: g\nrecords: r\nmessage:"


def test_message_is_the_record_unless_it_says_otherwise():
    message = read(SHORT_MESSAGE + " {}\n").message
    assert (message.data, message.attributes, message.ordering_key) == ("record", {}, None)


def test_manifest_has_either_a_task_or_a_message():
    assert "exclude each other" in only(SHORT + "message: {}\n")


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ("{attributes: {goog_x: a}}", "begins with goog, which is Google's"),
        ("{attributes: {injector-id: a}}", "is set by the injector itself; leave it out"),
        ("{attributes: {'': a}}", "an attribute needs a name"),
        (f"{{attributes: {{{'x' * 257}: a}}}}", "has a name of 257 bytes, over 256"),
        (f"{{attributes: {{a: {'ñ' * 513}}}}}", "has 1026 bytes, over 1024"),
        ("{ordering_key: user}", "ordering_key: expected a mapping"),
        ("{attribute: {a: b}}", "did you mean 'attributes'?"),
    ],
)
def test_message_that_no_topic_would_take_is_refused(message, complaint):
    assert complaint in only(f"{SHORT_MESSAGE} {message}\n")


@pytest.mark.parametrize(("attributes", "fits"), [(99, True), (100, False)])
def test_message_has_room_for_its_id_among_its_attributes(attributes, fits):
    text = SHORT_MESSAGE + "\n  attributes:\n"
    text += "".join(f"    a{number}: x\n" for number in range(attributes))
    if fits:
        assert len(read(text).message.attributes) == attributes
    else:
        assert "100 attributes are too many" in only(text)


def test_batches_are_of_tasks_alone():
    assert "create_mode is of tasks" in only(SHORT_MESSAGE + " {}\ncreate_mode: batch\n")


def test_end_of_a_job_is_told_to_a_webhook_or_a_topic():
    topic = "projects/p/topics/ends"
    assert read(SHORT + f"notify: {{topic: {topic}}}\n").notify.address == topic
    assert "give one of the two" in only(SHORT + "notify: {}\n")
