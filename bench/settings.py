"""What one run measures and for how long: the command line, parsed."""

from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
PEERS_DIR = HERE / ".peers"
DATA_DIR = PEERS_DIR / "data"  # beside the sources, not in /tmp: where /tmp is memory, "on disk" would be a lie
OURS = "hashrange"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The choices of one run; every benchmark reads the ones it knows."""

    seconds: int = 3
    rounds: int = 3
    rows: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    durability: tuple[str, ...] = ("memory", "disk")
    connections: tuple[int, ...] = (16, 1)
    items: int = 10_000_000
    bulk_items: int = 500_000
    rate: int = 1_000
    starts: int = 3
    checks: int = 10_000
    soak: int = 30
    resources: int = 100_000
    shop_pages: int = 5_000
    urls: int = 1_000_000
