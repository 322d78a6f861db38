"""The commands of the stock system."""

import typer

app = typer.Typer(help="Products, counted.", no_args_is_help=True)


@app.command()
def count(
    name: str = typer.Argument(help="Whose."),
) -> None:
    """Count the products of somebody."""
    typer.echo(f"{name} has three products")


@app.command()
def recount() -> None:
    """Count them again."""
