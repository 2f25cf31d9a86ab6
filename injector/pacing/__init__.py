"""How fast: the rules, pure, with time and chance passed in."""
