import pytest

from handlers.wsgi import application
from tests.served import GROUPS

CRON = {"X-Appengine-Cron": "true"}


@pytest.fixture
def client(monkeypatch, tmp_path):
    """A service on App Engine, with no job."""
    environ = {
        "GAE_ENV": "standard",
        "INJECTOR_AUTH": "app-engine",
        "INJECTOR_GROUPS": GROUPS,
        "INJECTOR_LEDGER_URL": f"sqlite:///{tmp_path}/ledger.db",
        "INJECTOR_PEOPLE": "ann@p.example",
        "INJECTOR_QUEUE_CALLERS": "queue@p.example",
        "INJECTOR_SERVICE_URL": "https://p.ew.r.appspot.com",
    }
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    app = application()
    yield app.test_client()
    app.extensions["parts"].ledger.close()


def test_cron_which_can_only_get_ticks(client):
    answer = client.get("/control/tick", headers=CRON)
    assert (answer.status_code, answer.json["status"]) == (200, "ticked")


def test_a_post_from_cron_ticks(client):
    assert client.post("/control/tick", headers=CRON).status_code == 200


@pytest.mark.parametrize("headers", [{}, {"X-Appengine-Cron": "yes"}])
def test_nobody_else_ticks(client, headers):
    assert client.get("/control/tick", headers=headers).status_code == 401
    assert client.post("/control/tick", headers=headers).status_code == 401


def test_cron_s_word_opens_no_other_route(client):
    assert client.get("/jobs", headers=CRON).status_code == 401
    assert client.get("/groups", headers=CRON).status_code == 401


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_cron_s_other_methods_stay_what_they_are(client, method):
    assert client.open("/control/tick", method=method, headers=CRON).status_code in {401, 405}
