//! Errors of inputs.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::capture::CaptureError;
#[cfg(feature = "credentials")]
use crate::credentials::{CertificatesError, SecretError};
#[cfg(feature = "flow")]
use crate::flow::BadOptions;
#[cfg(feature = "live")]
use crate::interface::LiveError;
#[cfg(feature = "messages")]
use crate::messages::SchemaError;
use crate::options::BadOption;
#[cfg(feature = "nats")]
use crate::options::BadUrl;
use crate::sink::SinkError;

/// The reason why an input cannot be opened or read further.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// No input is given.
    #[error(
        "no input given; name a file, a listen address, an interface, a Kafka topic, or a NATS stream or subject"
    )]
    None,
    /// A file cannot be opened.
    #[error("cannot open {}: {error}", path.display())]
    Open {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// A file has an unknown format, or cannot be read further.
    #[error("{name}: {error}")]
    Capture {
        /// Name of the file; `-` means standard input.
        name: String,
        /// The cause.
        error: CaptureError,
    },
    /// A file contains flow exports, but contacts were requested.
    #[error(
        "cannot read contacts from {name}: it is an IPFIX file, which contains flow exports; use --exports"
    )]
    Exports {
        /// Name of the file; `-` means standard input.
        name: String,
    },
    /// An option of the flow decoder is out of range.
    #[cfg(feature = "flow")]
    #[error(transparent)]
    Decoder(#[from] BadOptions),
    /// A socket cannot be set up.
    #[error("cannot listen on {address}: {error}")]
    Listen {
        /// Address of the socket.
        address: SocketAddr,
        /// The cause.
        error: io::Error,
    },
    /// A socket has failed.
    #[error("cannot receive on {address}: {error}")]
    Receive {
        /// Address of the socket.
        address: SocketAddr,
        /// The cause.
        error: io::Error,
    },
    /// Sockets are requested, but no exporter is permitted to send to them.
    #[error(
        "no exporters permitted; list their networks in exporters, because anyone can send export datagrams"
    )]
    NoExporters,
    /// Packets cannot be captured on an interface.
    #[cfg(feature = "live")]
    #[error(transparent)]
    Interface(#[from] LiveError),
    /// The program was built without support for live capture.
    #[cfg(not(feature = "live"))]
    #[error(
        "cannot capture from {interface}: this program was built without the feature live; use a package of srlg, or build with this feature, which needs libpcap"
    )]
    NoLive {
        /// Name of the requested interface.
        interface: String,
    },
    /// The program was built without support for flow exports.
    #[cfg(not(feature = "flow"))]
    #[error(
        "cannot read flow exports: this program was built without the feature flow; build with this feature"
    )]
    NoFlow,
    /// The template file cannot be read or written.
    #[error("cannot store templates in {}: {error}", path.display())]
    Templates {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The address of a NATS server is invalid.
    #[cfg(feature = "nats")]
    #[error(transparent)]
    Nats(#[from] BadUrl),
    /// An option is out of range, conflicts with another option, or needs an option that is missing.
    #[error(transparent)]
    Option(#[from] BadOption),
    /// The schema of the messages cannot be used.
    #[cfg(feature = "messages")]
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A file with a password or key cannot be read, or other users can access it.
    #[cfg(feature = "credentials")]
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// A certificate, password or key file for a broker has unusable contents.
    #[error("cannot read {}: {cause}", path.display())]
    BrokerFile {
        /// Path of the file.
        path: PathBuf,
        /// The cause.
        cause: String,
    },
    /// Certificates for a broker cannot be used.
    #[cfg(feature = "credentials")]
    #[error(transparent)]
    Certificates(#[from] CertificatesError),
    /// The program was built without Kafka support.
    #[cfg(not(feature = "kafka"))]
    #[error(
        "cannot read {topic}: this program was built without the feature kafka; use a package of srlg, or build with this feature"
    )]
    NoKafka {
        /// Name of the requested topic.
        topic: String,
    },
    /// The program was built without NATS support.
    #[cfg(not(feature = "nats"))]
    #[error(
        "cannot read {url}: this program was built without the feature nats; use a package of srlg, or build with this feature (`network` in the program srlg)"
    )]
    NoNats {
        /// URL of the requested stream or subject.
        url: String,
    },
    /// A sink cannot be created, or rejects contacts.
    #[error("{0}")]
    Sink(SinkError),
    /// Signal handlers cannot be installed.
    #[error("cannot handle signals: {0}")]
    Signals(io::Error),
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// A reader thread has panicked, which is a bug in this program.
    #[error(
        "input thread {thread:?} panicked (this is a bug); report the log lines above and restart"
    )]
    Panic {
        /// Name of the thread.
        thread: String,
    },
}
