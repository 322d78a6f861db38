"""ListContributorInsights: the tables and indexes with insights, page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from hashrange.core.errors import ValidationException
from hashrange.engine.control_plane.contributor_insights import list_settings
from hashrange.engine.operation import operation

if TYPE_CHECKING:
    from hashrange.engine.engine import Engine


@operation()
def list_contributor_insights(engine: Engine, request: dict[str, Any]) -> bytes:
    """Return a page of settings; disabled ones are left out."""
    names = [engine.catalog.locate(request["TableName"]).name] if "TableName" in request else engine.catalog.names()
    summaries = [each for name in names for each in list_settings(engine.catalog.locate(name), engine.now())]
    token, most = request.get("NextToken"), max(request.get("MaxResults", 100), 1)
    start = next((at for at, each in enumerate(summaries, 1) if _make_token(each) == token), 0)
    if token is not None and not start:
        raise ValidationException("Invalid NextToken")
    page = summaries[start : start + most]
    response: dict[str, Any] = {"ContributorInsightsSummaries": page}
    if start + most < len(summaries):
        response["NextToken"] = _make_token(page[-1])
    return orjson.dumps(response)


def _make_token(summary: dict[str, Any]) -> str:
    """Return the token that continues after a setting; table names contain no slash."""
    return f"{summary['TableName']}/{summary.get('IndexName', '')}".encode().hex()
