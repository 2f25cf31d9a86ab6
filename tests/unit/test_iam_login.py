import json
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from cryptography.hazmat.primitives import serialization
from google.auth.credentials import TokenState
from google.auth.exceptions import RefreshError

from injector.errors import Misused, Retryable
from injector.ledger import open_ledger
from injector.ledger.engines import parse_url
from injector.ledger.iam_login import LoginToken, own_credentials
from tests.tokens import key_of
from tests.waiting import PATIENCE_S

ASKS_FOR_A_PASSWORD = b"R" + struct.pack("!ii", 8, 3)


class Expiring:
    """Credentials whose token is told to be fresh or not."""

    def __init__(self) -> None:
        self.token = None
        self.token_state = TokenState.INVALID
        self.refreshed = 0

    def refresh(self, _request):
        self.refreshed += 1
        self.token, self.token_state = f"token-{self.refreshed}", TokenState.FRESH


def test_a_fresh_token_is_shown_again():
    credentials = Expiring()
    token = LoginToken(lambda: credentials)
    assert [token(), token()] == ["token-1", "token-1"]


@pytest.mark.parametrize("state", [TokenState.STALE, TokenState.INVALID])
def test_a_token_that_is_not_fresh_is_renewed(state):
    credentials = Expiring()
    token = LoginToken(lambda: credentials)
    token()
    credentials.token_state = state
    assert token() == "token-2"


def test_threads_that_log_in_together_renew_once():
    credentials = Expiring()
    token = LoginToken(lambda: credentials)
    with ThreadPoolExecutor(16) as pool:
        shown = {*pool.map(lambda _: token(), range(64))}
    assert (shown, credentials.refreshed) == ({"token-1"}, 1)


def test_a_token_that_cannot_be_had_now_is_worth_another_try():
    class Away(Expiring):
        def refresh(self, _request):
            raise RefreshError("the metadata server is away")

    with pytest.raises(Retryable, match="metadata server is away"):
        LoginToken(Away)()


def test_a_machine_without_credentials_is_told_what_would_do(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    with pytest.raises(Misused, match="login=iam"):
        own_credentials()


def test_another_login_is_refused():
    with pytest.raises(Misused, match="login=iam or nothing"):
        parse_url("postgresql://ann@db.example/injector?login=ldap")


def read_message(connection, *, kind):
    """Read a message of PostgreSQL's protocol; the first one of a connection has no kind."""
    if kind:
        assert connection.recv(1) == kind
    (length,) = struct.unpack("!i", connection.recv(4))
    return connection.recv(length - 4, socket.MSG_WAITALL)


class Tokens(BaseHTTPRequestHandler):
    """Google's token endpoint, as far as a service account's key needs it."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"access_token": "an-access-token", "expires_in": 3600}')

    def log_message(self, *_: object):
        pass


@contextmanager
def token_endpoint():
    with HTTPServer(("127.0.0.1", 0), Tokens) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/token"
        server.shutdown()
        thread.join()


def service_account(token_url):
    pem = key_of("a service account").private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return {
        "type": "service_account",
        "client_email": "service@p.iam.gserviceaccount.com",
        "private_key": pem.decode(),
        "token_uri": token_url,
    }


def password_shown_to(server):
    """Take a connection as a database does, up to its password; then take no more."""
    connection, _ = server.accept()
    server.close()
    with connection:
        read_message(connection, kind=b"")
        connection.sendall(ASKS_FOR_A_PASSWORD)
        return read_message(connection, kind=b"p").rstrip(b"\0").decode()


def test_a_connection_shows_the_service_account_s_token(monkeypatch, tmp_path):
    key = tmp_path / "key.json"
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(key))
    server = socket.create_server(("127.0.0.1", 0))
    where = f"127.0.0.1:{server.getsockname()[1]}"
    url = f"postgresql://service%40p.iam@{where}/injector?login=iam&sslmode=disable"
    ledger = open_ledger(url, patience_s=0.1)
    with token_endpoint() as token_url, ThreadPoolExecutor(1) as pool:
        key.write_text(json.dumps(service_account(token_url)))
        shown = pool.submit(password_shown_to, server)
        with pytest.raises(Retryable):
            ledger.ping()
        assert shown.result(PATIENCE_S) == "an-access-token"
    ledger.close()
