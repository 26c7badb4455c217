//! Throughput of one broker on this machine, with all features that a network of probes uses: TLS, a stream on disk,
//! and acknowledgements of all messages.

use std::time::Instant;

use async_nats::jetstream;
use futures_util::{StreamExt, TryStreamExt, stream};
use srlg_cli::network::subjects::slice;

use crate::net::{Net, run};
use crate::network_traffic::PROBES;

/// Maximum number of unacknowledged messages per probe.
const AHEAD: usize = 256;

async fn publish(net: &Net, probe: &str, count: usize, payload: &[u8]) {
    let link = net.link(probe).await;
    let context = jetstream::new(link.client);
    let (context, payload) = (&context, bytes::Bytes::copy_from_slice(payload));
    let subject = slice(probe);
    stream::iter(0..count)
        .map(|_| {
            let (subject, payload) = (subject.clone(), payload.clone());
            async move { context.publish(subject, payload).await?.await }
        })
        .buffered(AHEAD)
        .try_for_each(|_| std::future::ready(Ok(())))
        .await
        .unwrap();
}

#[test]
#[ignore = "a measurement: cargo test --release -p srlg-cli --test network rate -- --ignored --nocapture"]
fn a_broker_takes_so_many_messages_and_bytes_per_second() {
    println!("\n| what | measured |\n|---|---|");
    for (count, bytes) in [(40_000, 300), (2_000, 120_000), (400, 1_000_000)] {
        let Some(net) = Net::start() else { return };
        run(net.stream());
        let payload: Vec<u8> = (0..bytes).map(|i| (i * 31 % 251) as u8).collect();
        let begun = Instant::now();
        run(async {
            let sent = PROBES.map(|probe| publish(&net, probe, count / 3, &payload));
            futures_util::future::join_all(sent).await;
        });
        let rate = (count / 3 * 3) as f64 / begun.elapsed().as_secs_f64();
        let megabytes = rate * f64::from(bytes) / 1e6;
        println!("| one broker, messages of {bytes} bytes | {rate:.0}/s, {megabytes:.1} MB/s |");
    }
}
