import time
from dataclasses import dataclass, field

import pytest

from handlers.keys import Fetched, KeySet
from handlers.tokens import Verifier
from injector.errors import Refused
from tests.tokens import Signer

CALLER = "queue@p.iam.gserviceaccount.com"


@dataclass
class Hands:
    """The hands of two clocks, and the keys that there are."""

    keys: dict[str, str]
    monotonic: float = 0.0
    now: float = field(default_factory=time.time)

    def verifier(self):
        fetched = KeySet(lambda: Fetched(self.keys, max_age_s=300.0), lambda: self.monotonic)
        return Verifier(fetched, lambda: self.now)


@pytest.fixture
def signer():
    return Signer.new()


@pytest.fixture
def hands(signer):
    return Hands(signer.certificates())


def test_a_token_says_the_same_each_time(signer, hands):
    verifier, token = hands.verifier(), signer.token(CALLER)
    assert verifier.claims_of(token) == verifier.claims_of(token)
    assert verifier.claims_of(token)["email"] == CALLER


def test_a_token_that_was_good_is_not_once_its_time_is_over(signer, hands):
    verifier, token = hands.verifier(), signer.token(CALLER)
    verifier.claims_of(token)
    hands.now += 3700
    with pytest.raises(Refused, match="exp"):
        verifier.claims_of(token)


@pytest.mark.parametrize("left", [{}, Signer.new(whose="someone else").certificates()])
def test_a_token_that_was_good_is_not_once_its_key_is_withdrawn(signer, hands, left):
    verifier, token = hands.verifier(), signer.token(CALLER)
    verifier.claims_of(token)
    hands.keys = left or Signer.new("other").certificates()
    hands.monotonic += 301
    with pytest.raises(Refused, match="signature"):
        verifier.claims_of(token)


def test_a_token_of_the_same_form_is_not_known_by_another(signer, hands):
    verifier, token = hands.verifier(), signer.token(CALLER)
    verifier.claims_of(token)
    forged = Signer.new(signer.key_id, "someone else").token(CALLER)
    with pytest.raises(Refused, match="signature"):
        verifier.claims_of(forged)
