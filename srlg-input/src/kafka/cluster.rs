//! Connections to the brokers of a topic.
//!
//! All partitions share one client. After an error, the client is dropped, and the next request creates a new one.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use rskafka::client::error::Error as KafkaError;
use rskafka::client::partition::{PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder, Credentials, SaslConfig};
use rskafka::{BackoffConfig, BackoffError, ConnectionError};
use rustls::ClientConfig;
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::error::InputError;
use crate::messages::{password, tls};
use crate::options::{BrokerOptions, Mechanism, Topic};

/// Timeout for a response from a broker.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Maximum size of a response, in bytes. A broker may send a batch of messages that is larger than the requested size.
const MOST_BYTES: usize = 32 << 20;

pub(super) struct Cluster {
    brokers: Vec<String>,
    tls: Option<Arc<ClientConfig>>,
    sasl: Option<SaslConfig>,
    client: Mutex<Option<Arc<Client>>>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum ClusterError {
    #[error("{}", cause_of(.0))]
    Kafka(#[from] KafkaError),
    #[error("no response within {} s", PATIENCE.as_secs())]
    Silent,
    #[error("topic {0} not found")]
    NoTopic(String),
}

/// Returns the cause of the error, without the client's message that it stopped retrying.
fn cause_of<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    match error.downcast_ref() {
        Some(
            KafkaError::RetryFailed(BackoffError::DeadlineExceded { source, .. })
            | KafkaError::Connection(ConnectionError::RetryFailed(BackoffError::DeadlineExceded {
                source,
                ..
            })),
        ) => cause_of(&**source),
        _ => error,
    }
}

impl Cluster {
    /// Reads the certificates and the password that `options` name, but does not connect yet.
    pub(super) fn new(topic: &Topic, options: &BrokerOptions) -> Result<Self, InputError> {
        let tls = options.is_tls().then(|| tls(options.ca.as_deref())).transpose()?;
        let sasl = match (&options.user, &options.password) {
            (Some(user), Some(path)) => {
                let credentials = Credentials::new(user.clone(), password(path)?);
                Some(match options.mechanism {
                    Mechanism::Plain => SaslConfig::Plain(credentials),
                    Mechanism::ScramSha256 => SaslConfig::ScramSha256(credentials),
                    Mechanism::ScramSha512 => SaslConfig::ScramSha512(credentials),
                })
            }
            _ => None,
        };
        Ok(Self { brokers: topic.brokers.clone(), tls, sasl, client: Mutex::new(None) })
    }

    pub(super) async fn partitions(&self, topic: &str) -> Result<Vec<i32>, ClusterError> {
        let topics = self.ask(async |client| Ok(client.list_topics().await?)).await?;
        let found = topics.into_iter().find(|it| it.name == topic);
        let found = found.filter(|it| !it.partitions.is_empty());
        let found = found.ok_or_else(|| ClusterError::NoTopic(topic.to_owned()))?;
        Ok(found.partitions.into_iter().collect())
    }

    pub(super) async fn leader(
        &self,
        topic: &str,
        number: i32,
    ) -> Result<PartitionClient, ClusterError> {
        let handling = UnknownTopicHandling::Error;
        self.ask(async |client| Ok(client.partition_client(topic, number, handling).await?)).await
    }

    /// Sends a request through the shared client. If the request fails, the client is dropped.
    async fn ask<T>(
        &self,
        ask: impl AsyncFnOnce(&Client) -> Result<T, ClusterError>,
    ) -> Result<T, ClusterError> {
        let client = self.client().await?;
        let answer = patiently(async { ask(&client).await }).await;
        if answer.is_err() {
            let mut current = self.client.lock().await;
            if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, &client)) {
                *current = None;
            }
        }
        answer
    }

    async fn client(&self) -> Result<Arc<Client>, ClusterError> {
        let mut client = self.client.lock().await;
        if let Some(client) = &*client {
            return Ok(Arc::clone(client));
        }
        let mut builder = ClientBuilder::new(self.brokers.clone())
            .client_id("srlg")
            .max_message_size(MOST_BYTES)
            // The client retries once or twice, which is needed if the leader has moved. If that fails, the reader logs
            // the error, waits and retries. The deadline applies to a request and to each connection within it.
            .backoff_config(BackoffConfig {
                init_backoff: Duration::from_millis(100),
                max_backoff: Duration::from_secs(1),
                base: 2.0,
                deadline: Some(Duration::from_millis(300)),
            });
        if let Some(tls) = &self.tls {
            builder = builder.tls_config(Arc::clone(tls));
        }
        if let Some(sasl) = &self.sasl {
            builder = builder.sasl_config(sasl.clone());
        }
        let made = patiently(async { Ok(builder.build().await?) }).await?;
        Ok(Arc::clone(client.insert(Arc::new(made))))
    }
}

pub(super) async fn patiently<T>(
    answer: impl Future<Output = Result<T, ClusterError>>,
) -> Result<T, ClusterError> {
    timeout(PATIENCE, answer).await.unwrap_or(Err(ClusterError::Silent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_states_its_cause_without_the_number_of_attempts() {
        let refused = || KafkaError::InvalidResponse("no brokers".to_owned());
        let given_up = |source: KafkaError| BackoffError::DeadlineExceded {
            deadline: Duration::from_millis(300),
            source: source.into(),
        };
        let connection = KafkaError::from(ConnectionError::RetryFailed(given_up(refused())));
        for error in [refused(), KafkaError::from(given_up(connection))] {
            assert_eq!(ClusterError::from(error).to_string(), refused().to_string());
        }
    }
}
