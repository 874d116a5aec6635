"""All commands together."""

from typing import Annotated

import typer

from thriftwood._version import __version__
from thriftwood.cli.bill import bill
from thriftwood.cli.demo import demo
from thriftwood.cli.export import export
from thriftwood.cli.frontier import frontier
from thriftwood.cli.info import info
from thriftwood.cli.prune import prune
from thriftwood.cli.train import train
from thriftwood.cli.verify import verify
from thriftwood.cli.warm_up import warm_up

app = typer.Typer(
    help="Prune tree ensembles optimally where features cost money, time or energy.",
    epilog="Begin with: thriftwood demo",
    no_args_is_help=True,
    rich_markup_mode=None,  # plain help: the same in a pipe, and nothing more to load
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
# In the order in which somebody needs them.
for command in (demo, info, bill, frontier, prune, verify, export, train, warm_up):
    app.command()(command)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"thriftwood {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _version_asked: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """Prune tree ensembles optimally where features cost money, time or energy."""
