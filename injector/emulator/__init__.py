"""A Cloud Tasks on this machine."""
