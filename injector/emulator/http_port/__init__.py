"""The HTTP port beside gRPC: REST, control, metrics, status, and the issuer's pages."""
