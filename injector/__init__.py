"""A bulk task fan-out injector for Google Cloud Tasks."""
