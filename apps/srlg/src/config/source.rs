//! Source of contacts on the command line, in place of the source in a configuration file.

use std::mem;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::ArgGroup;
use srlg_input::InputOptions;
use srlg_input::contact::{IpNet, parse_network};
use srlg_input::live::{BrokerOptions, BrokerUrl, SocketOptions};

/// The input options that a command accepts. All other options of the input are keys of the table `[input]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, clap::Args)]
#[command(group(ArgGroup::new("source").args(["input", "listen", "listen_tcp", "interface", "url"]).multiple(true)))]
#[command(group(ArgGroup::new("decoded").args(["exports", "listen", "listen_tcp", "url"]).multiple(true)))]
#[command(group(ArgGroup::new("listening").args(["listen", "listen_tcp"]).multiple(true)))]
pub struct SourceOptions {
    /// File to read (repeatable; files are read in the given order): capture (pcap, pcapng), contact list (CSV with the
    /// header time_ms,src,dst), log of Zeek, Suricata, Hubble, Elastic or a cloud, IPFIX file, or any of these
    /// compressed with gzip; - is standard input
    #[arg(long, alias = "replay", value_name = "FILE|-", conflicts_with_all = ["listen", "listen_tcp", "interface", "url"])]
    pub input: Vec<PathBuf>,

    /// Decode the UDP datagrams in captures, or the messages in IPFIX files, as flow exports (NetFlow v5, v7, v9,
    /// IPFIX, sFlow v5); several files form one export
    #[arg(long, requires = "input", conflicts_with_all = ["listen", "listen_tcp", "url"])]
    pub exports: bool,

    /// UDP address to receive flow exports on (repeatable), such as `[::]:2055` for all IPv4 and IPv6 addresses;
    /// requires exporters
    #[arg(long, value_name = "ADDR:PORT", requires = "exporters", conflicts_with = "url")]
    pub listen: Vec<SocketAddr>,

    /// TCP address to receive IPFIX on (repeatable), such as `[::]:4739`; requires exporters
    #[arg(long, value_name = "ADDR:PORT", requires = "exporters", conflicts_with = "url")]
    pub listen_tcp: Vec<SocketAddr>,

    /// Network of permitted exporters (repeatable); datagrams and connections from all other addresses are counted and
    /// dropped
    #[arg(long, value_name = "CIDR", value_parser = parse_network, requires = "listening")]
    pub exporters: Vec<IpNet>,

    /// Network interface to capture packets from; requires a build with the feature live
    #[arg(long, value_name = "IF", conflicts_with_all = ["listen", "listen_tcp", "url"])]
    pub interface: Option<String>,

    /// Broker to read flows from: kafka://broker:9092,broker:9092/topic, jetstream://server:4222/STREAM or
    /// nats://server:4222/SUBJECT
    #[arg(long, value_name = "URL")]
    pub url: Option<BrokerUrl>,
}

impl SourceOptions {
    /// Returns whether a source is given.
    pub(super) fn is_given(&self) -> bool {
        *self != Self::default()
    }

    /// Replaces the source in `input`. Options that also apply to the new source stay, except `exports`, `live` and the
    /// credentials of a broker. The options for TLS stay, because they depend on the network between the hosts.
    pub(super) fn replace(&self, input: &mut InputOptions) {
        let Self { input: files, exports, listen, listen_tcp, exporters, interface, url } =
            self.clone();
        let former = mem::take(input);
        (input.input, input.exports) = (files, exports);
        // All other options of sockets apply only to UDP.
        let sockets = if listen.is_empty() { SocketOptions::default() } else { former.sockets };
        input.sockets = SocketOptions { listen, listen_tcp, exporters, ..sockets };
        if interface.is_some() {
            input.capture = former.capture;
        }
        if url.is_some() {
            input.messages = former.messages;
            let BrokerOptions { tls, ca, plain, .. } = former.broker;
            input.broker = BrokerOptions { url, tls, ca, plain, ..BrokerOptions::default() };
        }
        input.interface = interface;
        if input.is_exports() {
            input.decoding = former.decoding;
        }
        if !input.is_broker() {
            input.tunnels = former.tunnels;
        }
    }
}

#[cfg(test)]
mod tests {
    use srlg_input::packet::Tunnels;

    use super::*;

    #[test]
    fn a_given_source_keeps_the_options_that_apply_to_it() {
        let mut former =
            InputOptions { live: true, tunnels: Tunnels::Inner, ..InputOptions::default() };
        former.decoding.sampling = "100".parse().ok();
        former.sockets = SocketOptions { receivers: 3, ..SocketOptions::default() };
        former.capture.snap_length = 512;
        former.broker = BrokerOptions {
            url: "kafka://192.0.2.1/flows".parse().ok(),
            ca: Some("ca.pem".into()),
            user: Some("flow".to_owned()),
            ..BrokerOptions::default()
        };
        let with = |source: SourceOptions| {
            let mut input = former.clone();
            source.replace(&mut input);
            input.check().unwrap();
            input
        };
        let files = with(SourceOptions { input: vec!["a".into()], ..SourceOptions::default() });
        assert_eq!(
            files,
            InputOptions {
                input: vec!["a".into()],
                tunnels: Tunnels::Inner,
                ..InputOptions::default()
            }
        );
        let (listen, exporters) =
            (vec!["[::]:2055".parse().unwrap()], vec!["192.0.2.1/32".parse().unwrap()]);
        let sockets = SocketOptions {
            listen: listen.clone(),
            exporters: exporters.clone(),
            receivers: 3,
            ..SocketOptions::default()
        };
        assert_eq!(
            with(SourceOptions {
                listen,
                exporters: exporters.clone(),
                ..SourceOptions::default()
            }),
            InputOptions {
                sockets: sockets.clone(),
                decoding: former.decoding.clone(),
                tunnels: Tunnels::Inner,
                ..InputOptions::default()
            }
        );
        let listen_tcp = vec!["[::]:4739".parse().unwrap()];
        let source =
            SourceOptions { listen_tcp: listen_tcp.clone(), exporters, ..SourceOptions::default() };
        assert_eq!(
            with(source).sockets,
            SocketOptions { listen: Vec::new(), listen_tcp, receivers: 1, ..sockets }
        );
        let interface = Some("lo".to_owned());
        let url: Option<BrokerUrl> = "nats://192.0.2.2/flows".parse().ok();
        let read = with(SourceOptions { url: url.clone(), ..SourceOptions::default() });
        let ca = Some("ca.pem".into());
        assert_eq!(read.broker, BrokerOptions { url, ca, ..BrokerOptions::default() });
        let captured =
            with(SourceOptions { interface: interface.clone(), ..SourceOptions::default() });
        assert_eq!((captured.interface, captured.capture.snap_length), (interface, 512));
    }
}
