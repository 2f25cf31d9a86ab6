"""App Engine routing: the host that service, version and instance stand for."""

from injector.emulator.api import messages

_REGIONS = {
    "asia-east1": "de",
    "asia-east2": "df",
    "asia-northeast1": "an",
    "asia-northeast2": "dt",
    "asia-northeast3": "du",
    "asia-south1": "el",
    "asia-southeast1": "as",
    "asia-southeast2": "et",
    "australia-southeast1": "ts",
    "europe-central2": "lm",
    "europe-west1": "ew",
    "europe-west2": "nw",
    "europe-west3": "ey",
    "europe-west6": "oa",
    "northamerica-northeast1": "nn",
    "southamerica-east1": "rj",
    "us-central1": "uc",
    "us-east1": "ue",
    "us-east4": "uk",
    "us-west1": "uw",
    "us-west2": "wl",
    "us-west3": "wm",
    "us-west4": "wn",
}


def fill_host(routing: messages.AppEngineRouting, *, project: str, location: str) -> None:
    """Set the host: output only, and without a scheme (as production's task size shows)."""
    region = _REGIONS.get(location, "uc")
    parts = [routing.instance, routing.version, routing.service, project, region]
    routing.host = ".".join([part for part in parts if part] + ["r", "appspot", "com"])


def split_size(routing: messages.AppEngineRouting) -> int:
    """Return the bytes of what the service reads off the host instead of storing it."""
    parts = messages.AppEngineRouting(
        service=routing.service, version=routing.version, instance=routing.instance
    )
    return parts.ByteSize()
