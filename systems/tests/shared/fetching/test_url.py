import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashrange_systems.shared.fetching.errors import BadUrl, ForbiddenAddress
from hashrange_systems.shared.fetching.http_url import join_url, parse_url
from hashrange_systems.shared.fetching.policy import Policy
from systems.tests.shared.fetching.test_address import FORBIDDEN_V4_ADDRESSES

WIDE = str.maketrans("0123456789", "０１２３４５６７８９")  # noqa: RUF001 - wide digits, as a browser takes them
RADIX = (str, "0{:o}".format, "0x{:x}".format, "0X{:X}".format, "0000{:o}".format, "0x0{:x}".format)
DOTS = (".", "。", "．", "｡")  # noqa: RUF001 - what browsers take for a dot


@st.composite
def spellings(draw, addresses):
    """Any way to write an IPv4 address that some resolver or browser understands."""
    value = int(draw(addresses))
    count = draw(st.integers(1, 4))
    leading = [value >> 8 * (3 - position) & 255 for position in range(count - 1)]
    numbers = [*leading, value & (256 ** (5 - count) - 1)]
    spelled = [draw(st.sampled_from(RADIX))(number) for number in numbers]
    host = draw(st.sampled_from(DOTS)).join(spelled) + draw(st.sampled_from(["", "."]))
    return host.translate(WIDE) if draw(st.booleans()) else host


@given(spellings(FORBIDDEN_V4_ADDRESSES))
def test_a_forbidden_address_is_refused_in_any_spelling(host):
    target = parse_url(f"http://{host}/")
    assert target.literal is not None
    with pytest.raises(ForbiddenAddress):
        Policy().check_addresses(target, [target.literal])


@given(st.ip_addresses(v=4).flatmap(lambda address: st.tuples(st.just(address), spellings(st.just(address)))))
def test_every_spelling_of_an_address_is_that_address(case):
    address, host = case
    assert parse_url(f"http://{host}/").host == str(address)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "127.0.1", "0x7f000001", "127.0.0.1."])
def test_loopback_is_seen_through_its_disguises(host):
    assert parse_url(f"http://{host}/").host == "127.0.0.1"


@pytest.mark.parametrize("host", ["256.1.1.1", "1.2.3.4.5", "4294967296", "09.1.1.1", "1..1", "a.1", "1.2.3.4.0x"])
def test_a_host_that_ends_in_a_number_is_an_address_or_nothing(host):
    with pytest.raises(BadUrl):
        parse_url(f"http://{host}/")


def test_a_host_that_only_begins_like_a_number_is_a_name():
    assert parse_url("http://1.2.3.0xg/").literal is None


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("http://example.com", "http://example.com/"),
        ("HTTP://EXAMPLE.COM./a", "http://example.com/a"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:80/?a=b#part", "https://example.com:80/?a=b"),
        ("http://bücher.example/ä b?q=ü", "http://xn--bcher-kva.example/%C3%A4%20b?q=%C3%BC"),
        ("http://example.com/%41%zz", "http://example.com/%41%zz"),
        ("http://[::FFFF:1.2.3.4]:81/", "http://[::ffff:102:304]:81/"),
        ("http://my_host.example/", "http://my_host.example/"),
    ],
)
def test_a_url_has_one_spelling(url, text):
    assert parse_url(url).text == text


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com",
        "//example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "ftp://example.com/",
        "javascript:alert(1)",
        "http:",
        "http://",
        "http:///path",
        "http://?q",
        "http://:80/",
        "http://.",
        "http://user@example.com/",
        "http://user:pw@example.com/",
        "http://@example.com/",
        "http://a@b@example.com/",
        "http://example.com\r\nX: y/",
        "http://example.com/\r\nX: y",
        "http://example.com/\0",
        "http://exa\tmple.com/",
        "http://example.com:0/",
        "http://example.com:65536/",
        "http://example.com:x/",
        "http://example.com:-1/",
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[::1/",
        "http://[v1.x]/",
        "http://[1.2.3.4]/",
        "http://exa mple.com/",
        "http://example..com/",
        "http://-a.example/",
        "http://127%2e0.0.1/",
        "http://a\\b.example/",
        "http://" + "a" * 64 + ".example/",
        "http://" + "a." * 130 + "example/",
        "http://example.com/" + "a" * 9000,
        "http://example.com/\ud800",
        "http://\ud800.example/",
        "http://example.com℀.example/",
        "http://a\u2028b.example/",
    ],
)
def test_what_is_not_a_web_url_is_refused(url):
    with pytest.raises(BadUrl):
        parse_url(url)


@given(st.text())
def test_any_text_is_a_url_or_a_bad_one(text):
    for url in (text, f"http://{text}", f"http://example.com/{text}", f"http://[{text}]/"):
        try:
            target = parse_url(url)
        except BadUrl:
            continue
        assert parse_url(target.text) == target
        assert target.text.isascii()
        assert target.text.isprintable()
        assert " " not in target.text


@pytest.mark.parametrize(
    ("location", "text"),
    [
        ("/b", "https://example.com:8443/b"),
        ("c?x=1#f", "https://example.com:8443/a/c?x=1"),
        ("//other.example/", "https://other.example/"),
        ("http://other.example", "http://other.example/"),
        ("\\\\other.example/", "https://example.com:8443/a/%5C%5Cother.example/"),
    ],
)
def test_a_location_is_read_from_where_it_was_given(location, text):
    assert join_url(parse_url("https://example.com:8443/a/b"), location).text == text


@pytest.mark.parametrize("location", ["file:///etc/passwd", "http://user:pw@example.com/", "http://[::1", "/a\r\nb"])
def test_a_location_is_held_to_the_same_rules(location):
    with pytest.raises(BadUrl):
        join_url(parse_url("http://example.com/"), location)
