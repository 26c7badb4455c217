//! pmacctd of pmacct, which reads a capture: its plugin nfprobe exports flows, its plugin sfprobe samples of packets.

use std::path::Path;

use crate::namespace::alone;
use crate::packets;
use crate::programs::{command, until};
use crate::received::{almost_all, assert_pairs_within, pairs_of};

/// Of the pipe between pmacctd and a plugin, larger than all that goes through it.
const PIPE: &str = "plugin_buffer_size: 102400\nplugin_pipe_size: 10240000\n";

/// Runs pmacctd on `file` with `lines` of configuration, until `is_done`.
fn pmacctd(file: &Path, lines: &str, is_done: impl FnMut() -> bool) {
    let config = file.with_extension("conf");
    let text = format!("daemonize: false\npcap_savefile: {}\n{PIPE}{lines}", file.display());
    std::fs::write(&config, text).unwrap();
    let child = command("pmacctd", &["-f", config.to_str().unwrap()]).spawn().unwrap();
    until(child, is_done);
    std::fs::remove_file(config).unwrap();
}

/// Asserts that a plugin with these `lines`, which know the port, exports the pairs of the packets.
fn exports_all(test: &str, name: &str, lines: impl Fn(u16) -> String) {
    alone(test, &["pmacctd"], || {
        let file = packets::file(name, &[false, true]);
        let expected = pairs_of(&file);
        assert_pairs_within(3, name, &expected, |collector| {
            pmacctd(&file, &lines(collector.port), almost_all(&expected, collector));
        });
    });
}

fn nfprobe(port: u16, version: u8) -> String {
    format!(
        "plugins: nfprobe\naggregate: src_host, dst_host, src_port, dst_port, proto, tcpflags\n\
         nfprobe_receiver: 127.0.0.1:{port}\nnfprobe_version: {version}\n\
         nfprobe_timeouts: maxlife=1:expint=1:general=1:tcp=1:udp=1\n"
    )
}

#[test]
fn its_netflow_v9_is_the_pairs_of_the_packets() {
    let test = "pmacctd::its_netflow_v9_is_the_pairs_of_the_packets";
    exports_all(test, "pmacctd-v9", |port| nfprobe(port, 9));
}

#[test]
fn its_ipfix_is_the_pairs_of_the_packets() {
    let test = "pmacctd::its_ipfix_is_the_pairs_of_the_packets";
    exports_all(test, "pmacctd-ipfix", |port| nfprobe(port, 10));
}

#[test]
fn its_sflow_is_the_pairs_of_the_packets() {
    exports_all("pmacctd::its_sflow_is_the_pairs_of_the_packets", "pmacctd-sflow", |port| {
        format!("plugins: sfprobe\nsampling_rate: 1\nsfprobe_receiver: 127.0.0.1:{port}\n")
    });
}
