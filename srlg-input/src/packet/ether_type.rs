//! EtherTypes: their numbers and names.

pub(crate) const IPV4: u16 = 0x0800;
pub(crate) const IPV6: u16 = 0x86dd;
pub(crate) const ARP: u16 = 0x0806;
pub(crate) const VLAN: u16 = 0x8100;
pub(crate) const MPLS: u16 = 0x8847;
pub(crate) const PPPOE: u16 = 0x8864;
pub(crate) const NSH: u16 = 0x894f;

/// Names of all EtherTypes that are read, apart from IP, and of others that are frequent (IEEE registry of EtherTypes).
const NAMES: [(u16, &str); 46] = [
    (VLAN, "VLAN"),
    (0x88a8, "VLAN"),
    (0x9100, "VLAN"),
    (0x9200, "VLAN"),
    (MPLS, "MPLS"),
    (0x8848, "MPLS multicast"),
    (PPPOE, "PPPoE"),
    (0x8926, "VN-Tag"),
    (0x893f, "802.1BR"),
    (0x8909, "Cisco MetaData"),
    (0x8903, "FabricPath"),
    (0x88e7, "PBB"),
    (NSH, "NSH"),
    (0xd28b, "Arista"),
    (0x88e5, "MACsec"),
    (ARP, "ARP"),
    (0x0842, "Wake-on-LAN"),
    (0x22ea, "SRP"),
    (0x22f0, "AVTP"),
    (0x22f3, "TRILL"),
    (0x8035, "RARP"),
    (0x809b, "AppleTalk"),
    (0x8137, "IPX"),
    (0x8808, "flow control"),
    (0x8809, "LACP"),
    (0x8863, "PPPoE discovery"),
    (0x887b, "HomePlug"),
    (0x888e, "EAPOL"),
    (0x8892, "PROFINET"),
    (0x88a2, "ATA over Ethernet"),
    (0x88a4, "EtherCAT"),
    (0x88b8, "GOOSE"),
    (0x88ba, "sampled values"),
    (0x88ca, "TIPC"),
    (0x88cc, "LLDP"),
    (0x88e1, "HomePlug AV"),
    (0x88f5, "MVRP"),
    (0x88f7, "PTP"),
    (0x88fb, "PRP"),
    (0x8902, "CFM"),
    (0x8906, "FCoE"),
    (0x8914, "FCoE initialization"),
    (0x8915, "RoCE"),
    (0x892f, "HSR"),
    (0x9000, "loopback"),
    (0x6558, "bridged Ethernet"),
];

/// Returns the name of an EtherType, if it has a well-known one.
pub(crate) fn name(number: u16) -> Option<&'static str> {
    let known = const { &NAMES }.iter().find(|(known, _)| *known == number);
    known.map(|(_, name)| *name)
}

/// Returns whether `number` is an EtherType of IP or has a name.
pub(crate) fn is_known(number: u16) -> bool {
    matches!(number, IPV4 | IPV6) || name(number).is_some()
}

/// Returns whether a number in place of an EtherType is the length of an LLC frame instead.
pub(crate) const fn is_length(number: u16) -> bool {
    number < 0x600
}
