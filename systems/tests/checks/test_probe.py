"""Probes of real servers on loopback ports: every way in which a target is up, down or unknown."""

import asyncio
import json
import ssl
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
import trustme

from hashrange import ManualClock
from hashrange_systems.checks.model.fetch_result import Cause
from hashrange_systems.checks.model.outcome import Status
from hashrange_systems.checks.registry import parse_attributes
from hashrange_systems.checks.service.ebay_search import EbayAccess, read_grant
from hashrange_systems.checks.service.host_concurrency import HostBusy, HostLimiter
from hashrange_systems.checks.service.prober import Prober
from hashrange_systems.shared.fetching.fetcher import Fetcher
from hashrange_systems.shared.fetching.policy import Policy
from systems.tests.checks.model import storefront
from systems.tests.checks.model.storefront import LAYOUTS, Listing
from systems.tests.shared.fetching.target import ENOUGH, LOOPBACK, ScriptedResolver, build, never_reached, serving

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)
NAMES = {"a_example": [["127.0.0.1"]], "here_example": [["10.0.0.1"]]}


def make_prober(policy=LOOPBACK, resolver=None, **more):
    fetcher = Fetcher(policy, resolver=resolver or ScriptedResolver(**NAMES))
    return Prober(fetcher, ManualClock(NOW.timestamp()), **more)


def probe(script, url="http://127.0.0.1:{port}/", *, tls=None, policy=LOOPBACK, resolver=None, **attributes):
    """Probe a server that follows a script."""

    async def run():
        async with asyncio.timeout(ENOUGH), serving(script, tls=tls) as port:
            prober = make_prober(policy, resolver)
            return await prober.probe(url.format(port=port), parse_attributes("AVAILABILITY", attributes))

    return asyncio.run(run())


def answering(body=b"hello", **more):
    async def script(exchange):
        await exchange.respond(body, **more)

    return script


# ── reachability ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_page_that_answers_is_up_with_its_times():
    outcome = probe(answering(), "http://a.example:{port}/")
    assert (outcome.status, outcome.http_status, outcome.cause) == (Status.UP, 200, None)
    assert outcome.response_time is not None
    times = outcome.phases
    assert None not in (times.dns, times.connect, times.first_byte)
    assert times.tls is None


@pytest.mark.parametrize(("status", "accepted", "found"), [(500, "200-299", "DOWN"), (404, "200-299,404", "UP")])
def test_the_status_must_be_one_that_is_accepted(status, accepted, found):
    outcome = probe(answering(status=status), acceptedStatus=accepted)
    assert (outcome.status, outcome.http_status) == (Status(found), status)


def test_a_page_that_takes_too_long_is_down():
    async def script(exchange):
        await exchange.stay_silent()

    outcome = probe(script, timeoutMs=150)
    assert (outcome.status, outcome.cause) == (Status.DOWN, Cause.TIMEOUT)
    assert outcome.response_time >= 150


@pytest.mark.parametrize(("threshold", "found"), [("slowMs", "DEGRADED"), ("tooSlowMs", "DOWN")])
def test_a_page_that_takes_longer_than_its_threshold_is_a_warning_or_an_outage(threshold, found):
    async def script(exchange):
        await asyncio.sleep(0.05)
        await exchange.respond(b"hello")

    outcome = probe(script, **{threshold: 20})
    assert (outcome.status, outcome.cause) == (Status(found), Cause.SLOW)
    assert probe(answering(), **{threshold: 60_000}).status is Status.UP


def test_a_connection_that_is_reset_is_down():
    async def script(exchange):
        exchange.reset()

    outcome = probe(script)
    assert (outcome.status, outcome.cause) == (Status.DOWN, Cause.CONNECT)


def test_a_port_where_nobody_listens_is_down():
    async def run():
        async with serving(never_reached) as port:
            pass
        return await make_prober().probe(f"http://127.0.0.1:{port}/", parse_attributes("AVAILABILITY", {}))

    outcome = asyncio.run(run())
    assert (outcome.status, outcome.cause) == (Status.DOWN, Cause.CONNECT)


def test_a_name_that_does_not_exist_is_down():
    outcome = probe(never_reached, "http://nowhere.example:{port}/")
    assert (outcome.status, outcome.cause) == (Status.DOWN, Cause.NAME)


def test_redirects_are_followed_unless_not_wished():
    async def script(exchange):
        if exchange.path == "/":
            await exchange.redirect("/there")
        else:
            await exchange.respond(b"arrived")

    assert probe(script, keyword="arrived").status is Status.UP
    outcome = probe(script, followRedirects=False)
    assert (outcome.status, outcome.http_status) == (Status.DOWN, 302)


