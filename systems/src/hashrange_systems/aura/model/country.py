"""Countries of shops: ISO 3166 codes in upper case, and ZZ for an unknown one. No I/O."""

from __future__ import annotations

from functools import cache

from hashrange_systems.shared.errors import FieldError, InvalidInput

UNKNOWN = "ZZ"
PREFIX = "COUNTRY#"


def parse_country(text: str | None) -> str:
    """Return the code of a country given as `de`, `DE`, `COUNTRY#DE` or nothing; raise InvalidInput."""
    code = (text or "").strip().upper().removeprefix(PREFIX)
    if not code or code == UNKNOWN:
        return UNKNOWN
    if code not in _names():
        raise InvalidInput(
            [FieldError("country", f"{code!r} is not an ISO 3166 code of a country: write DE, FR, GB ...")]
        )
    return code


def country_name(code: str) -> str:
    """Return the English name of a country; the code itself if it is none."""
    return "Unknown country" if code == UNKNOWN else _names().get(code, code)


def all_countries() -> tuple[tuple[str, str], ...]:
    """Return the codes and names of all countries, by name."""
    return tuple(sorted(_names().items(), key=lambda entry: entry[1]))


@cache
def _names() -> dict[str, str]:
    import pycountry

    return {country.alpha_2: getattr(country, "common_name", country.name) for country in pycountry.countries}
