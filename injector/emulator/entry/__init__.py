"""The way in: layers of one shape (rpc.Handle), each named for what it adds."""
