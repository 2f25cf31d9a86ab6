"""`python -m injector` is the command `injector`."""

from injector.cli.main import main

main()
