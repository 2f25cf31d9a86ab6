"""A group of commands that imports a subcommand only when it runs, so that --help is quick."""

import importlib
from collections.abc import Mapping

import click
from click.shell_completion import CompletionItem


class Lazy(click.Group):
    """A group whose `table` names its commands with what they do, in the order one needs them.

    The command `a-b` is `command` in the module `a_b` of `package`.
    """

    table: Mapping[str, str] = {}
    package = "injector.cli"

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  (click's signature)
        """Name the subcommands."""
        return list(self.table)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002  (click's signature)
        cmd_name: str,
    ) -> click.Command | None:
        """Import the subcommand's module."""
        if cmd_name not in self.table:
            return None
        module = f"{self.package}.{cmd_name.replace('-', '_')}"
        found = importlib.import_module(module).command
        return found if isinstance(found, click.Command) else None

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002  (click's signature)
        formatter: click.HelpFormatter,
    ) -> None:
        """List the subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.table.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a subcommand's name without importing any."""
        names = (name for name in self.table if name.startswith(incomplete))
        found = [CompletionItem(name, help=self.table[name]) for name in names]
        return found or super().shell_complete(ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand, or say which one is nearest."""
        if args and not args[0].startswith("-") and args[0] not in self.table:
            raise click.UsageError(self._unknown(args[0], ctx), ctx)
        return super().resolve_command(ctx, args)

    def _unknown(self, name: str, ctx: click.Context) -> str:
        from difflib import get_close_matches  # noqa: PLC0415  (only a mistake needs it)

        near = get_close_matches(name, self.table, n=1)
        remedy = f"did you mean {near[0]!r}?" if near else f"see {ctx.command_path} --help"
        return f"no command {name!r}; {remedy}"
