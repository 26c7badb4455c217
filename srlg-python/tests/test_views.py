"""Tests of the options that select contacts, and turn them into hosts and peers."""

import copy
import datetime
import ipaddress
import pickle
from typing import Any

import numpy
import polars
import pyarrow
import pytest
from pairs import one_host

import srlg

SERVER, CLIENTS = "203.0.113.1", 2000
TCP, UDP = 6, 17
SYN, SYN_ACK = 2, 18


def requests_and_replies() -> pyarrow.Table:
    """Returns the contacts of a server with 2,000 clients: a request and a reply of each."""
    server, clients = one_host(CLIENTS, int(ipaddress.ip_address(SERVER)))
    high = numpy.arange(CLIENTS, dtype=numpy.int64) + 40_000
    service = numpy.full(CLIENTS, 443, dtype=numpy.int64)
    return pyarrow.table(
        {
            "source": numpy.concatenate([clients, server]),
            "destination": numpy.concatenate([server, clients]),
            "protocol": numpy.full(2 * CLIENTS, TCP),
            "source_port": numpy.concatenate([high, service]),
            "destination_port": numpy.concatenate([service, high]),
            "tcp_flags": numpy.repeat([SYN, SYN_ACK], CLIENTS),
            "packets": numpy.ones(2 * CLIENTS, dtype=numpy.uint64),
        }
    )


def found(data: Any, **options: Any) -> dict[str, float]:
    report = srlg.super_points(data, threshold=64, device="cpu", **options)
    return {point.host: point.cardinality for point in report}


def test_roles_sides_and_filters_select_contacts() -> None:
    data = requests_and_replies()
    requests, replies = data.slice(0, CLIENTS), data.slice(CLIENTS)
    assert found(data).keys() == {SERVER}
    assert found(requests, role="destination") == found(replies, role="source") == found(data)
    assert found(requests, role="source") == found(replies, role="destination") == {}
    networks: list[Any] = ["203.0.113.0/24", ipaddress.ip_network("203.0.113.0/24")]
    for network in [*networks, networks, tuple(networks), iter(networks)]:
        assert found(data, inside=network) == found(data)
    assert found(data, inside="198.51.100.0/24") == {}
    assert found(data, inside="192.0.0.0/20", measure="outside") == found(data)
    for only, counted in [
        ("initiated", requests),
        ("tcp-syn", requests),
        ("no-replies", requests),
        ("replies", replies),
        ("no-refusals", data),
    ]:
        for role in ("source", "destination", "any"):
            assert found(data, only=only, role=role) == found(counted, role=role), only


def test_ports_are_peers_and_hosts() -> None:
    data = requests_and_replies()
    ports = found(data, peer="port", role="source", only="replies")
    assert ports.keys() == {SERVER} and abs(ports[SERVER] - CLIENTS) < 200
    services = found(data, host="address+port", host_prefix6=64, role="destination")
    assert services.keys() == {f"{SERVER} tcp/443"}
    report = srlg.super_points(data, threshold=64, peer="port", device="cpu")
    peers = {peer.host for point in report for peer in point.peers}
    assert peers and all(name.startswith("tcp/") for name in peers)
    assert {peer["host"] for row in report.to_dicts() for peer in row["peers"]} == peers
    assert report.to_arrow().to_pylist() == report.to_dicts()
    assert "tcp/" in report._repr_html_()
    # Without a port, a contact does not count.
    nulls = data.set_column(4, "destination_port", pyarrow.nulls(2 * CLIENTS, pyarrow.int16()))
    assert found(nulls, peer="port") == {}


def test_prefixes_are_hosts_and_peers() -> None:
    data = requests_and_replies().slice(0, CLIENTS)
    assert found(data, host_prefix4=16, role="destination").keys() == {"203.0.0.0/16"}
    assert found(data, peer_prefix4=24, role="destination") == {}
    without_ports = data.select(["source", "destination"])
    assert found(without_ports, host_prefix4=16).keys() == {"203.0.0.0/16"}


def test_options_that_do_not_fit_are_named() -> None:
    data = requests_and_replies()
    wrong: list[tuple[str, dict[str, Any]]] = [
        ("host_prefix4: .* 33", {"host_prefix4": 33}),
        ("peer_prefix6: .* 0", {"peer_prefix6": 0}),
        ("host_prefix6: .* 128", {"host": "address+port", "role": "source"}),
        ("measure", {"measure": "outside"}),
        ("peer", {"peer": "address+ports"}),
        ("inside", {"inside": "10.0.0.0/33"}),
    ]
    for text, options in wrong:
        with pytest.raises(ValueError, match=text):
            found(data, **options)


