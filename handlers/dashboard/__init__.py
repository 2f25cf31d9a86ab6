"""The dashboard: jobs and groups in sight, and the buttons that steer them."""

from handlers.dashboard.pages import dashboard, register

__all__ = ["dashboard", "register"]
