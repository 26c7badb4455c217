//! A collector's state on disk, its stop and its restart.

use std::fs;
use std::path::Path;
use std::time::Duration;

use async_nats::jetstream;
use srlg_cli::network::subjects::STREAM;

use crate::collecting::{Collector, alerts_of, probe_command};
use crate::messages::{publish, publish_slowly};
use crate::net::{Net, run};
use crate::network_messages::whole;
use crate::network_traffic::{OneNode, PROBES, Random};
use crate::process::Process;

const SLICES: std::ops::Range<u64> = 1000..1040;

fn one() -> OneNode {
    OneNode::of(&[0, 1, 2], SLICES)
}

fn until(slice: u64) -> [String; 2] {
    ["--until-slice".to_owned(), slice.to_string()]
}

fn collect_until(net: &Net, slice: u64) -> (Collector, String) {
    let mut collector = Collector::start(net, &until(slice).each_ref().map(|arg| &arg[..]));
    let (code, said) = collector.end();
    assert_eq!(code, Some(0), "{said}");
    (collector, said)
}

#[test]
fn a_collector_that_is_killed_again_and_again_reports_each_slice_and_each_alert_once() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let messages = whole(SLICES);
    let (mut random, mut kills) = (Random(5), 0);
    let until = until(SLICES.end - 1);
    std::thread::scope(|scope| {
        scope.spawn(|| run(publish_slowly(&net, &messages)));
        loop {
            let every = (1 + random.below(5)).to_string();
            let more = ["--checkpoint-every", &every, &until[0], &until[1]];
            let mut collector = Collector::start(&net, &more);
            // The time grows with each kill, so that the collector makes progress even on a busy machine.
            let patience = Duration::from_millis(20 + random.below(30 + 30 * kills));
            if collector.ends_within(patience) {
                collector.assert_is(&one());
                break;
            }
            collector.kill();
            kills += 1;
        }
    });
    assert!(kills > 1, "the collector stopped before two kills");
    let folder = tempfile::tempdir().unwrap();
    let [state, reports] = ["state", "reports"].map(|name| folder.path().join(name));
    let [state_text, reports] = [&state, &reports].map(|path| path.to_str().unwrap());
    let more = ["--state", state_text, "--reports", reports, &until[0], &until[1]];
    assert_eq!(Collector::start(&net, &more).end().0, Some(0));
    let alerts = |state: &Path| fs::read_to_string(alerts_of(state)).unwrap();
    let expected = alerts(&state);
    assert_eq!(expected.matches(r#""status":"start""#).count(), 3);
    assert_eq!(alerts(&net.folder().join("state")), expected);
}

#[test]
fn a_recreated_stream_is_read_from_its_beginning() {
    let Some(mut net) = Net::start() else { return };
    run(net.stream());
    let messages = whole(SLICES);
    let (before, after) = messages.split_at(91);
    run(publish(&net, before));
    let mut collector = Collector::start(&net, &[]);
    collector.status(|status| status["running"] == SLICES.start + 30);
    run(async {
        let link = net.link("collector").await;
        jetstream::new(link.client).delete_stream(STREAM).await.unwrap();
        net.stream().await;
    });
    net.broker.restart().unwrap();
    collector.status(|status| status["sequence"] == 0);
    run(publish(&net, after));
    collector.wait_for_slice(SLICES.end - 1);
    collector.assert_is(&one());
}

/// The connection stays open, so the collector itself must notice that its position in the stream is no longer valid.
#[test]
fn a_stream_that_is_recreated_during_a_connection_is_read_from_its_beginning() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let messages = whole(SLICES);
    let (before, after) = messages.split_at(60);
    run(publish(&net, before));
    let mut collector = Collector::start(&net, &[]);
    collector.status(|status| status["sequence"] == 60);
    run(async {
        let link = net.link("collector").await;
        jetstream::new(link.client).delete_stream(STREAM).await.unwrap();
    });
    // The collector creates the stream.
    collector.status(|status| status["sequence"] == 0);
    run(publish(&net, after));
    collector.wait_for_slice(SLICES.end - 1);
    collector.assert_is(&one());
}

#[test]
fn messages_that_the_stream_has_lost_are_asked_for_and_sent_again() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    // The collector must have reported a slice before the loss. Otherwise it could start after the lost slices.
    let (reported, sent) = (SLICES.start..1010, 1010..SLICES.end);
    run(publish(&net, &whole(reported.clone())));
    drop(collect_until(&net, reported.end - 1));
    let start = |probe| {
        let mut command = probe_command(&net, probe, sent.clone(), "keep = 100\n");
        Process::start(command.arg("--wait-durable"))
    };
    let mut probes: Vec<_> = (0..PROBES.len()).map(start).collect();
    run(net.wait_for_messages(3 * 40));
    run(async {
        let mut stream = net.stream().await;
        stream.purge().sequence(76).await.unwrap();
        assert_eq!(stream.info().await.unwrap().state.first_sequence, 76);
    });
    let mut collector = Collector::start(&net, &["--checkpoint-every", "1"]);
    collector.wait_for_numbers(&[31, 75]);
    for probe in &mut probes {
        let (code, said) = probe.end();
        assert_eq!(code, Some(0), "{said}");
    }
    for probe in PROBES {
        let slices_in_stream = run(net.slices(probe)).into_keys().map(|(slice, _)| slice);
        assert!(slices_in_stream.eq(sent.clone()), "lost slices must be sent again");
    }
    collector.assert_is(&one());
}

#[test]
fn two_collectors_cannot_have_the_same_folder() {
    let Some(net) = Net::start() else { return };
    let mut first = Collector::start(&net, &[]);
    first.wait();
    let (code, said) = Collector::start(&net, &[]).end();
    assert_eq!(code, Some(2));
    // The lines before it are notes on the configuration.
    let error = said.lines().last().unwrap();
    insta::assert_snapshot!(error.replace(net.folder().to_str().unwrap(), "FOLDER"));
}

#[test]
fn a_collector_stops_without_its_broker_and_later_continues_where_it_was() {
    let Some(net) = Net::start() else { return };
    run(net.stream());
    let messages = whole(SLICES);
    let (before, after) = messages.split_at(messages.len() / 2);
    run(publish(&net, before));
    let mut collector = Collector::start(&net, &[]);
    collector.status(|status| status["sequence"] == before.len());
    assert_eq!(collector.stop().0, Some(0));
    // A collector that stops before it has read a message must not skip unmerged messages.
    let mut early = Collector::start(&net, &["--broker", "localhost:1"]);
    early.wait_for_broker("localhost:1");
    assert_eq!(early.stop().0, Some(0));
    run(publish(&net, after));
    let (mut collector, _) = collect_until(&net, SLICES.end - 1);
    collector.assert_is(&one());
    // All slices are closed already.
    collect_until(&net, SLICES.end - 1);
}
