"""Reads to the end: pages of a Query or Scan, one after the other, as a client would."""


def read_pages(call, /, **request):
    """Every page, following LastEvaluatedKey until it is absent."""
    pages, start = [], {}
    while True:
        page = call(**request | start)
        pages.append(page)
        if "LastEvaluatedKey" not in page:
            return pages
        assert len(pages) < 500, "paging does not end"
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


def read_all(call, /, **request):
    """The items of all pages."""
    return [found for page in read_pages(call, **request) for found in page["Items"]]
