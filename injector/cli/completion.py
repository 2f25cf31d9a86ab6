"""`injector completion`."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_INJECTOR_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def command(shell: str) -> None:
    """Print what completes commands, options and job ids in SHELL.

    bash and zsh: put `eval "$(injector completion bash)"` into ~/.bashrc, or with zsh into
    ~/.zshrc. fish: write it to ~/.config/fish/completions/injector.fish.

    Example: injector completion bash
    """
    from injector.cli.main import cli  # noqa: PLC0415  (it imports this module's command)

    kind = get_completion_class(shell)
    assert kind
    click.echo(kind(cli, {}, "injector", VARIABLE).source())
