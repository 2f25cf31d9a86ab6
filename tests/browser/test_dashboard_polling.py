from itertools import pairwise

import requests

from tests.browser.expecting import expect_text
from tests.waiting import PATIENCE_S, until


def test_what_changes_is_shown_without_a_reload_and_leaves_the_focus_where_it_is(
    window, served, job
):
    page = window.open(f"/dashboard/jobs/{job}")
    page.focus("#to-group")
    requests.post(f"{served.url}/jobs/{job}/pause", timeout=PATIENCE_S)
    expect_text(page, ".badge", "paused")
    assert page.evaluate("document.activeElement.id") == "to-group"
    assert sum(address.endswith(f"/jobs/{job}") for address in window.asked) == 1


HASTE = """
window.waits = []; window.fired = 0;
const later = window.setTimeout;
window.setTimeout = (call, ms = 0, ...rest) => {
  if (ms < 1500) return later(call, ms, ...rest);
  window.waits.push(ms);
  return later(() => { window.fired += 1; call(); }, ms / 200);
};
"""
"""Notes how long the page wants to wait, and lets it wait two hundred times less."""


def hasty(window, path, *, script="", answers=None):
    """Open a page that is in a haste, and whose questions get the answers given here, if any."""
    page = window.open("/dashboard/nothing")
    page.add_init_script(HASTE + script)
    if answers:
        page.route("**part=live**", lambda route: route.fulfill(**answers))
    page.goto(path)
    return page


def waits(page, at_least):
    until(lambda: page.evaluate("window.waits.length") >= at_least)
    return page.evaluate("window.waits")


def test_a_page_that_fails_asks_ever_more_rarely_up_to_once_a_minute(window):
    page = hasty(window, "/", answers={"status": 503})
    seen = waits(page, 9)[1:]
    assert all(later > 1.5 * former for former, later in pairwise(seen[:4]))
    assert 54_000 <= seen[-1] <= 66_000
    expect_text(page, "#pulse", "not live")


def test_a_page_waits_as_long_as_a_busy_service_asks_it_to(window):
    page = hasty(window, "/", answers={"status": 503, "headers": {"Retry-After": "30"}})
    assert 27_000 <= waits(page, 2)[1] <= 33_000


def test_a_page_on_which_nothing_changes_asks_every_ten_seconds_in_the_end(window):
    seen = waits(hasty(window, "/?state=failed"), 14)
    assert seen[0] == 2000
    assert all(9000 <= wait <= 11_000 for wait in seen[-1:])


def test_a_page_that_nobody_looks_at_asks_nothing(window):
    hidden = 'Object.defineProperty(document, "hidden", {get: () => window.away !== false});'
    page = hasty(window, "/", script=hidden)
    until(lambda: page.evaluate("window.fired") >= 1)
    assert not [address for address in window.asked if "part=live" in address]
    with page.expect_request("**part=live**"):
        page.evaluate("window.away = false; document.dispatchEvent(new Event('visibilitychange'))")
