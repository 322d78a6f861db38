"""The routes of a system's web application, so that a test can try every one of them."""

from fastapi.routing import APIRoute


def flatten(routes):
    """The routes of an application or a router, also of the routers that it includes."""
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        elif hasattr(route, "original_router"):
            yield from flatten(route.original_router.routes)


def list_requests(app):
    """Every method and path that an application answers."""
    return sorted((method, route.path) for route in flatten(app.routes) for method in route.methods - {"HEAD"})
