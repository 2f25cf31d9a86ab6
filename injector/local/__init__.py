"""The whole product on this machine: emulator, service, ticks, and a target if wanted."""
