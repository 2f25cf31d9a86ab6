"""What gunicorn serves: `handlers.wsgi:application()`."""

from flask import Flask

from handlers.app import create_app
from injector.settings import read_service_settings


def application() -> Flask:
    """Make the application from the environment; raise Misused that lists all that is wrong."""
    return create_app(read_service_settings())
