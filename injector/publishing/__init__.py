"""Publish hedging for google-cloud-pubsub: a second copy beside a slow publish, the first taken.

Usable without the rest of this package; install the extra `pubsub`. See docs/publishing.md.
"""

from injector.pacing.hedge import HedgingSettings
from injector.publishing.client import HedgedPublisherClient
from injector.publishing.hedger import HedgingStats

__all__ = ["HedgedPublisherClient", "HedgingSettings", "HedgingStats"]
