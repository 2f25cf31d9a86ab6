"""Faults on demand: a plan, and a receipt of what it did."""
