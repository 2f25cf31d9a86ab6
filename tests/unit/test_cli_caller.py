"""Which token the command line shows to which service."""

import pytest

from injector.cli.caller import identity_of
from injector.delivery.identity import IdToken
from injector.settings import Settings

ELSEWHERE = "https://i.example"


def test_a_token_in_the_environment_comes_first():
    assert identity_of(Settings(token="mine", impersonate="o@p.example"), ELSEWHERE)() == "mine"


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080", "https://localhost", "http://i.example"])
def test_a_service_on_this_machine_or_over_plain_http_is_shown_no_token(url):
    assert identity_of(Settings(), url)() == ""


@pytest.mark.parametrize("impersonate", ["", "operator@p.iam.gserviceaccount.com"])
def test_a_service_elsewhere_is_shown_a_token_for_its_own_url(impersonate):
    identity = identity_of(Settings(impersonate=impersonate), ELSEWHERE)
    assert isinstance(identity, IdToken)
    assert identity.audience == ELSEWHERE
