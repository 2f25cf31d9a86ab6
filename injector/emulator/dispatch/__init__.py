"""Tasks on their way to their targets."""
