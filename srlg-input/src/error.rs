//! Errors of inputs.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::capture::CaptureError;
#[cfg(feature = "flow")]
use crate::flow::BadOptions;
#[cfg(feature = "live")]
use crate::live::LiveError;
use crate::live::SinkError;
#[cfg(feature = "messages")]
use crate::messages::SchemaError;
use crate::options::BadOption;
#[cfg(feature = "nats")]
use crate::options::BadUrl;

/// The reason why an input cannot be opened, or read further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// No input is named.
    #[error(
        "no input is named: give a file, an address to listen at, an interface, a topic of Kafka, or a stream or subject of NATS"
    )]
    None,
    /// A file cannot be opened.
    #[error("cannot open {}: {error}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// A file is of no known format, or cannot be read on.
    #[error("{name}: {error}")]
    Capture {
        /// Name of the file; `-` is standard input.
        name: String,
        /// What is wrong.
        error: CaptureError,
    },
    /// A file holds exports of flows, and contacts are asked of it.
    #[error("{name} is an IPFIX file, which holds exports of flows: read it with --exports")]
    Exports {
        /// Name of the file; `-` is standard input.
        name: String,
    },
    /// Options of the decoder of exports are out of range.
    #[cfg(feature = "flow")]
    #[error(transparent)]
    Decoder(#[from] BadOptions),
    /// A socket cannot be set up.
    #[error("cannot listen at {address}: {error}")]
    Listen {
        /// Where exports should be received.
        address: SocketAddr,
        /// Why not.
        error: io::Error,
    },
    /// A socket fails.
    #[error("cannot receive at {address} any more: {error}")]
    Receive {
        /// Where exports were received.
        address: SocketAddr,
        /// Why not.
        error: io::Error,
    },
    /// Sockets are asked for, and no exporter may send to them.
    #[error(
        "no exporter is permitted: name the networks that they are in, since exports are datagrams that anybody can send"
    )]
    NoExporters,
    /// An interface cannot be captured from.
    #[cfg(feature = "live")]
    #[error(transparent)]
    Interface(#[from] LiveError),
    /// The program has no live capture.
    #[cfg(not(feature = "live"))]
    #[error(
        "{interface}: live capture is not part of this program: build it with the feature live, which needs libpcap"
    )]
    NoLive {
        /// The interface that was asked for.
        interface: String,
    },
    /// The program does not read flow exports.
    #[cfg(not(feature = "flow"))]
    #[error("flow exports are not part of this program: build it with the feature flow")]
    NoFlow,
    /// The templates of exporters cannot be kept.
    #[error("cannot keep templates in {}: {error}", path.display())]
    Templates {
        /// The file.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The client of NATS does not take the address of a server.
    #[cfg(feature = "nats")]
    #[error(transparent)]
    Nats(#[from] BadUrl),
    /// An option is out of range, or lacks another one.
    #[error(transparent)]
    Option(#[from] BadOption),
    /// The schema of messages cannot be used.
    #[cfg(feature = "messages")]
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A file with certificates, a password or a key for a broker cannot be used.
    #[error("cannot read {}: {cause}", path.display())]
    BrokerFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        cause: String,
    },
    /// The certificates of the system cannot be used.
    #[error("cannot read the certificates of the system: {0}; give kafka-ca or nats-ca")]
    Certificates(String),
    /// The program does not read Kafka.
    #[cfg(not(feature = "kafka"))]
    #[error("{topic}: Kafka is not part of this program: build it with the feature kafka")]
    NoKafka {
        /// The topic that was asked for.
        topic: String,
    },
    /// The program does not read NATS.
    #[cfg(not(feature = "nats"))]
    #[error("{url}: NATS is not part of this program: build it with the feature nats")]
    NoNats {
        /// The stream or subject that was asked for.
        url: String,
    },
    /// A sink cannot be made, or does not take contacts.
    #[error("{0}")]
    Sink(SinkError),
    /// Signals cannot be handled.
    #[error("cannot handle signals: {0}")]
    Signals(io::Error),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// A thread that reads has panicked, which is a fault of this program.
    #[error(
        "the thread {thread:?} of the input has panicked: report what it says in the lines before, and start again"
    )]
    Panic {
        /// Name of the thread.
        thread: String,
    },
}
