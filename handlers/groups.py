"""The groups: their ramps, what the controller decided, and their queues."""

from flask import Blueprint, Response

from handlers.context import parts
from handlers.known import known_group
from handlers.models import GroupList, GroupWithDecisions, QueueList
from handlers.queues import queues_of, rights_of
from handlers.views import answer, decision_view, viewer
from injector.groups import Group

DECISIONS = 50

groups = Blueprint("groups", __name__)


@groups.get("/groups")
def listed() -> Response:
    """List the groups."""
    view = viewer(parts())
    found = parts().settings.groups.values()
    return answer(GroupList(groups=[view.group(group) for group in found]))


@groups.get("/groups/<name>")
def shown(name: str) -> Response:
    """Show a group with its latest decisions, newest first."""
    shown = viewer(parts()).group(_group(name))
    newest = parts().ledger.groups.decisions(name, limit=DECISIONS)
    decisions = [decision_view(decision) for decision in newest]
    return answer(GroupWithDecisions(**dict(shown), decisions=decisions))


@groups.get("/groups/<name>/queues")
def queues(name: str) -> Response:
    """Show each queue of a group as it is now, or what is wrong with it."""
    return answer(QueueList(queues=list(queues_of(parts(), _group(name)))))


@groups.get("/groups/<name>/rights")
def rights(name: str) -> Response:
    """Show what this service may not do with a group's queues and with the store, and why not."""
    return answer(rights_of(parts(), _group(name)))


def _group(name: str) -> Group:
    return known_group(parts().settings, name)
