//! The demonstration of a network: three exporters, three probes, a broker and a collector on this machine. Each site
//! sees about a third of the pairs of each attack.

use anyhow::Result;

use super::node::Node;
use super::{CONFIG_FILE, INPUT, Stage};
use crate::network::broker::Broker;

const PROBES: [&str; 3] = ["lisbon", "oslo", "turin"];

/// Listen address for the page of a probe.
const PAGE: &str = "127.0.0.1:0";

/// Starts the network on `stage` and plays the attacks.
pub(super) fn play(mut stage: Stage<'_>) -> Result<()> {
    let broker = start_broker(&mut stage)?;
    let mut collector =
        Node::start(stage.folder, "srlg collect", &["collect", "--config", CONFIG_FILE])?;
    let mut pages = vec![collector.page()?];
    let (mut nodes, mut to) = (vec![collector], Vec::new());
    for name in PROBES {
        let file = format!("{name}.toml");
        let broker = broker.address();
        let table = format!("[probe]\nname = '{name}'\nbroker = '{broker}'\n{INPUT}");
        stage.write(&file, &format!("http = '{PAGE}'\nstate = '{name}'\n\n{table}"))?;
        let mut probe = Node::start(stage.folder, name, &["probe", "--config", &file])?;
        to.push(probe.receives_at()?);
        pages.push(probe.page()?);
        nodes.push(probe);
    }
    let pages = format!("{} (probes: {})", pages[0], pages[1..].join(", "));
    stage.play("three exporters send NetFlow v9 to one probe each", &pages, &to, nodes)
}

/// Sets up the network and starts its broker. The deadline is short, so that the slices in which probes are still
/// starting are closed before the attacks start.
fn start_broker(stage: &mut Stage<'_>) -> Result<Broker> {
    let table = |broker: &str| {
        let probes = PROBES.join("', '");
        format!("\n[network]\nprobes = ['{probes}']\nbroker = '{broker}'\ndeadline = '2s'\n")
    };
    // The broker needs its keys to start, and its address is known only after the start.
    stage.configure("", &table("localhost"))?;
    Node::start(stage.folder, "srlg setup", &["setup", "--config", CONFIG_FILE])?.end()?;
    let broker = Broker::start(stage.folder)?;
    stage.configure("", &table(&broker.address()))?;
    Ok(broker)
}
