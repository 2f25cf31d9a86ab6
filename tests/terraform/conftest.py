import pytest

from tests.terraform.deployment import Deployment
from tests.terraform.google_stub import VERSIONS, GoogleStub
from tests.terraform.workspace import Workspace

NEWEST = VERSIONS[-1]
SECRETS = {
    "ledger_admin_password": "swordfish-in-clear",
    "webhook_secret": "whsec-in-clear",
}


@pytest.fixture(scope="session")
def google():
    """The newest provider."""
    with GoogleStub(NEWEST) as stub:
        yield stub


@pytest.fixture
def workspace(google, tmp_path):
    """A fresh copy of the module."""
    return Workspace.copied(tmp_path, google.environment).initialised()


@pytest.fixture(scope="session")
def copy(google, tmp_path_factory):
    """A copy of the module in which every example is applied once."""
    return Workspace.copied(tmp_path_factory.mktemp("applied"), google.environment)


@pytest.fixture(scope="session")
def minimal(copy):
    return Deployment.of(copy.example("minimal"))


@pytest.fixture(scope="session")
def complete(copy):
    given = (f"-var={name}={value}" for name, value in SECRETS.items())
    return Deployment.of(copy.example("complete"), *given)


@pytest.fixture(scope="session")
def app_engine(copy):
    return Deployment.of(copy.example("app-engine"))


@pytest.fixture(params=["minimal", "complete", "app_engine"])
def deployment(request):
    """Each of the examples, applied."""
    return request.getfixturevalue(request.param)
