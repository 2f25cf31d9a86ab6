"""One module per operation on a group, thin."""
