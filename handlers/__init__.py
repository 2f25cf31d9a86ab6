"""The HTTP service: thin handlers over the injector."""
