"""HTTP/2 as gRPC uses it: what the emulator's side of a connection and ours have in common."""
