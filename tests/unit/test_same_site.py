import pytest
from werkzeug.datastructures import Headers

from injector.same_site import is_forged

HOST = {"Host": "injector.example"}


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://injector.example.evil.example"},
        {"Sec-Fetch-Site": "cross-site", "Origin": "https://injector.example"},
    ],
)
def test_a_change_that_another_site_asks_for_is_forged(headers):
    assert is_forged("POST", Headers(HOST | headers))
    assert is_forged("DELETE", Headers(HOST | headers))
    assert not is_forged("GET", Headers(HOST | headers))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:8080"},
        {"Sec-Fetch-Site": "none"},
        {"Origin": "https://injector.example"},
    ],
)
def test_programs_and_the_dashboard_itself_may_ask_for_changes(headers):
    assert not is_forged("POST", Headers(HOST | headers))
