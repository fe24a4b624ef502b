from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragcore.errors import UrlNotAllowedError, UrlUnreachableError
from ragcore.fetching.addresses import AddressPolicy, check_url, is_public, permitted_addresses, system_resolve

NOBODY = AddressPolicy()


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.255.254",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "0.0.0.0",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:a00:1",
        "::127.0.0.1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "fec0::1",
        "ff02::1",
        "2002:7f00:1::",
        "2002:a9fe:a9fe::1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2001:0:7f00:1::1",
        "2001:db8::1",
        "not an address",
    ],
)
def test_addresses_that_are_not_public_are_refused(address):
    assert not NOBODY.permits("example.org", address)


@pytest.mark.parametrize(
    "address", ["93.184.215.14", "8.8.8.8", "2606:4700:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]
)
def test_public_addresses_are_permitted(address):
    assert NOBODY.permits("example.org", address)


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_an_address_wrapped_in_ipv6_is_judged_like_the_address(inner):
    for wrapped in (
        f"::ffff:{inner}",
        f"64:ff9b::{inner}",
        str(IPv6Address(int(IPv6Address("2002::")) | int(inner) << 80)),
    ):
        assert NOBODY.permits("a", wrapped) == is_public(inner)


def test_an_operator_may_permit_hosts_and_networks():
    policy = AddressPolicy.of(["wiki.example.org", ".corp.example", "10.1.0.0/16", "fd12::/16", " "])

    assert policy.permits("wiki.example.org", "192.168.1.1")
    assert policy.permits("WIKI.example.org.", "192.168.1.1")
    assert policy.permits("a.b.corp.example", "10.9.9.9")
    assert policy.permits("other", "10.1.2.3")
    assert policy.permits("other", "::ffff:10.1.2.3")
    assert policy.permits("other", "fd12::1")
    assert not policy.permits("other", "10.2.0.1")
    assert not policy.permits("evilcorp.example", "10.9.9.9")
    assert not policy.permits("x.wiki.example.org", "10.9.9.9")


@pytest.mark.parametrize(
    "address", ["169.254.169.254", "fe80::1", "0.0.0.0", "224.0.0.1", "100.100.100.200", "fd00:ec2::254"]
)
def test_nobody_may_permit_the_secrets_of_clouds(address):
    everything = AddressPolicy.of(["0.0.0.0/0", "::/0", "metadata.example"])

    assert not everything.permits("metadata.example", address)


@pytest.mark.parametrize("entry", ["10.0.0.0/99", "http://wiki", "a b", "*"])
def test_what_is_neither_a_name_nor_a_network_is_reported_to_the_operator(entry):
    with pytest.raises(ValueError, match="network"):
        AddressPolicy.of([entry])


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.org/x",
        "file:///etc/passwd",
        "gopher://example.org/_x",
        "javascript:alert(1)",
        "data:text/html,x",
        "//example.org/",
        "example.org",
        "",
        "http://",
        "http:///path",
        "http://user:secret@example.org/",
        "http://user@example.org/",
        "http://example.org@127.0.0.1/",
        "http://example.org\\@127.0.0.1/",
        "http://example.org:25/",
        "http://example.org:22/",
        "http://example.org:99999/",
        "http://example.org:x/",
        "http://exa\nmple.org/",
        "http://exa\x00mple.org/",
        "http://[::1/",
        "http://" + "a" * 5000,
    ],
)
def test_addresses_that_are_no_web_pages_are_refused(url):
    with pytest.raises(UrlNotAllowedError):
        check_url(url)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (" https://Example.org/a b#part ", "https://example.org/a%20b"),
        ("http://example.org:8080/x?q=1", "http://example.org:8080/x?q=1"),
        ("http://例え.jp/日本", "http://xn--r8jz45g.jp/%E6%97%A5%E6%9C%AC"),
    ],
)
def test_addresses_of_pages_are_brought_into_one_form(url, expected):
    assert str(check_url(url)).replace("例え", "xn--r8jz45g") == expected


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "0",
        "::1",
        "::ffff:127.0.0.1",
        "0x7f.1",
    ],
)
def test_every_spelling_of_this_machine_is_refused(host):
    with pytest.raises((UrlNotAllowedError, UrlUnreachableError)) as refusal:
        permitted_addresses(host, 80, allow=NOBODY, resolve=system_resolve)

    if host in ("127.0.0.1", "localhost", "2130706433", "0x7f000001", "127.1"):
        assert refusal.type is UrlNotAllowedError


def test_of_several_addresses_the_permitted_ones_are_used():
    assert permitted_addresses("a", 80, allow=NOBODY, resolve=lambda *_: ["10.0.0.1", "8.8.8.8"]) == ["8.8.8.8"]


def test_an_unknown_host_may_be_tried_again():
    def unknown(host, port):
        raise OSError("no such host")

    with pytest.raises(UrlUnreachableError):
        permitted_addresses("a", 80, allow=NOBODY, resolve=unknown)
