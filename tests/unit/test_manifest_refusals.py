"""Values of a manifest that no task could be made of: the words, and never a fault."""

import pytest

from injector.errors import Misused
from injector.manifest import load_manifest

SHORT = """\
job: j
group: g
records: r.jsonl
task: {http: {url: "https://t.example/"}}
"""


def only(text):
    with pytest.raises(Misused) as failure:
        load_manifest(text, source="m.yaml")
    (line,) = str(failure.value).splitlines()
    return line


def with_http(parts):
    return SHORT.replace('url: "https://t.example/"', parts)


@pytest.mark.parametrize("number", ["1e400", "-1e999", "1" + "0" * 400 + ".0"])
def test_number_of_a_body_that_json_cannot_hold_is_refused(number):
    line = only(with_http(f"url: https://t.example/, body: {{a: [{number}]}}"))
    assert f'is not a JSON number; quote it: "{number}"' in line


@pytest.mark.parametrize(
    "text",
    [
        SHORT.replace("job: j", "job: !!python/object:os.system j"),
        SHORT.replace("job: j", "job: !!binary aGVsbG8h"),
        SHORT + "types: !!omap {a: text}\n",
        SHORT + "types: !!set {a: text}\n",
        with_http("url: https://t.example/, body: !!pairs [a]"),
    ],
)
def test_tags_that_would_make_another_type_of_a_value_are_refused(text):
    assert "is not known here; leave it out" in only(text)


def test_tag_of_what_a_value_is_anyway_is_accepted():
    text = SHORT.replace("job: j", "job: !!str j") + "types: !!map {a: text}\n"
    assert load_manifest(text, source="m.yaml").job == "j"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (SHORT.replace("job: j", 'job: ""'), "m.yaml:1:1: job: needs a value"),
        (SHORT.replace("r.jsonl", '""'), "m.yaml:3:1: records: needs a value"),
        (SHORT + 'identity: {field: ""}\n', "m.yaml:5:12: identity.field: needs a value"),
        (
            with_http('url: https://t.example/, headers: {"": a}'),
            (
                "m.yaml:4:50: task.http.headers: '' is not a header's name; "
                "write one such as X-Campaign"
            ),
        ),
        (
            SHORT + "stop_when_rejected:\n",
            "m.yaml:5:1: stop_when_rejected: expected text, got no value",
        ),
        (
            SHORT + "stop_when_rejected: [1]\n",
            "m.yaml:5:1: stop_when_rejected: expected text, got a list",
        ),
        (
            SHORT.replace("group: g", "group: .inf"),
            'm.yaml:2:1: group: expected text, got a number that is infinite; quote it: ".inf"',
        ),
        (
            SHORT.replace("group: g", "group: .nan"),
            'm.yaml:2:1: group: expected text, got a not-a-number; quote it: ".nan"',
        ),
    ],
)
def test_missing_or_odd_value_is_said_in_plain_words(text, line):
    assert only(text) == line


@pytest.mark.parametrize(
    "url",
    [
        "http:///path",
        "https://$HOST/",
        "https://a..example/",
        "https://-a.example/",
        "https://worker_.example:80:80/",
        "https://bücher.example/",
        "https://[::1/",
        "https://[zz]/",
        "https://a,b/",
        "https://%41/",
    ],
)
def test_url_whose_host_no_task_can_reach_is_refused(url):
    assert "has no usable host" in only(with_http(f'url: "{url}"'))


@pytest.mark.parametrize(
    "url",
    [
        "https://a-b.example.:8080/x",
        "http://127.0.0.1:80/{id}",
        "http://[::1]:80/{id}",
        "https://my_worker.internal{/id}",
        "https://user:secret@a.example/",
        "https://{host}/x",
        "https://localhost",
        "{+link}",
    ],
)
def test_url_whose_host_is_one_or_is_the_records_is_accepted(url):
    assert load_manifest(with_http(f'url: "{url}"'), source="m.yaml").task.http.url == url


def test_url_that_is_not_ascii_is_refused_since_its_length_would_be_another():
    assert "holds 'é'; percent-encode it" in only(with_http('url: "https://t.example/é/{id}"'))


@pytest.mark.parametrize(
    "webhook", ["https://a b/", "https://a.example/ x", "https://bü.example/", "https://a..b/"]
)
def test_webhook_that_is_no_url_is_refused(webhook):
    assert "notify.webhook: webhook" in only(SHORT + f'notify: {{webhook: "{webhook}"}}\n')


def test_fixed_headers_of_80_kib_are_refused_before_any_record_is_read():
    headers = f"headers: {{X-A: {'a' * 41_000}, X-B: {'b' * 41_000}}}"
    line = only(with_http(f"url: https://t.example/, {headers}"))
    assert line == (
        "m.yaml:4:8: task.http: the headers have 81920 bytes or more; Cloud Tasks takes fewer"
    )


def test_key_of_another_form_of_the_same_value_is_not_called_a_misspelling():
    schedule = "schedule: {at: 2026-12-01T09:00:00Z, field: due}"
    line = only(SHORT.replace("task: {", f"task: {{{schedule}, "))
    assert line == "m.yaml:4:45: unknown key 'field' beside the others; keep one"


@pytest.mark.parametrize("account", ["worker", "a b@c.example", "@c.example", "a@", "a@b@c"])
@pytest.mark.parametrize("token", ["oidc", "oauth"])
def test_service_account_that_is_no_address_is_refused(account, token):
    http = f'url: https://t.example/, {token}: {{service_account: "{account}"}}'
    assert "write its e-mail address, such as" in only(with_http(http))
