//! Brokers: Kafka topics, and NATS streams and subjects.

use crate::error::InputError;
use crate::options::{BrokerUrl, InputOptions};
use crate::position::Position;
use crate::threads::{ContactSender, ContactSenders};

/// The work of the thread that reads from a broker.
type Work = Box<dyn FnOnce(&mut ContactSender) -> Result<(), InputError> + Send>;

/// Starts the thread that reads from `url`. If there is a stored position `start`, reading resumes there, unless `url`
/// is a subject.
pub(crate) fn open(
    url: &BrokerUrl,
    options: &InputOptions,
    start: Option<&Position>,
    senders: &mut ContactSenders<'_>,
) -> Result<(), InputError> {
    options.check()?;
    let (thread, work) = prepare(url, options, start)?;
    senders.spawn(thread, work)
}

/// Checks the files that the options of a broker name: the schema, the certificates, the password and the keys.
/// [`InputOptions::check`] checks the options themselves.
///
/// # Errors
/// If a file cannot be used, or if the feature for the broker is off, returns the [`InputError`] that
/// [`Input::open`](crate::Input::open) would return.
pub fn check_broker(options: &InputOptions) -> Result<(), InputError> {
    match &options.broker.url {
        Some(url) => prepare(url, options, None).map(drop),
        None => Ok(()),
    }
}

/// Reads the files that `options` name, and returns the name and the work of the thread that reads from `url`.
#[cfg_attr(
    not(any(feature = "kafka", feature = "nats")),
    expect(unused_variables, reason = "without these features, there is nothing to read")
)]
fn prepare(
    url: &BrokerUrl,
    options: &InputOptions,
    start: Option<&Position>,
) -> Result<(&'static str, Work), InputError> {
    match url {
        #[cfg(feature = "kafka")]
        BrokerUrl::Kafka(topic) => {
            let reader = crate::kafka::Reader::new(topic, options, start)?;
            Ok(("kafka", Box::new(|sender| reader.run(sender))))
        }
        #[cfg(not(feature = "kafka"))]
        BrokerUrl::Kafka(topic) => Err(InputError::NoKafka { topic: topic.to_string() }),
        #[cfg(feature = "nats")]
        BrokerUrl::Nats(url) => {
            let reader = crate::nats::Reader::new(url, options, start)?;
            Ok(("nats", Box::new(|sender| reader.run(sender))))
        }
        #[cfg(not(feature = "nats"))]
        BrokerUrl::Nats(url) => Err(InputError::NoNats { url: url.to_string() }),
    }
}