def test_redirects_in_a_circle_are_down():
    async def script(exchange):
        await exchange.redirect("/b" if exchange.path == "/a" else "/a")

    outcome = probe(script)
    assert (outcome.status, outcome.cause) == (Status.DOWN, Cause.PROTOCOL)
    assert "circle" in outcome.message


def test_what_is_not_http_is_down():
    async def script(exchange):
        await exchange.say(b"220 mail.example ESMTP\r\n")

    assert probe(script).cause is Cause.PROTOCOL


def test_the_request_is_what_the_attributes_say():
    seen = []

    async def script(exchange):
        seen.append((exchange.head.split(" ")[0], exchange.header("x-token"), await exchange.body()))
        await exchange.respond()

    probe(script, method="POST", headers={"X-Token": "t"}, body="grüße")
    assert seen == [("POST", "t", "grüße".encode())]


def test_a_get_carries_no_body_and_no_length():
    seen = []

    async def script(exchange):
        seen.append(exchange.header("content-length"))
        await exchange.respond()

    probe(script)
    assert seen == [None]


def test_a_header_that_cannot_be_sent_has_an_outcome_that_says_so():
    outcome = probe(never_reached, headers={"Accept-Encoding": "br"})
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.REFUSED)
    assert "Accept-Encoding" in outcome.message


@pytest.mark.parametrize("url", ["http://here.example:{port}/", "http://10.0.0.1:{port}/", "http://127.0.0.1:25/"])
def test_an_address_that_we_do_not_visit_is_refused_not_down(url):
    outcome = probe(never_reached, url)
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.REFUSED)


def test_a_redirect_to_a_forbidden_address_is_the_targets_fault():
    async def script(exchange):
        await exchange.redirect("http://169.254.169.254/latest/meta-data")

    outcome = probe(script)
    assert (outcome.status, outcome.cause) == (Status.DOWN, Cause.PROTOCOL)


@pytest.mark.parametrize("host", ["127.0.0.1", "a.example"])
def test_a_redirect_to_our_own_pages_is_unknown_with_the_reason(host):
    async def run():
        async with asyncio.timeout(ENOUGH), serving(never_reached) as own:
            prober = make_prober(replace(LOOPBACK, own_ports=frozenset({own})))
            attributes = parse_attributes("AVAILABILITY", {})

            async def send_there(exchange):
                await exchange.redirect(f"http://{host}:{own}/status/shop")

            async with serving(send_there) as elsewhere:
                direct = await prober.probe(f"http://{host}:{own}/", attributes)
                return direct, await prober.probe(f"http://127.0.0.1:{elsewhere}/", attributes)

    direct, redirected = asyncio.run(run())
    assert (direct.status, direct.cause) == (Status.UNKNOWN, Cause.REFUSED)
    assert (redirected.status, redirected.cause) == (Status.UNKNOWN, Cause.OURS)
    assert (
        redirected.message
        == f"the redirect cannot be followed: {host} is at our own address, which may not be requested"
    )


# ── text ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
def test_a_keyword_that_is_gone_is_down():
    pages = iter([b"in stock", b"sorry"])

    async def script(exchange):
        await exchange.respond(next(pages))

    async def run():
        async with serving(script) as port:
            prober, attributes = make_prober(), parse_attributes("AVAILABILITY", {"keyword": "in stock"})
            return [await prober.probe(f"http://127.0.0.1:{port}/", attributes) for _ in range(2)]

    before, after = asyncio.run(run())
    assert (before.status, before.keyword_found) == (Status.UP, True)
    assert (after.status, after.keyword_found, after.cause) == (Status.DOWN, False, Cause.TEXT)


async def say_without_end(exchange):
    await exchange.say(build(200, ["Transfer-Encoding: chunked"]))
    while True:
        await exchange.say(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")


def test_an_endless_body_is_cut_and_proves_nothing_about_a_missing_keyword():
    assert probe(say_without_end).status is Status.UP
    outcome = probe(say_without_end, keyword="needle")
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.TEXT)


def test_a_body_that_never_ends_for_slowness_is_down():
    async def script(exchange):
        await exchange.say(build(200, ["Content-Length: 100"], b"x"))
        await exchange.stay_silent()

    assert probe(script, timeoutMs=150).cause is Cause.TIMEOUT


def test_a_text_in_another_charset_is_read_in_it():
    outcome = probe(answering("größe".encode("latin-1"), content_type="text/html; charset=iso-8859-1"), keyword="größe")
    assert outcome.status is Status.UP


# ── certificates ─────────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture(scope="module")
def trusting(authority, tmp_path_factory):
    path = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority.cert_pem.write_to_path(path)
    return Policy(exempt=LOOPBACK.exempt, ca_file=path)


def probe_tls(authority, trusting, not_after, **attributes):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("a.example", not_after=not_after).configure_cert(context)
    return probe(answering(), "https://a.example:{port}/", tls=context, policy=trusting, **attributes)


