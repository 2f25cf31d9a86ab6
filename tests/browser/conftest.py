"""A browser as Debian has it, and a service whose dashboard it looks at."""

import os
from pathlib import Path

import pytest
import requests
from playwright.sync_api import sync_playwright

from tests.browser.world import furnish
from tests.scripted_service import Service, serve
from tests.served import Served, await_ready, spawn, stop, submission
from tests.waiting import PATIENCE_S, free_port

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    *(("--no-sandbox",) if os.geteuid() == 0 else ()),
)


@pytest.fixture(scope="session")
def chromium():
    assert CHROMIUM.exists(), "these tests need Debian's browser: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service with jobs to look at; what one test does to them, the others see."""
    folder = tmp_path_factory.mktemp("served")
    port, log = free_port(), folder / "service.log"
    with serve(Service()) as tasks:
        process = spawn(folder, log, tasks.address, PORT=str(port), INJECTOR_WORKERS="2")
        served = Served(process, f"http://127.0.0.1:{port}", tasks, folder, log)
        try:
            await_ready(served)
            served.submit()
            furnish(f"sqlite:///{folder}/ledger.db")
            yield served
        finally:
            stop(process)


class Window:
    """Opens pages, and notes what goes wrong on them and what they ask of whom."""

    def __init__(self, browser, base) -> None:
        self._browser, self._base = browser, base
        self._contexts = []
        self.wrong = []
        self.asked = []

    def open(self, path, **options: object):
        context = self._browser.new_context(base_url=self._base, **options)
        self._contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", self._note)
        page.on("request", lambda request: self.asked.append(request.url))
        page.goto(path)
        return page

    def close(self):
        for context in self._contexts:
            context.close()

    def _note(self, message):
        if message.type == "error":
            self.wrong.append(message.text)


@pytest.fixture
def window(chromium, served):
    opened = Window(chromium, served.url)
    yield opened
    opened.close()


@pytest.fixture
def job(served, request):
    """A job of the test's own, running; return the path of its page."""
    name = f"own-{abs(hash(request.node.name))}"
    manifest = f"""
job: {name}
group: welcome
records: users.jsonl
task: {{http: {{url: "https://worker.example/users/{{n}}"}}}}
"""
    body = submission(served.folder, 250, manifest=manifest)
    assert requests.post(f"{served.url}/jobs", json=body, timeout=PATIENCE_S).status_code == 201
    yield name
    requests.post(f"{served.url}/jobs/{name}/cancel", json={}, timeout=PATIENCE_S)
