"""The option `--target` of commands: the database that a command works on (`client.target` opens it)."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

TARGETS = """[bold]Targets[/bold]

\b
  ./data                      a data directory that no server has open
  http://127.0.0.1:8000       hashrange serve, or another server of the protocol
  aws                         DynamoDB, with the credentials and the region that the AWS CLI would use
  aws:PROFILE                 ... of a profile of ~/.aws/config
  aws:PROFILE/eu-west-1       ... in another region; aws:/eu-west-1 without a profile"""

TargetOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--target",
        help="The database: a data directory, a URL, aws, or aws:PROFILE/REGION.",
        envvar="HASHRANGE_TARGET",
        metavar="DIRECTORY|URL|aws",
    ),
]
