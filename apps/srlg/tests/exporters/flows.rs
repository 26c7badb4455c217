//! Flows of packets, as an exporter that forgets nothing has them at its end.

use std::collections::BTreeMap;
use std::net::IpAddr;

use crate::packets::Packet;

/// The packets of one direction of a conversation.
#[derive(Clone)]
pub(crate) struct Flow {
    pub(crate) hosts: [IpAddr; 2],
    pub(crate) protocol: u8,
    pub(crate) ports: [u16; 2],
    /// Of all packets together.
    pub(crate) flags: u8,
    pub(crate) packets: u32,
    pub(crate) octets: u32,
    /// Milliseconds of the first and the last packet after the first of all.
    pub(crate) times_ms: [u32; 2],
}

/// Flows in the order of their first packets.
pub(crate) fn flows(packets: &[Packet]) -> Vec<Flow> {
    let mut known = BTreeMap::new();
    let mut flows: Vec<Flow> = Vec::new();
    for packet in packets {
        let Packet { after_us, hosts, protocol, ports, flags } = *packet;
        let now = after_us / 1_000;
        let number = *known.entry((hosts, protocol, ports)).or_insert(flows.len());
        if number == flows.len() {
            let times_ms = [now; 2];
            flows.push(Flow { hosts, protocol, ports, flags, packets: 0, octets: 0, times_ms });
        }
        let flow = &mut flows[number];
        flow.flags |= flags;
        flow.packets += 1;
        // Without the head of the frame.
        flow.octets += packet.frame().len() as u32 - 14;
        flow.times_ms[1] = now;
    }
    flows
}

/// Flows, each with that of the other direction if there is one. Whose first packet is earlier is the forward one.
pub(crate) fn biflows(flows: &[Flow]) -> Vec<(Flow, Option<Flow>)> {
    let mut begun = BTreeMap::new();
    let mut biflows: Vec<(Flow, Option<Flow>)> = Vec::new();
    for flow in flows {
        let ([source, destination], [from, to]) = (flow.hosts, flow.ports);
        if let Some(&number) = begun.get(&([destination, source], flow.protocol, [to, from])) {
            let forward: &mut (Flow, Option<Flow>) = &mut biflows[number];
            forward.1 = Some(flow.clone());
        } else {
            begun.insert((flow.hosts, flow.protocol, flow.ports), biflows.len());
            biflows.push((flow.clone(), None));
        }
    }
    biflows
}
