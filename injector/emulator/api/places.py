"""Locations, and the encryption key that each may have."""

import re

from injector.emulator.api import messages, pages, paths
from injector.emulator.api.refusals import bad_parent, invalid, not_found
from injector.emulator.api.service import Service
from injector.emulator.filtering.parser import compile_filter
from injector.emulator.filtering.values import Reader, at_path

LOCATIONS = (
    "africa-south1",
    "asia-east1",
    "asia-east2",
    "asia-northeast1",
    "asia-northeast2",
    "asia-northeast3",
    "asia-south1",
    "asia-south2",
    "asia-southeast1",
    "asia-southeast2",
    "australia-southeast1",
    "australia-southeast2",
    "europe-central2",
    "europe-north1",
    "europe-southwest1",
    "europe-west1",
    "europe-west10",
    "europe-west12",
    "europe-west2",
    "europe-west3",
    "europe-west4",
    "europe-west6",
    "europe-west8",
    "europe-west9",
    "me-central1",
    "me-central2",
    "me-west1",
    "northamerica-northeast1",
    "northamerica-northeast2",
    "southamerica-east1",
    "southamerica-west1",
    "us-central1",
    "us-east1",
    "us-east4",
    "us-east5",
    "us-south1",
    "us-west1",
    "us-west2",
    "us-west3",
    "us-west4",
)
_project = re.compile(r"projects/([A-Za-z0-9:.-]+)(?:/locations)?").fullmatch
_config = re.compile(
    r"(projects/[A-Za-z0-9:.-]+/locations/([A-Za-z0-9-]+))/[cC]mekConfig"
).fullmatch
_key = re.compile(
    r"projects/[A-Za-z0-9:.-]+/locations/([A-Za-z0-9-]+)/keyRings/[A-Za-z0-9_-]{1,63}"
    r"/cryptoKeys/[A-Za-z0-9_-]{1,63}"
).fullmatch


def list_locations(
    service: Service, request: messages.ListLocationsRequest
) -> messages.ListLocationsResponse:
    """Return a page of the locations there are, by name."""
    match = _project(request.name)
    if match is None:
        raise bad_parent(request.name)
    accepts = compile_filter(request.filter, _field)
    known = [_location(match[1], location) for location in _known(service)]
    now = service.now()
    scope = f"locations/{request.name}/{request.filter}"
    after = pages.read(request.page_token, scope=scope, now=now)
    size = pages.size(request.page_size, len(known))
    left = [place for place in known if place.location_id > after and accepts(_tree(place))]
    response = messages.ListLocationsResponse(locations=left[:size])
    if len(left) > size:
        response.next_page_token = pages.write(left[size - 1].location_id, scope=scope, now=now)
    return response


def get_location(service: Service, request: messages.GetLocationRequest) -> messages.Location:
    """Return a location."""
    where = paths.location(request.name)
    if where.location not in _known(service):
        raise not_found()
    return _location(where.project, where.location)


def get_cmek_config(
    service: Service, request: messages.GetCmekConfigRequest
) -> messages.CmekConfig:
    """Return a location's encryption key; none by default."""
    location, _ = _split(request.name)
    return messages.CmekConfig(
        name=f"{location}/cmekConfig", kms_key=service.keys.get(location, "")
    )


def update_cmek_config(
    service: Service, request: messages.UpdateCmekConfigRequest
) -> messages.CmekConfig:
    """Set a location's encryption key; blank turns encryption with it off."""
    location, region = _split(request.cmek_config.name)
    mask = set(request.update_mask.paths)
    if not mask <= {"kms_key", "name", "*"}:
        raise invalid("Invalid field mask: only 'kms_key' can be updated.")
    if not mask or mask & {"kms_key", "*"}:
        _check_key(request.cmek_config.kms_key, region)
        service.set_key(location, request.cmek_config.kms_key)
    return get_cmek_config(service, messages.GetCmekConfigRequest(name=f"{location}/cmekConfig"))


def _known(service: Service) -> tuple[str, ...]:
    return tuple(sorted(service.rules.locations)) or LOCATIONS


def _field(name: str) -> Reader:
    """Return what reads a location's field by its name, in snake_case or camelCase."""
    root, _, rest = name.partition(".")
    for field in messages.Location.DESCRIPTOR.fields:
        if root in (field.name, field.camelcase_name):
            return at_path((field.name, rest) if rest else (field.name,))
    raise invalid(f"Invalid filter: '{name}' is not a field of a location.")


def _tree(place: messages.Location) -> dict[str, object]:
    return messages.MessageToDict(place, preserving_proto_field_name=True)


def _location(project: str, location: str) -> messages.Location:
    return messages.Location(
        name=f"projects/{project}/locations/{location}",
        location_id=location,
        labels={"cloud.googleapis.com/region": location},
    )


def _split(name: str) -> tuple[str, str]:
    match = _config(name)
    if match is None:
        raise invalid(
            'CmekConfig name must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>/'
            'cmekConfig".'
        )
    return match[1], match[2]


def _check_key(key: str, region: str) -> None:
    if not key:
        return
    match = _key(key)
    if match is None:
        raise invalid(
            'CmekConfig.kmsKey must be formatted: "projects/<PROJECT_ID>/locations/<LOCATION_ID>/'
            'keyRings/<KEY_RING_ID>/cryptoKeys/<KEY_ID>".'
        )
    if match[1] not in (region, "global"):
        raise invalid(f"CmekConfig.kmsKey must be a key in '{region}', not in '{match[1]}'.")
