"""The way from any released schema to the present one, and from nothing."""
