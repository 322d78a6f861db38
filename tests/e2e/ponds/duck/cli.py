"""The commands of the duck system."""

import typer

app = typer.Typer(help="Ducks, counted.", no_args_is_help=True)


@app.command()
def count(
    name: str = typer.Argument(help="Whose."),
) -> None:
    """Count the ducks of somebody."""
    typer.echo(f"{name} has three ducks")


@app.command()
def feed() -> None:
    """Feed them."""
