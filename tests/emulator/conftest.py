"""Emulators for tests: called directly in frozen time, or alive with a target."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.emulator.direct import Direct, direct_emulator


@pytest.fixture
def emulate() -> Iterator[Callable[..., Direct]]:
    """Yield what makes emulators in frozen time, without dynamics unless asked for."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(direct_emulator(**options))


@pytest.fixture
def direct(emulate) -> Direct:
    """Return an emulator in frozen time, without dynamics."""
    return emulate()
