#!/usr/bin/env python3
"""seeds.py CORPUS [DATA]: writes the first inputs of each fuzz target into a folder below CORPUS.

The inputs come from the recorded traffic in the folder DATA, if it is given, and from files of this repository. An input
has at most 64 kB. The comments of the targets describe their inputs.
"""

import gzip
import hashlib
import json
import re
import struct
import sys
from pathlib import Path

MOST_BYTES = 64_000
ROOT = Path(__file__).resolve().parent.parent
CORPUS, DATA = Path(sys.argv[1]), [Path(folder) for folder in sys.argv[2:]]
LINK_TYPES = [
    0, 1, 9, 10, 12, 14, 50, 51, 101, 104, 105, 107, 108, 113, 117, 127, 147, 192, 219, 226,
    228, 229, 239, 242, 258, 276, 281, 282, 284, 285,
]


def in_data(pattern):
    """Returns the files of the recorded traffic whose paths match the pattern."""
    return [path for folder in DATA for path in sorted(folder.glob(pattern))]


def add(target, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    content = (content.encode() if isinstance(content, str) else content)[:MOST_BYTES]
    (folder / hashlib.sha1(content).hexdigest()).write_bytes(content)


def frames(path):
    """Yields the link type and the bytes of each frame of a pcap file."""
    content = path.read_bytes()
    order = "<" if content[:1] in (b"\xd4", b"\x4d") else ">"
    link_type = struct.unpack_from(order + "I", content, 20)[0] & 0xFFFF
    at = 24
    while at + 16 <= len(content):
        length = struct.unpack_from(order + "I", content, at + 8)[0]
        yield link_type, content[at + 16 : at + 16 + length]
        at += 16 + length


def payload(frame):
    """Returns the payload of a UDP datagram over IPv4 in an Ethernet frame, or None."""
    if len(frame) < 42 or frame[12:14] != b"\x08\x00" or frame[23] != 17:
        return None
    content = frame[14 + 4 * (frame[14] & 15) + 8 :]
    # No datagram is longer, but a frame that the network card has yet to split may be.
    return content if len(content) < 1 << 16 else None


def export(datagrams, selector=0):
    """Returns an input of the target exports."""
    lengths = (struct.pack(">BH", 0, len(datagram)) + datagram for datagram in datagrams)
    return bytes([selector]) + b"".join(lengths)


def recorded():
    captures = in_data("captures/*.pcap*") + in_data("flows/*.pcap") + in_data("cases/*/*.pcap")
    captures.append(ROOT / "srlg-input/tests/inputs/captures/tunnels/tunnels.pcap")
    for path in captures:
        add("capture", path.read_bytes())
        if path.suffix != ".pcap":
            continue
        some = [frame for _, frame in zip(range(40), frames(path))]
        for link_type, frame in some:
            if link_type in LINK_TYPES:
                add("frame", bytes([LINK_TYPES.index(link_type)]) + frame)
        datagrams = [datagram for _, frame in some if (datagram := payload(frame))]
        if datagrams and path.parent.name != "tunnels":
            add("exports", export(datagrams))
            add("exports", export(datagrams[:3], 7))
    families = {}
    for path in in_data("*/**/*.dat"):
        add("capture", path.read_bytes())
        families.setdefault(re.sub(r"_(data|tpl|opttpl).*", "", path.stem), []).append(path)
    for paths in families.values():
        # Templates come before the data that they describe.
        paths.sort(key=lambda path: "tpl" not in path.name)
        add("exports", export([path.read_bytes() for path in paths]))
    for path in in_data("flows/logs/*.log") + in_data("cases/own/*.json") + in_data("cases/own/vpc_*"):
        add("logs", b"\x03" + path.read_bytes()[:8_000])
        rows = [line for line in path.read_bytes().split(b"\n") if not line.startswith(b"#")]
        add("logs", b"\x00" + b"\n".join(rows[:20]))


def sflow():
    """Returns an sFlow datagram with samples and records of all kinds that a decoder distinguishes."""
    words = lambda *numbers: struct.pack(f">{len(numbers)}I", *numbers)
    part = lambda kind, content: words(kind, len(content)) + content
    packet = struct.pack(">BBHHHBBHII", 0x45, 0, 40, 0, 0, 64, 6, 0, 0xC0000201, 0xC0000202)
    packet += struct.pack(">HHIIBBHHH", 4000, 443, 0, 0, 0x50, 2, 0, 0, 0)
    raw = part(1, words(11, 1500, 4, len(packet)) + packet)
    ipv4 = part(3, words(60, 6, 0xC0000201, 0xC0000202, 4000, 443, 2, 0))
    ipv6 = part(4, words(60, 17) + bytes(range(32)) + words(4000, 53, 0, 0))
    switch = part(1001, words(1, 0, 2, 0))
    samples = [
        part(1, words(1, 1, 100, 1, 0, 1, 2, 3) + switch + ipv4 + raw),
        part(3, words(1, 0, 1, 100, 1, 0, 0, 1, 0, 2, 1) + ipv6),
        part(2, words(1, 1, 1) + part(1, bytes(88))),
        part(5, words(1, 0, 1, 0, 1, 0, 263, 1) + raw),
    ]
    return words(5, 1, 0xC0000209, 0, 1, 1000, len(samples)) + b"".join(samples)


def state():
    """Returns the saved state of a decoder that knows a template and a sampling rate of one exporter."""
    exporter = bytes(10) + b"\xff\xff\xc0\x00\x02\x01" + struct.pack(">H", 0)
    template = struct.pack(">6H", 256, 2, 8, 4, 12, 4)
    source = exporter + struct.pack(">BIIBI", 9, 7, 1, 0, len(template)) + template
    rates = exporter + struct.pack(">IBIQI", 1, 3, 7, 1, 100)
    return b"\x00" + struct.pack(">I", 1) + source + struct.pack(">I", 1) + rates


def rows():
    row = "1500.25,192.0.2.1,198.51.100.7"
    for selector, more in enumerate(["", ",6,4000,443,true", ",false,17"]):
        add("csv", bytes([selector]) + f"{row}{more}\n1,::1,[2001:db8::2]{more}\r\n".encode())
    add("csv", b"\x03" + (ROOT / "srlg-input/tests/inputs/captures/tunnels/hosts.csv").read_bytes())
    add("logs", b"\x01" + json.dumps({
        "timestamp": "2017-04-07T22:24:37.251547+0100", "event_type": "flow", "src_ip": "2001:db8::1", "src_port": 4000,
        "dest_ip": "2001:db8::2", "dest_port": 443, "proto": "TCP", "tcp": {"tcp_flags_ts": "02", "tcp_flags_tc": "12"},
        "flow": {"pkts_toserver": 7, "pkts_toclient": 1, "bytes_toserver": 518, "end": "2017-04-07T22:23:37.5+0100"},
    }).encode())
    add("logs", b"\x01" + json.dumps({
        "ts": 1500000000.25, "id.orig_h": "192.0.2.1", "id.orig_p": 4000, "id.resp_h": "192.0.2.2", "id.resp_p": 80,
        "proto": "tcp", "duration": 2.5, "history": "ShADadFf", "orig_pkts": 5, "resp_pkts": 4, "orig_ip_bytes": 700,
    }).encode())
    tuples = ["1663146003606,10.0.0.6,192.0.2.180,23956,443,6,O,E,NX,3,767,2,1580",
              "1533315592,10.1.1.6,192.0.2.200,62375,80,T,O,A,B,,,,"]
    group = {"flowGroups": [{"rule": "r", "flowTuples": tuples}]}
    add("logs", b"\x08" + json.dumps({"records": [{"flowRecords": {"flows": [group]}}]}).encode())
    record = "2 1 eni-1 192.0.2.139 198.51.100.21 40001 22 6 20 4000 1749893500 1749893560 ACCEPT OK"
    add("logs", b"\x03" + json.dumps({"logEvents": [{"timestamp": 1, "message": record}]}).encode())
    add("logs", b"\x032025-06-14T09:32:19.000Z " + record.encode())
    ends = {"src_ip": "192.0.2.1", "dest_ip": "::2", "src_port": 4000, "dest_port": 443, "protocol": 6}
    payload = {"connection": ends, "packets_sent": "12", "bytes_sent": "1776", "end_time": "2025-06-14T09:32:19.5Z"}
    add("logs", b"\x05" + json.dumps({"jsonPayload": payload}).encode())
    layer = {"TCP": {"source_port": 4000, "destination_port": 443, "flags": {"SYN": True}}}
    flow = {"time": "2025-06-14T09:32:19Z", "verdict": "DROPPED", "IP": {"source": "::1", "destination": "::2"}, "l4": layer}
    add("logs", b"\x06" + json.dumps({"flow": {**flow, "is_reply": False}}).encode())
    add("logs", b"\x07" + json.dumps({
        "@timestamp": "2025-06-14T09:32:30Z", "source": {"ip": "::1", "port": 4000, "packets": 5, "bytes": 300},
        "destination.ip": "::2", "client": {"ip": "::1"}, "network": {"transport": "tcp", "iana_number": "6"},
        "event": {"end": "2025-06-14T09:32:19Z"}, "netflow": {"tcp_control_bits": 18},
    }).encode())
    data = {"sourceAddress": "::1", "destinationAddress": "::2", "endTime": 1598917955, "packets": 9, "protocol": 6}
    add("logs", b"\x03" + json.dumps({"type": "com.oraclecloud.vcn.flowlogs.DataEvent", "data": data}).encode())
    add("logs", b"\x022 192.0.2.1 192.0.2.2 443 6 20 4249 1418530010 1418530070 18\n2 - - - - - - 1 2 -")


def messages():
    plain = {"time": 1700000000.5, "source": "192.0.2.1", "destination": "2001:db8::1", "protocol": "tcp",
             "source_port": 4000, "destination_port": 443, "packets": 3, "bytes": 120, "tcp_flags": 2, "initiated": True}
    goflow2 = {"time_received_ns": 1700000000000000000, "time_flow_end_ns": 1699999999000000000, "src_addr": "::1",
               "dst_addr": "192.0.2.7", "sampler_address": "192.0.2.254", "sampling_rate": 100, "in_if": 5,
               "proto": "UDP", "src_port": 4000, "dst_port": 53, "packets": "1"}
    add("messages", b"\x00" + json.dumps(plain).encode() + b"\n\n" + json.dumps(goflow2).encode())
    hosts = [bytes([192, 0, 2, 1]), bytes(15) + b"\x01"]
    field = lambda number, content: bytes([number << 3 | 2, len(content)]) + content
    for selector, numbers in [(1, (6, 7, 11)), (2, (9, 10, 4))]:
        message = b"".join(field(number, host) for number, host in zip(numbers, hosts + hosts[:1]))
        message += bytes([10 << 3, 0x96, 1, 3 << 3, 100])
        add("messages", bytes([selector]) + message)
        add("messages", bytes([selector, len(message)]) + message)
    add("schema", 'syntax = "proto3"; package a.b; message M { bytes SrcAddr = 1; bytes dst_addr = 2; '
                  "uint64 packets = 0x10; repeated M more = 7; oneof x { fixed32 in_if = 9 [deprecated = true]; } "
                  "message N { reserved 2, 4 to 6; } enum E { A = 0; } } // end\n")
    add("schema", 'syntax = "proto2"; import "a.proto"; option java_package = "x"; message FlowMessagevABC { '
                  "optional bytes SrcAddr = 9; required bytes DstAddr = 10; optional group G = 3 {} extensions 100 to max; "
                  "map<string, int32> m = 4; } service S { rpc R (M) returns (stream M); }")


def network():
    identity = {"number": 3, "tag": 1597152257}
    tagged = {"tagged": {"cell_bits": 18, "lines": 4096, "tags": 64}}
    view = {"name": "in", "view": {"inside": ["192.0.2.0/24"]},
            "allows": [{"what": {"ports": [["192.0.2.0/24"], [53]]}, "why": "names"}],
            "sizes": {"scheme": tagged, "threshold": 1024, "window": 300, "linear_width": 16384,
                      "candidate_limit": 65536, "hash": "half-sip-1-3", "seed": "7"}}
    description = {"slice_ms": 1000, "grace_ms": 100, "part_bytes": 1048576, "views": [view]}
    add("network", b"\x00" + json.dumps({"id": identity, "first_slice": 17, "network": description}).encode())
    deltas = struct.pack("<IIBI", 3, 1597152257, 0, 3) + b"abc" + struct.pack("<BI", 1, 80) + bytes(80)
    add("network", b"\x01" + deltas)
    for text in ["3-5f3a9c01", "2/3", "router-7"]:
        add("network", b"\x02" + text.encode())
    add("network", b'\x03{"least":1,"most":100,"unknown":true}')
    add("report", json.dumps({"version": identity, "views": [{"windows": [60, 300], "hosts": ["192.0.2.1", "::1"]}]}))
    details = {"since_ms": 5, "peers": ["192.0.2.9"], "exporters": ["192.0.2.254"],
               "ports": {"counts": [[{"protocol": 6, "port": 443}, 7]], "all": 9},
               "prefixes": {"counts": [["192.0.2.0/24", 7]], "all": 9}, "contacts": 9, "syn_only": 1}
    host = {"view": 0, "host": "192.0.2.1", "counts": [[60, 1024.5]], "details": details}
    add("report", json.dumps({"version": identity, "slice": 7, "spool": {"slices": 5, "unsent": 3, "lost": 1},
                              "input": {"datagrams": {"received": 90, "refused": 3, "dropped": 1},
                                        "newest_ms": 1, "is_lost": False, "seen_from_ms": 9},
                              "exporters": None, "hosts": [host]}))


def slice_pairs():
    """Returns the body of two pairs of an IPv4 host, and of two IPv6 hosts with one peer each."""
    planes = lambda *numbers, width: bytes(number >> 8 * byte & 255 for byte in range(width) for number in numbers)
    v4 = struct.pack("<IIB", 1, 2, 2) + planes(0x0A000001, width=4) + planes(0xC6336401, 299, width=4)
    v6 = struct.pack("<IIBB", 2, 2, 1, 1) + planes(0x20010DB8 << 96, 7, width=16)
    return v4 + v6 + planes(0x20010DB8 << 96 | 9, 0xFFFFC0000201, width=16)


def configurations():
    add("config", (ROOT / "docs/srlg.example.toml").read_bytes())
    for page in sorted(ROOT.glob("docs/*.md")):
        for block in re.findall(r"^```toml\n(.*?)^```", page.read_text(), re.S | re.M):
            add("config", block)


def requests():
    act = "/api/v1/incidents/000000000000002a"
    for query in [
        "/", "/healthz", "/metrics", "/api/v1/status", "/api/v1/alerts", "/api/v1/top?view=fan-in&limit=7", act,
        "/api/v1/incidents?from=1&to=9&host=192.0.2.1&network=192.0.2.0/24&label=a%20b&view=fan-in&port=tcp/443&kind=scan"
        "&severity=major&limit=2&before=7", act + "/peers.csv", act + "/prefixes.csv",
        "/api/v1/hosts/2001:db8::1?view=fan-in", "/api/v1/series?view=fan-in&exporter=192.0.2.1&from=1&to=90000000",
    ]:
        add("api", b"\x00" + query.encode())
    for act in [
        {"act": "acknowledge"}, {"act": "comment", "text": "known"}, {"act": "silence", "for": "2h 5m", "text": "a test"},
        {"act": "unsilence", "text": ""}, {"act": "close", "text": "over"},
    ]:
        add("api", b"\x01" + json.dumps(act).encode())


def main():
    recorded()
    rows()
    add("exports", export([sflow()]))
    add("exporter_state", state())
    message = struct.pack(">HHIII", 10, 20, 0, 0, 0) + struct.pack(">HH", 2, 4)
    add("framing", b"\x06" + 3 * message + message[:10])
    add("framing", b"\x00" + message + b"\x00\x09\x00\x14")
    messages()
    network()
    configurations()
    requests()
    # Gzip is detected before the format.
    add("capture", gzip.compress((ROOT / "srlg-input/tests/inputs/captures/tunnels/tunnels.pcap").read_bytes(), mtime=0))
    add("pairs", b"\x02" + slice_pairs())
    for target in ["delta", "pairs", "snapshot"]:
        for way in range(3):
            add(target, bytes([way]))


main()