def test_columns_that_options_need_are_checked() -> None:
    data = requests_and_replies()
    options: list[dict[str, Any]] = [
        {"peer": "port"},
        {"host": "address+port", "host_prefix6": 64, "role": "source"},
        {"only": "replies"},
    ]
    for option in options:
        with pytest.raises(ValueError, match="protocol"):
            found(data.drop_columns("protocol"), **option)
    with pytest.raises(ValueError, match="tcp_flags"):
        found(data.drop_columns("tcp_flags"), only="initiated")
    wrong = data.set_column(2, "protocol", pyarrow.array(["tcp"] * 2 * CLIENTS))
    with pytest.raises(TypeError, match="protocol"):
        found(wrong, peer="port")
    assert found(wrong) == found(data)
    for number in (-1, 1 << 16):
        ports = pyarrow.array([443] * 7 + [number] * (2 * CLIENTS - 7))
        with pytest.raises(ValueError, match="destination_port, row 7"):
            found(data.set_column(4, "destination_port", ports), peer="port")


def test_a_copy_of_a_detector_selects_alike() -> None:
    options: dict[str, Any] = {"peer": "port", "role": "source", "inside": ["203.0.113.0/24"]}
    first = srlg.Detector(threshold=64, device="cpu", **options)
    copies = [copy.copy(first), pickle.loads(pickle.dumps(first))]
    first.close_slice()
    copies += [copy.copy(first), pickle.loads(pickle.dumps(first))]
    for one in (first, *copies):
        one.ingest_table(requests_and_replies())
        (point,) = one.report()
        assert point.host == SERVER and point.peers[0].host.startswith("tcp/4")
        assert one.sample_peers(SERVER)[0].host.startswith("tcp/4")


def test_scans_have_the_same_options() -> None:
    data = polars.DataFrame(requests_and_replies()).with_columns(time=datetime.datetime(2300, 1, 1))
    (report,) = srlg.scan(data, threshold=64, peer="port", only="replies", device="cpu")
    assert [point.host for point in report] == [SERVER]
    # Arrow cannot state this time in nanoseconds.
    assert report.start == datetime.datetime(2300, 1, 1, tzinfo=datetime.UTC)
    assert report.to_polars()["start"].to_list() == [report.start]
    with pytest.raises(TypeError, match="detector"):
        srlg.scan(data, detector=srlg.Detector(), peer="port")


@pytest.mark.parametrize(
    ("options", "address"),
    [
        ({"role": "destination"}, SERVER),
        ({"role": "destination", "host_prefix4": 24}, "203.0.113.7"),
        (
            {"role": "destination", "host": "address+port", "host_prefix6": 64},
            f"{SERVER} tcp/443",
        ),
    ],
)
def test_hosts_are_asked_for_by_their_names_in_reports(options: Any, address: str) -> None:
    detector = srlg.Detector(threshold=64, device="cpu", only="initiated", **options)
    detector.ingest_table(requests_and_replies())
    (point,) = detector.report()
    for host in (point.host, address):
        assert detector.cardinality(host).cardinality == point.cardinality
        # The library samples no peers of services, which it counts like IPv6 hosts.
        assert bool(detector.sample_peers(host)) == ("host" not in options)
    numbers = numpy.array([int(ipaddress.ip_address(SERVER))], dtype=numpy.uint32)
    if "host" in options:
        with pytest.raises(ValueError, match="host: .*tcp/22"):
            detector.cardinality(SERVER)
        with pytest.raises(ValueError, match="host: .*tcp/22"):
            detector.cardinalities(numbers)
    else:
        (estimate,) = detector.cardinalities(numbers)
        assert estimate.cardinality == point.cardinality


@pytest.mark.parametrize(
    "option",
    [
        {"inside": "10.0.0.0/8"},
        {"role": "source"},
        {"only": "initiated"},
        {"peer": "port"},
        {"host_prefix4": 24},
        {"peer_prefix6": 64},
    ],
)
def test_arrays_of_pairs_are_rejected_if_options_are_about_rows(option: Any) -> None:
    detector = srlg.Detector(device="cpu", **option)
    inside, peer = one_host(10)
    with pytest.raises(ValueError, match=f"{next(iter(option))}.*ingest_table"):
        detector.ingest(inside, peer)


def test_detectors_of_other_kinds_of_hosts_are_not_merged() -> None:
    def detector(**options: Any) -> srlg.Detector:
        return srlg.Detector(threshold=64, device="cpu", **options)

    first, site = detector(), detector(inside="10.0.0.0/8", role="source")
    first.merge(site)
    services: dict[str, Any] = {"host": "address+port", "role": "destination", "host_prefix6": 64}
    for options in (services, {"peer": "port"}, {"host_prefix4": 24}):
        one, other = detector(**options), detector(**options)
        with pytest.raises(ValueError, match=f"states: .*{next(iter(options))}"):
            first.merge(one)
        one.merge(other)
