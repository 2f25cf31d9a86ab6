"""What the user asks for: schema, loading, and a record's request."""
