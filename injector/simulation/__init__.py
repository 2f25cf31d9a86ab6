"""A job against a model of the service, in virtual time, under the real controller."""

from injector.simulation.run import Row, Simulation, simulate
from injector.simulation.scenario import Burst, Scenario, Slowness, Span, Target

__all__ = [
    "Burst",
    "Row",
    "Scenario",
    "Simulation",
    "Slowness",
    "Span",
    "Target",
    "simulate",
]