def test_a_valid_certificate_is_up_and_tells_its_days(authority, trusting):
    outcome = probe_tls(authority, trusting, NOW + 30 * DAY)
    assert (outcome.status, outcome.certificate_days) == (Status.UP, 30)
    assert outcome.phases.tls is not None


def test_a_certificate_that_expires_soon_is_a_warning(authority, trusting):
    outcome = probe_tls(authority, trusting, NOW + 5 * DAY)
    assert (outcome.status, outcome.cause, outcome.certificate_days) == (Status.DEGRADED, Cause.CERTIFICATE, 5)
    assert probe_tls(authority, trusting, NOW + 5 * DAY, tlsWarningDays=3).status is Status.UP


def test_an_expired_certificate_is_down(authority, trusting):
    outcome = probe_tls(authority, trusting, NOW - DAY)
    assert (outcome.status, outcome.cause) == (Status.DOWN, Cause.TLS)
    assert "expired" in outcome.message


def test_a_certificate_that_nobody_vouches_for_is_down(authority):
    assert probe_tls(authority, LOOPBACK, NOW + 30 * DAY).cause is Cause.TLS


# ── taking turns ─────────────────────────────────────────────────────────────────────────────────────────────────────
def test_no_more_than_so_many_look_at_one_host_at_once():
    here, most = set(), []

    async def script(exchange):
        here.add(exchange)
        most.append(len(here))
        await asyncio.sleep(0.01)
        here.remove(exchange)
        await exchange.respond()

    async def run():
        prober = make_prober(turns=HostLimiter(at_once=3, of_a_user=3))
        async with serving(script) as port:
            attributes = parse_attributes("AVAILABILITY", {})
            outcomes = await asyncio.gather(*(prober.probe(f"http://127.0.0.1:{port}/", attributes) for _ in range(12)))
        assert prober.turns.hosts == {}
        return outcomes

    assert {outcome.status for outcome in asyncio.run(run())} == {Status.UP}
    assert max(most) == 3


def test_who_waits_too_long_for_a_turn_says_that_it_was_our_side():
    async def script(exchange):
        await exchange.stay_silent()

    async def run():
        prober = make_prober(turns=HostLimiter(at_once=1, of_a_user=1, timeout_s=0.02))
        async with serving(script) as port:
            attributes = parse_attributes("AVAILABILITY", {"timeoutMs": 300})
            return await asyncio.gather(*(prober.probe(f"http://127.0.0.1:{port}/", attributes) for _ in range(2)))

    first, second = asyncio.run(run())
    assert (first.status, first.cause) == (Status.DOWN, Cause.TIMEOUT)
    assert (second.status, second.cause) == (Status.UNKNOWN, Cause.OURS)


def test_a_turn_is_free_again_when_its_holder_fails():
    async def run():
        turns = HostLimiter(at_once=1, of_a_user=1, timeout_s=0.02)
        with pytest.raises(ValueError, match="oops"):
            async with turns.enter("a", "u1"):
                raise ValueError("oops")
        async with turns.enter("a", "u1"):
            with pytest.raises(HostBusy):
                async with turns.enter("a", "u1"):
                    raise AssertionError("there is one place only")

    asyncio.run(run())


def test_requests_of_one_user_leave_places_at_a_host_for_others():
    async def run():
        turns, entered, end = HostLimiter(timeout_s=0.01), [], asyncio.Event()

        async def request(userid):
            async with turns.enter("a", userid):
                entered.append(userid)
                await end.wait()

        many = [asyncio.create_task(request("u2")) for _ in range(40)]
        await asyncio.sleep(0)
        other = asyncio.create_task(request("u1"))
        refused = await asyncio.gather(*many[12:], return_exceptions=True)
        assert all(isinstance(each, HostBusy) for each in refused)
        end.set()
        await asyncio.gather(other, *many[:12])
        return turns.hosts, entered

    assert asyncio.run(run()) == ({}, ["u2"] * 12 + ["u1"])


# ── eBay ─────────────────────────────────────────────────────────────────────────────────────────────────────────────
LAMP = [Listing("Desk lamp", "$45.00", "+$5.00 shipping"), Listing("Desk lamp, new", "$70.00", "Free shipping")]


def search(script, *, credentials=False, count=1, **attributes):
    """Search a stand-in of eBay that follows a script; both its site and its API are there."""

    async def run():
        async with asyncio.timeout(ENOUGH), serving(script) as port:
            here = f"http://127.0.0.1:{port}"
            secrets = {"client_id": "us", "client_secret": "hush"} if credentials else {}
            prober = make_prober(ebay=EbayAccess(site=here, api=here, **secrets))
            given = parse_attributes("EBAY", {"query": "desk lamp", "threshold": 5000} | attributes)
            return await asyncio.gather(*(prober.probe(here, given) for _ in range(count)))

    return asyncio.run(run())


