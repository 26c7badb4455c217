//! Publishing of messages that a test makes itself.

use std::time::Duration;

use async_nats::jetstream;
use srlg_cli::network::subjects::slice;

use crate::net::Net;
use crate::network_messages::Message;
use crate::network_traffic::PROBES;

/// Publishes `messages` in order over about one second, so that a test can kill a collector twice in this time.
pub async fn publish_slowly(net: &Net, messages: &[Message]) {
    for some in messages.chunks(messages.len().div_ceil(40)) {
        tokio::time::sleep(Duration::from_millis(25)).await;
        publish(net, some).await;
    }
}

/// Publishes `messages` in order. The messages have no IDs, so the broker does not drop repeated messages.
pub async fn publish(net: &Net, messages: &[Message]) {
    let mut streams = Vec::new();
    for probe in PROBES {
        streams.push(jetstream::new(net.link(probe).await.client));
    }
    for message in messages {
        let subject = slice(PROBES[message.probe]);
        let payload = message.payload.clone().into();
        let ack =
            streams[message.probe].publish_with_headers(subject, message.headers(), payload).await;
        ack.unwrap().await.unwrap();
    }
}
