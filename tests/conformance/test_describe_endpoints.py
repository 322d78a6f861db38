"""DescribeEndpoints: a client that discovers endpoints keeps the endpoint that it has."""


def test_there_is_one_endpoint_which_may_be_kept_for_a_day(client):
    (endpoint,) = client.describe_endpoints()["Endpoints"]
    assert endpoint["CachePeriodInMinutes"] == 1440


def test_it_is_the_address_the_client_uses_already(client):
    (endpoint,) = client.describe_endpoints()["Endpoints"]
    assert endpoint["Address"] == client.meta.endpoint_url.partition("//")[2]
