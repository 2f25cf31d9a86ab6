"""What this program calls itself when it calls."""

from importlib.metadata import version

USER_AGENT = f"cloud-tasks-injector/{version('cloud-tasks-injector')}"
