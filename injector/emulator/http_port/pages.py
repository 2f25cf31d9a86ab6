"""Pages for people, Prometheus, and those who verify tokens."""

from html import escape
from time import gmtime, strftime

from aiohttp import web

from injector.emulator.http_port.prometheus import scrape
from injector.emulator.http_port.sight import QueueRow, queue_rows
from injector.emulator.parts import Parts

_COLUMNS = ("Queue", "State", "Depth", "In flight", "Rate/s", "Enforced/s", "Last minute")
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="2">
<title>Cloud Tasks emulator</title><style>
body {{ font: 15px system-ui, sans-serif; margin: 2rem; color: #1b1f23; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ padding: .35rem .7rem; border-bottom: 1px solid #d0d7de; text-align: right; }}
th:first-child, td:first-child, th:last-child, td:last-child {{ text-align: left; }}
.held {{ color: #9a6700; font-weight: 600; }}
</style></head><body><h1>Cloud Tasks emulator</h1>
<p>{time} UTC, clock {clock}, {queues} queues, {tasks} tasks</p>
<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></body></html>"""


async def show_status(parts: Parts, request: web.Request) -> web.Response:
    """Show queues, depths, and the rates that are configured and enforced."""
    del request
    rows = queue_rows(parts)
    speed = parts.clock.speed
    page = _PAGE.format(
        time=strftime("%Y-%m-%d %H:%M:%S", gmtime(parts.clock.now())),
        clock=f"at speed {speed:g}" if speed else "frozen",
        queues=len(rows),
        tasks=sum(row.depth for row in rows),
        head="".join(f"<th>{column}</th>" for column in _COLUMNS),
        rows="".join(map(_row, rows)),
    )
    return web.Response(text=page, content_type="text/html")


async def show_metrics(parts: Parts, request: web.Request) -> web.Response:
    """Show the metrics to Prometheus."""
    del request
    return web.Response(body=scrape(parts), content_type="text/plain")


async def show_discovery(parts: Parts, request: web.Request) -> web.Response:
    """Show where the issuer's keys are (OpenID Connect discovery)."""
    del request
    return web.json_response(parts.issuer.discovery())


async def show_keys(parts: Parts, request: web.Request) -> web.Response:
    """Show the issuer's public key as a JSON Web Key Set."""
    del request
    return web.json_response(parts.issuer.key_set())


async def show_certificates(parts: Parts, request: web.Request) -> web.Response:
    """Show the issuer's public key in PEM, as google-auth's verifier wants it."""
    del request
    return web.json_response(parts.issuer.public_pem())


async def show_health(parts: Parts, request: web.Request) -> web.Response:
    """Say that the emulator is there."""
    del parts, request
    return web.json_response({"status": "ok"})


def _row(row: QueueRow) -> str:
    held = row.enforced_rate < row.rate
    attempts = ", ".join(f"{n} {code}" for code, n in sorted(row.attempts_last_minute.items()) if n)
    cells = (
        escape(row.name),
        row.state,
        f"{row.depth:,}",
        f"{row.in_flight:,} of {row.max_concurrent:,}",
        f"{row.rate:g}",
        f'<span class="held">{row.enforced_rate:g}</span>' if held else f"{row.enforced_rate:g}",
        attempts,
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


ROUTES = (
    ("GET", "/", show_status),
    ("GET", "/healthz", show_health),
    ("GET", "/metrics", show_metrics),
    ("GET", "/.well-known/openid-configuration", show_discovery),
    ("GET", "/oauth2/v3/certs", show_keys),
    ("GET", "/oauth2/v1/certs", show_certificates),
)
