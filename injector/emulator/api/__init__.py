"""What callers can ask for: a function of bytes for each method."""
