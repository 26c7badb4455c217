//! Contacts between hosts, read from files, flow exports, network interfaces, Kafka and NATS.
//!
//! ```text
//! files -------------------Reader--------------------> contacts, in order                          [files]
//! captures of exports -----Reader--> Decoder --------> contacts, in order                          [files]
//! sockets, UDP or TCP -----permitted? --> Decoder ---> |                                           [sockets]
//! an interface ------------libpcap ------------------> | batches, a thread for each -> contacts    [live]
//! a Kafka topic -----------FlowReader ---------------> |                                           [kafka]
//! a NATS stream -----------FlowReader ---------------> |                                           [nats]
//! a growing file ----------Reader -------------------> |
//! ```
//!
//! An [`Input`] reads any of these sources and yields [`Event`]s, such as contacts. A live input also yields clock
//! ticks, so that slices close even if no contact arrives. A [`View`] turns contacts into the pairs that
//! [srlg](https://crates.io/crates/srlg) counts.
//!
//! | module | contents |
//! |---|---|
//! | [`contact`] | contacts, networks, sampling rates, and views that turn contacts into pairs |
//! | [`packet`] | headers of captured frames |
//! | [`capture`] | pcap, pcapng, CSV and IPFIX files; logs and compressed files if their features are enabled |
//! | `flow` | NetFlow v5, v7 and v9, IPFIX and sFlow v5, from captures and sockets |
//! | [`live`] | sockets, growing files, interfaces through libpcap, and brokers |
//! | `messages` | flows in Protobuf or JSON messages, as Akvorado, goflow2 and others write them |
//! | `nats` | messages of a NATS stream or subject, and keys of NATS clients |
//! | [`backoff`] | delays between attempts that fail |
//! | `credentials` | secrets and PEM certificates in files, and the certificate authorities that the system trusts |
//!
//! # Features
//! - `gzip`: files compressed with gzip.
//! - `logs`: logs of Zeek, Suricata, Hubble and Elastic, and flow logs of clouds.
//! - `flow`: flow exports, from captures and sockets.
//! - `live`: capture on interfaces through libpcap, whose headers are needed to build.
//! - `kafka`: flows in a Kafka topic.
//! - `nats`: flows in a NATS stream or subject.
//! - `messages`: the message decoder that `kafka` and `nats` share.
//! - `credentials`: secrets and PEM certificates in files, and the certificate authorities that the system trusts, for
//!   all connections of a program.
//! - `clap`: [`InputOptions`] and [`ViewOptions`] as command-line options, and a parser for numbers such as `500k`.
//! - `serde`: [`InputOptions`] and [`ViewOptions`] in configuration files, and sampling rates as JSON.
//!
//! The first three features are enabled by default. Contacts from packet captures and CSV files need no feature.
//! Contacts from IPFIX files need `flow`.
//!
//! ```
//! use srlg_input::{Event, Input, InputOptions};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("contacts.csv");
//! std::fs::write(&path, "time_ms,src,dst\n1500,192.0.2.1,198.51.100.7\n")?;
//! let mut input = Input::open(&InputOptions { input: vec![path], ..InputOptions::default() })?;
//! while let Some(event) = input.next_event()? {
//!     match event {
//!         Event::Contacts(contacts) => assert_eq!(contacts[0].time_ns, 1_500_000_000),
//!         Event::Time(now_ns) => println!("the time is {now_ns} ns"),
//!         Event::Log(line) => eprintln!("{line}"),
//!         _ => {}
//!     }
//! }
//! assert_eq!(input.status().packets.map(|it| it.contacts), Some(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod backoff;
pub mod capture;
pub mod contact;
#[cfg(feature = "credentials")]
pub mod credentials;
#[cfg(feature = "flow")]
pub mod flow;
#[cfg(feature = "live")]
mod interface;
pub mod live;
#[cfg(feature = "messages")]
pub mod messages;
#[cfg(feature = "nats")]
pub mod nats;
#[cfg(feature = "clap")]
pub mod number;
pub mod packet;

mod broker;
mod clock;
mod connections;
mod drops;
mod error;
mod event;
#[cfg_attr(not(feature = "flow"), path = "no_exports.rs")]
mod exports;
mod files;
mod follow;
mod input;
#[cfg(feature = "kafka")]
mod kafka;
mod options;
mod position;
mod reason;
mod shortfall;
mod sink;
#[cfg(feature = "flow")]
mod sockets;
mod status;
mod threads;

pub use contact::{Contact, View, ViewOptions};
pub use error::InputError;
pub use event::{Event, LogLevel, LogLine, Progress, Stop};
pub use input::Input;
pub use options::{BadOption, InputOptions};
pub use position::Position;
pub use status::{BrokerStatus, Status};
