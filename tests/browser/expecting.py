"""What a page is waited for to show."""


def expect_text(page, selector, text):
    found = page.locator(selector).filter(has_text=text)
    found.first.wait_for(state="attached", timeout=20_000)
