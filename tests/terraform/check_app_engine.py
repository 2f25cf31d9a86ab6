"""app.yaml and cron.yaml as Google's own loaders read them, run by an interpreter that has those.

    check_app_engine.py APP_YAML CRON_YAML

Also makes mistakes in them on purpose: a loader that lets these pass checks nothing. The loaders
know nothing of instance classes, and this package of theirs no grammar of schedules.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from google.appengine.api import appinfo, croninfo

Load = Callable[[str], object]
MISTAKES_IN_APP = {
    "a misspelt key": ("entrypoint:", "entrypiont:"),
    "a misspelt key inside": ("max_instances:", "max_instnces:"),
    "text for a number": ("max_instances: 20", "max_instances: many"),
    "a security that there is not": ("secure: always", "secure: sometimes"),
    "no runtime": ("runtime: python313\n", ""),
    "two ways to scale": ("handlers:\n", "basic_scaling:\n  max_instances: 2\nhandlers:\n"),
    "a service's name that cannot be": ("instance_class:", "service: Worker_1\ninstance_class:"),
}
MISTAKES_IN_CRON = {
    "a misspelt key": ("schedule:", "shedule:"),
    "no schedule": ("  schedule: every 1 minutes\n", ""),
    "no route": ("  url: /control/tick\n", ""),
}


def main(app_yaml: str, cron_yaml: str) -> list[str]:
    """Return what is wrong with the files, and which mistakes are not seen."""
    app, cron = Path(app_yaml).read_text(), Path(cron_yaml).read_text()
    return [
        *faults(app_yaml, app, appinfo.LoadSingleAppInfo, MISTAKES_IN_APP),
        *faults(cron_yaml, cron, croninfo.LoadSingleCron, MISTAKES_IN_CRON),
    ]


def faults(name: str, text: str, load: Load, mistakes: dict[str, tuple[str, str]]) -> list[str]:
    """Say what the loader has against the text, and what it ought to have against mistakes."""
    found = [f"{name}: {complaint(load, text)}"] if complaint(load, text) else []
    for mistake, (old, new) in mistakes.items():
        if old not in text:
            found.append(f"{name}: has no {old!r}, so {mistake} cannot be tried")
        elif not complaint(load, text.replace(old, new, 1)):
            found.append(f"{name}: {mistake} is let pass")
    return found


def complaint(load: Load, text: str) -> str:
    """Return the first line of what the loader says; empty when it takes the text."""
    try:
        load(text)
    except Exception as error:  # noqa: BLE001  (the loaders raise of many kinds)
        return (str(error) or type(error).__name__).splitlines()[0]
    return ""


if __name__ == "__main__":
    problems = main(*sys.argv[1:])
    tried = len(MISTAKES_IN_APP) + len(MISTAKES_IN_CRON)
    sys.stdout.write("\n".join(problems or [f"App Engine takes both; {tried} mistakes are seen"]))
    sys.stdout.write("\n")
    sys.exit(bool(problems))
