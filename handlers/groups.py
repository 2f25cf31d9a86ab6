"""The groups: their ramps, and what the controller decided."""

from flask import Blueprint, Response, jsonify

from handlers.context import parts
from handlers.views import decision_view, viewer
from injector.errors import NotFound

DECISIONS = 50

groups = Blueprint("groups", __name__)


@groups.get("/groups")
def listed() -> Response:
    """List the groups."""
    view = viewer(parts())
    return jsonify(groups=[view.group(group) for group in parts().settings.groups.values()])


@groups.get("/groups/<name>")
def shown(name: str) -> Response:
    """Show a group with its latest decisions, newest first."""
    group = parts().settings.groups.get(name)
    if group is None:
        raise NotFound(f"there is no group {name!r}; GET /groups lists those there are")
    decisions = parts().ledger.groups.decisions(name, limit=DECISIONS)
    shown = viewer(parts()).group(group)
    return jsonify(**shown, decisions=[decision_view(decision) for decision in decisions])
