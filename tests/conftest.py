"""What holds for all tests."""

import signal

from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")

# A shell ignores Ctrl-C for what it runs in the background, and processes inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
