import pytest

from tests.browser.expecting import expect_text
from tests.browser.world import EVIL, LONG_NUMBER, RAMPING
from tests.waiting import until

PAGES = (
    "/",
    f"/dashboard/jobs/{LONG_NUMBER}",
    "/dashboard/groups/welcome",
    f"/dashboard/operations/{RAMPING.id}",
)
PHONE = {"viewport": {"width": 360, "height": 740}}
SCHEMES = ("light", "dark")


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_draws_and_goes_live_without_a_complaint_or_the_outside(window, served, path):
    page = window.open(path)
    expect_text(page, "#pulse", "live")
    page.wait_for_load_state("networkidle")
    assert window.wrong == []
    assert {address.split("/", 3)[2] for address in window.asked} == {served.url.split("/")[2]}


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_is_wider_than_a_phone(window, path, scheme):
    page = window.open(path, color_scheme=scheme, **PHONE)
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.evaluate(CUT_OFF) == []


CUT_OFF = """
[...document.querySelectorAll("main a, main button, main select, main input, main dd, main p, td")]
  .filter(each => each.getClientRects().length && each.closest(".scroll") === null)
  .filter(each => each.getBoundingClientRect().right > innerWidth)
  .map(each => each.outerHTML)
"""


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_words_stand_out_from_what_is_behind_them(window, path, scheme):
    page = window.open(path, color_scheme=scheme)
    page.wait_for_load_state("networkidle")
    faint = page.evaluate(CONTRASTS)
    assert min(faint.values()) >= 4.5, faint
    backdrop = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert (sum(map(int, backdrop[4:-1].split(","))) < 128) == (scheme == "dark")


CONTRASTS = """
() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => {
    const [r, g, b] = parts(colour).map(v => v / 255).map(
      v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = each => {
    for (let at = each; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)") return colour;
    }
  };
  const found = {};
  for (const each of document.querySelectorAll("body *")) {
    const words = [...each.childNodes].filter(node => node.nodeType === 3 && node.data.trim());
    if (!words.length || !each.getClientRects().length) continue;
    const [a, b] = [light(getComputedStyle(each).color), light(behind(each))];
    found[each.tagName + "." + each.className + " " + words[0].data.trim().slice(0, 20)] =
      (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }
  return found;
}
"""


def test_ids_keep_all_their_digits(window):
    page = window.open("/")
    page.get_by_role("link", name=LONG_NUMBER).click()
    expect_text(page, "h1", LONG_NUMBER)
    expect_text(page, "#rejects td", "9007199254740993")


def test_what_people_wrote_is_text_and_runs_nothing(window):
    page = window.open(f"/dashboard/jobs/{LONG_NUMBER}")
    expect_text(page, "#rejects td", EVIL)
    page.fill("#contains", EVIL)
    page.keyboard.press("Enter")
    until(lambda: page.locator("#rejects tbody tr").count() == 1)
    expect_text(page, "#rejects td", EVIL)
    assert "broken" not in page.title()
    assert page.locator("#rejects img, #rejects script").count() == 0


def test_charts_show_the_hour_and_say_in_words_what_they_end_in(window):
    page = window.open(f"/dashboard/jobs/{LONG_NUMBER}")
    page.wait_for_selector("[data-drawn]")
    assert int(page.get_attribute("[data-minutes]", "data-drawn")) >= 59
    for name in ("creates", "latency", "errors", "throttle"):
        assert page.evaluate(INKED, f"#chart-{name} canvas") > 500
    assert "allowed 1260" in page.get_attribute("#chart-creates canvas", "aria-label")
    assert "RESOURCE_EXHAUSTED" in page.get_attribute("#chart-errors canvas", "aria-label")
    page.select_option("#window", "30")
    page.wait_for_selector("[data-drawn='30']")


INKED = """
selector => {
  const canvas = document.querySelector(selector);
  const dots = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return dots.filter((value, i) => i % 4 === 3 && value > 128).length;
}
"""


def test_each_step_of_the_ramp_has_its_reason(window):
    page = window.open(f"/dashboard/jobs/{LONG_NUMBER}")
    steps = page.locator("[data-part=steps] tbody tr")
    assert steps.count() == 6
    assert "7 % of creates failed with RESOURCE_EXHAUSTED" in steps.nth(1).inner_text()


def test_pages_serve_without_scripts(window):
    page = window.open(f"/dashboard/jobs/{LONG_NUMBER}", java_script_enabled=False)
    expect_text(page, ".headline", "100 of 250 records")
    page.fill("#contains", "not json")
    page.click(".find button")
    expect_text(page, "h1", "not json")
    assert page.locator("tbody tr").count() == 1


@pytest.mark.parametrize(("path", "most_kb"), [("/", 20), (f"/dashboard/jobs/{LONG_NUMBER}", 210)])
def test_a_first_load_is_small_and_the_next_is_smaller(window, path, most_kb, capsys):
    page = window.open(path)
    page.wait_for_load_state("networkidle")
    first_kb, ready_ms = page.evaluate(LOADED)
    page.goto(path)
    page.wait_for_load_state("networkidle")
    again_kb, again_ms = page.evaluate(LOADED)
    with capsys.disabled():
        print(f"\n{path}: {first_kb:.1f} KB, {ready_ms:.0f} ms; ", end="")  # noqa: T201
        print(f"again {again_kb:.1f} KB, {again_ms:.0f} ms")  # noqa: T201
    assert again_kb < first_kb < most_kb


LOADED = """
() => {
  const [page] = performance.getEntriesByType("navigation");
  const all = [page, ...performance.getEntriesByType("resource")];
  return [all.reduce((sum, each) => sum + each.transferSize, 0) / 1024, page.loadEventEnd];
}
"""
