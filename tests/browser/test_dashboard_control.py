import pytest
import requests

from tests.browser.expecting import expect_text
from tests.waiting import PATIENCE_S


def shown(served, job):
    return requests.get(f"{served.url}/jobs/{job}", timeout=PATIENCE_S).json()


def test_a_job_is_paused_and_resumed_with_the_keyboard_alone(window, served, job):
    page = window.open(f"/dashboard/jobs/{job}")
    reach(page, "do-pause")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "back"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect_text(page, "#said", "Done: Pause")
    expect_text(page, ".badge", "paused")
    assert shown(served, job)["state"] == "paused"
    reach(page, "do-resume")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect_text(page, ".badge", "running")
    assert shown(served, job)["state"] == "running"


def reach(page, name):
    """Press Tab until the element has the focus."""
    page.wait_for_selector(f"#{name}")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == name:
            return
    pytest.fail(f"Tab never gets to {name}")


@pytest.mark.parametrize("way_out", ["Escape", "Enter"])
def test_nothing_happens_to_a_job_until_it_is_confirmed(window, served, job, way_out):
    page = window.open(f"/dashboard/jobs/{job}")
    page.click("#do-cancel")
    page.locator("#ask input[name=take_back]").focus()
    page.locator("#back").focus()
    page.keyboard.press(way_out)
    page.wait_for_selector("#ask", state="hidden")
    assert page.evaluate("document.activeElement.id") == "do-cancel"
    assert shown(served, job)["state"] == "running"
    assert [line["what"] for line in audit(served, job)] == ["registered"]


def audit(served, job):
    return requests.get(f"{served.url}/jobs/{job}/audit", timeout=PATIENCE_S).json()["changes"]


def test_tuning_changes_what_is_filled_in_and_nothing_else(window, served, job):
    page = window.open(f"/dashboard/jobs/{job}")
    page.click("#do-tune")
    page.fill("#ask input[name=max_rate]", "250.5")
    page.keyboard.press("Enter")
    expect_text(page, "#said", "Done: Tune")
    after = shown(served, job)
    assert (after["max_rate"], after["weight"], after["priority"]) == (250.5, 1.0, 0)


def test_a_cancelled_jobs_tasks_are_taken_back_if_the_box_is_ticked(window, served, job):
    page = window.open(f"/dashboard/jobs/{job}")
    page.click("#do-cancel")
    page.check("#ask input[name=take_back]")
    page.click("#ask .sure")
    expect_text(page, ".badge", "cancelled")
    assert shown(served, job)["taken_back"] is not None


def test_a_removed_job_leads_back_to_the_others(window, served, job):
    requests.post(f"{served.url}/jobs/{job}/cancel", json={}, timeout=PATIENCE_S)
    page = window.open(f"/dashboard/jobs/{job}")
    page.click("#do-remove")
    page.click("#ask .sure")
    page.wait_for_url(f"{served.url}/")
    assert requests.get(f"{served.url}/jobs/{job}", timeout=PATIENCE_S).status_code == 404


def test_a_change_to_a_job_that_someone_changed_meanwhile_is_not_made(window, served, job):
    page = window.open("/")
    page.route("**part=live**", lambda route: route.abort())
    page.goto(f"/dashboard/jobs/{job}")
    requests.patch(f"{served.url}/jobs/{job}", json={"weight": 3.0}, timeout=PATIENCE_S)
    page.click("#do-pause")
    page.click("#ask .sure")
    expect_text(page, "#said", "Someone changed this job meanwhile")
    assert shown(served, job)["state"] == "running"
