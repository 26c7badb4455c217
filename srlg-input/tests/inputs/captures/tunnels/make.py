"""Writes tunnels.pcap with packets in tunnels, and hosts.csv with the hosts that scapy finds in each of them: the
hosts of all IP packets, from the outermost to the innermost.

Run `python3 make.py` in the folder of the files. It needs scapy; the committed files were made with version 2.8.0.
"""

import random

from scapy.all import (ARP, IP, TCP, UDP, Ether, IPv6, IPv6ExtHdrDestOpt, Raw, wrpcap)
from scapy.contrib.erspan import ERSPAN_II
from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.contrib.gtp import GTP_U_Header, GTPPDUSessionContainer
from scapy.contrib.mpls import MPLS
from scapy.layers.l2 import GRE, Dot1Q
from scapy.layers.vxlan import VXLAN

random.seed(1)


def v4():
    return IP(src=f"10.{random.randrange(256)}.{random.randrange(256)}.{random.randrange(1, 255)}",
              dst=f"192.0.2.{random.randrange(1, 255)}", id=random.randrange(1, 1 << 16))


def v6():
    return IPv6(src=f"2001:db8::{random.randrange(1, 1 << 16):x}", dst=f"2001:db8:1::{random.randrange(1, 1 << 16):x}")


def inner(ip):
    return ip / random.choice([TCP(dport=443, flags="S"), UDP(dport=53) / Raw(b"query")])


def frame(packet):
    return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / packet


def vxlan(outer, what, port=4789):
    return outer / UDP(sport=50000, dport=port) / VXLAN(vni=7, flags=8) / frame(what)


packets = []
for a in (v4, v6):
    packets.append(inner(a()))
    for b in (v4, v6):
        packets += [
            vxlan(a(), inner(b())),
            vxlan(a(), inner(b()), 8472),
            a() / GRE() / inner(b()),
            a() / GRE(key_present=1, key=9) / inner(b()),
            a() / GRE(chksum_present=1, seqnum_present=1, seqence_number=3, key_present=1, key=9) / inner(b()),
            a() / GRE(key_present=1, key=0x700) / frame(inner(b())),
            a() / GRE(proto=0x8847) / MPLS(label=5, s=0) / MPLS(label=6, s=1) / inner(b()),
            a() / GRE(proto=0x88BE, seqnum_present=1, seqence_number=1) / ERSPAN_II(vlan=1) / frame(inner(b())),
            a() / UDP(sport=50000, dport=6635) / MPLS(label=7, s=1) / inner(b()),
            a() / UDP(sport=50000, dport=6081) / GENEVE(vni=3, proto=0x6558) / frame(inner(b())),
            a() / UDP(sport=50000, dport=6081)
            / GENEVE(vni=3, proto=0x6558, options=[GeneveOptions(length=2, data=b"12345678")]) / frame(inner(b())),
            a() / UDP(sport=2152, dport=2152) / GTP_U_Header(teid=1) / inner(b()),
            a() / UDP(sport=2152, dport=2152) / GTP_U_Header(teid=1, S=1, seq=4) / inner(b()),
            a() / UDP(sport=2152, dport=2152)
            / GTP_U_Header(teid=1, E=1, next_ex=0x85) / GTPPDUSessionContainer(type=0, QFI=1) / inner(b()),
            a() / inner(b()),
            a() / GRE() / vxlan(b(), inner(a())),
            vxlan(a(), a() / GRE() / b() / inner(a())),
            vxlan(a(), Dot1Q(vlan=5) / inner(b())),
        ]
# These packets are ordinary packets.
packets += [
    v4() / UDP(sport=4789, dport=53) / Raw(b"query"),
    v4() / UDP(sport=50000, dport=2152) / GTP_U_Header(gtp_type=1, teid=0),
    v6() / IPv6ExtHdrDestOpt() / TCP(dport=80),
    vxlan(v4(), ARP()),
]
# These tunnels do not contain an IP packet, or are nested more deeply than the reader enters.
no_content = [v4() / GRE() / Raw(b"loopback"), v4() / GRE(proto=0x9000) / Raw(b"loopback")]
deep = [v4() / v4() / v4() / v4() / v4() / inner(v4())]
cut = [vxlan(v4(), inner(v4()))]
later = [v4() / GRE() / inner(v4())]


def hosts(made):
    """Returns the hosts of each IP packet, outermost first. The bytes are parsed again, so that all fields are set."""
    found, layer = [], Ether(made)
    while layer:
        if isinstance(layer, (IP, IPv6)):
            found.append(f"{layer.src} {layer.dst}")
        layer = layer.payload
    return found


rows = []
for packet in packets:
    made = bytes(frame(packet))
    rows.append((made, "", *hosts(made)))
for reason, ones in (("tunnel-content", no_content), ("deep-tunnel", deep)):
    for packet in ones:
        made = bytes(frame(packet))
        rows.append((made, reason, *hosts(made)))
for packet in cut:
    made = bytes(frame(packet))
    rows.append((made[: 14 + 20 + 8 + 8 + 14 + 12], "cut-tunnel", *hosts(made)))
for packet in later:
    packet[IP].frag = 100
    made = bytes(frame(packet))
    rows.append((made, "tunnel-fragment", f"{packet[IP].src} {packet[IP].dst}"))

wrpcap("tunnels.pcap", [row[0] for row in rows], linktype=1)
with open("hosts.csv", "w") as file:
    # A row has the reason why there are no inner hosts, then the hosts of each packet.
    file.writelines(",".join(row[1:]) + "\n" for row in rows)
