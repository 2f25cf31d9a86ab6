"""Operations on a group, seen and stopped by a person."""

import pytest
import requests

from tests.browser.expecting import expect_text
from tests.browser.world import EVIL, RAMPING, REASONS
from tests.waiting import PATIENCE_S

GROUP = "/dashboard/groups/welcome"


def state(served, operation):
    return requests.get(f"{served.url}/operations/{operation}", timeout=PATIENCE_S).json()["state"]


def card(page, operation):
    return page.locator(f"article[aria-labelledby=op-{operation}]")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_group_shows_where_its_operations_are_and_why(window, scheme):
    page = window.open(GROUP, color_scheme=scheme)
    ramp = card(page, RAMPING.id).inner_text()
    for words in (
        "running",
        "6 of 10",
        "31 of 40 made",
        "min",
        "left",
        "ann@p.example",
        *REASONS[1:],
    ):
        assert words in ramp
    assert "bob@p.example" in card(page, "keep-warm-1").inner_text()
    assert EVIL in card(page, "expand-1").inner_text()
    assert "rolled back" in card(page, "expand-1").inner_text()
    assert card(page, "expand-1").locator("button").count() == 0
    assert "broken" not in page.title()


def test_an_operations_own_page_has_all_of_its_steps(window):
    page = window.open(GROUP)
    page.click(f"#op-{RAMPING.id}")
    expect_text(page, "h1", "ramp of welcome")
    assert page.locator("[data-part=steps] tbody tr").count() == len(REASONS)


def test_nothing_is_stopped_until_it_is_confirmed(window, served):
    page = window.open(GROUP)
    page.click(f"#do-{RAMPING.id}-stop")
    expect_text(page, "#ask-title", "Stop: ramp of welcome?")
    page.keyboard.press("Escape")
    page.wait_for_selector("#ask", state="hidden")
    assert page.evaluate("document.activeElement.id") == f"do-{RAMPING.id}-stop"
    assert state(served, RAMPING.id) == "running"


@pytest.mark.parametrize("path", [GROUP, "/dashboard/operations/spread-1"])
def test_an_operation_is_paused_and_resumed_with_the_keyboard_alone(window, served, path):
    page = window.open(path)
    for press, words, after in (
        ("pause", "Done: Pause", "paused"),
        ("resume", "Done: Resume", "running"),
    ):
        page.focus(f"#do-spread-1-{press}")
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect_text(page, "#said", words)
        assert state(served, "spread-1") == after
        page.wait_for_selector(f"#do-spread-1-{'resume' if after == 'paused' else 'pause'}")


def test_a_stopped_operation_is_over(window, served):
    page = window.open("/dashboard/operations/keep-warm-1")
    page.click("#do-keep-warm-1-stop")
    page.click("#ask .sure")
    expect_text(page, ".badge", "cancelled")
    assert state(served, "keep-warm-1") == "cancelled"
    assert page.locator("main button").count() == 0
