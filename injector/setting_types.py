"""What values of the environment are: each type reads its text, and refuses what will not do."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SkipValidation

from injector.delivery.address import EMULATOR_PORT, parse_address
from injector.errors import Misused
from injector.groups import Group


def _emails(value: object) -> object:
    """Split a list written as text; addresses are compared in lower case."""
    if not isinstance(value, str):
        return value
    emails = tuple(email.lower() for email in value.replace(",", " ").split())
    if not all("@" in email.strip("@") for email in emails):
        raise ValueError("not an e-mail address")
    return emails


def _places(value: object) -> object:
    """Split a list written as text."""
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else value


def _groups(value: object) -> object:
    """Read groups written in place, or in the file that the text names."""
    if not isinstance(value, str):
        return value
    from injector.manifest.groups_file import load_groups  # noqa: PLC0415  (YAML is slow to load)

    try:
        if "\n" in value or value.lstrip().startswith("{"):
            return load_groups(value, source="groups")
        return load_groups(Path(value).read_text(encoding="utf-8"), source=value)
    except (Misused, OSError) as error:
        raise ValueError(str(error)) from error


def base_url_of(value: str) -> str:
    """Take a URL that can be an OIDC audience: no query, no fragment, no slash at the end."""
    parts = urlsplit(value)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.port == 0:
        raise ValueError("not an http(s) URL")
    if parts.query or parts.fragment or parts.username:
        raise ValueError("a query, a fragment or a user name")
    return value.rstrip("/")


def _hedge_delay(value: float) -> float:
    if value != 0 and not 0.1 <= value <= 10:
        raise ValueError("out of range")
    return value


def _host_and_port(value: str) -> str:
    """Take an address as gRPC wants it, without the scheme that people copy along."""
    try:
        return parse_address(value, default_port=EMULATOR_PORT)
    except Misused as error:
        raise ValueError(str(error)) from error


Seconds = Annotated[float, Field(gt=0, le=1800, allow_inf_nan=False)]
Emails = Annotated[tuple[str, ...], BeforeValidator(_emails)]
Places = Annotated[tuple[str, ...], BeforeValidator(_places)]
Groups = Annotated[SkipValidation[Mapping[str, Group]], BeforeValidator(_groups)]
HedgeDelay = Annotated[float, AfterValidator(_hedge_delay)]
Url = Annotated[str, AfterValidator(base_url_of)]
Address = Annotated[str, AfterValidator(_host_and_port)]
