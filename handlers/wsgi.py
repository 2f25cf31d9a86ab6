"""What gunicorn serves: `handlers.wsgi:application()`."""

from flask import Flask

from handlers.app import create_app
from handlers.cron import posted_cron
from injector.settings import read_service_settings


def application() -> Flask:
    """Make the application from the environment; raise Misused that lists all that is wrong."""
    settings = read_service_settings()
    app = create_app(settings)
    if settings.auth == "app-engine":
        app.wsgi_app = posted_cron(app.wsgi_app)  # type: ignore[assignment,method-assign]
    return app