def showing(page):
    return answering(page.body.encode(), status=page.status, content_type="text/html")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_search_page_is_read_in_every_layout(layout):
    asked = []

    async def script(exchange):
        asked.append(exchange.path)
        await showing(storefront.write_page(layout, LAMP))(exchange)

    (outcome,) = search(script)
    assert (outcome.status, outcome.price, outcome.available) == (Status.UP, 5000, True)
    assert outcome.link == LAMP[0].link
    assert asked == ["/sch/i.html?_nkw=desk+lamp&_sop=15&LH_BIN=1"]


@pytest.mark.parametrize(
    ("page", "cause"),
    [
        (storefront.write_block_page(), Cause.BLOCKED),
        (storefront.write_block_page(403), Cause.BLOCKED),
        (storefront.write_unknown_page(), Cause.LAYOUT),
    ],
)
def test_a_page_for_robots_or_of_an_unknown_layout_is_unknown_never_available(page, cause):
    (outcome,) = search(showing(page))
    assert (outcome.status, outcome.cause, outcome.available) == (Status.UNKNOWN, cause, None)


def test_a_search_without_results_is_not_available():
    (outcome,) = search(showing(storefront.write_empty_page()))
    assert (outcome.status, outcome.available) == (Status.UP, False)


class Api:
    """The Browse API, with its tokens."""

    def __init__(self, *, grant=None, life=7200, withdrawn=()):
        self.asked = []
        self.grant = grant
        self.life = life
        self.withdrawn = set(withdrawn)
        self.tokens = 0

    async def __call__(self, exchange):
        self.asked.append(exchange.path.partition("?")[0])
        if exchange.path == "/identity/v1/oauth2/token":
            await self.hand_out(exchange)
            return
        token = exchange.header("authorization").removeprefix("Bearer ")
        if token in self.withdrawn:
            await exchange.respond(b"{}", status=401)
            return
        page = storefront.write_api([("Desk lamp", "45.00", "USD", ["5.00"], "FIXED_PRICE")])
        await exchange.respond(page.body.encode(), content_type="application/json")

    async def hand_out(self, exchange):
        assert exchange.header("authorization") == "Basic dXM6aHVzaA=="
        assert b"client_credentials" in await exchange.body()
        self.tokens += 1
        grant = {"access_token": f"t{self.tokens}", "expires_in": self.life} if self.grant is None else self.grant
        await exchange.respond(json.dumps(grant).encode())


def test_with_credentials_the_api_is_asked_and_one_token_serves_all():
    api = Api()
    outcomes = search(api, credentials=True, count=5)
    assert {(outcome.status, outcome.price, outcome.available) for outcome in outcomes} == {(Status.UP, 5000, True)}
    assert api.tokens == 1
    assert api.asked.count("/buy/browse/v1/item_summary/search") == 5


def test_a_token_that_was_withdrawn_is_replaced_by_the_next_search():
    api = Api(withdrawn=["t1"])

    async def run():
        async with serving(api) as port:
            here = f"http://127.0.0.1:{port}"
            prober = make_prober(ebay=EbayAccess(client_id="us", client_secret="hush", site=here, api=here))
            given = parse_attributes("EBAY", {"query": "desk lamp", "threshold": 5000})
            return [(await prober.probe(here, given)).status for _ in range(2)]

    assert asyncio.run(run()) == [Status.UNKNOWN, Status.UP]
    assert api.tokens == 2


def test_refused_credentials_are_our_fault_and_unknown():
    (outcome,) = search(Api(grant={"error": "invalid_client"}), credentials=True)
    assert (outcome.status, outcome.cause) == (Status.UNKNOWN, Cause.OURS)
    assert "hush" not in outcome.message


def test_a_search_given_as_a_page_is_made_there_even_with_credentials():
    async def script(exchange):
        assert exchange.path.startswith("/sch/lamps?")
        await showing(storefront.write_page("s-card", LAMP))(exchange)

    async def run():
        async with serving(script) as port:
            here = f"http://127.0.0.1:{port}"
            prober = make_prober(ebay=EbayAccess(client_id="us", client_secret="hush"))
            return await prober.probe(here, parse_attributes("EBAY", {"url": f"{here}/sch/lamps", "threshold": 5000}))

    assert asyncio.run(run()).available is True


@pytest.mark.parametrize("body", ["", "[]", "null", '{"access_token": 5}', '{"access_token": "a\\r\\nb"}', "{"])
def test_a_grant_that_is_none_is_none(body):
    assert read_grant(storefront.PageResponse(status=200, body=body)) is None


def test_the_credentials_are_not_shown():
    assert "hush" not in repr(EbayAccess(client_id="us", client_secret="hush"))
