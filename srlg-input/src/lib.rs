//! Contacts between hosts, read from files, flow exports, network interfaces, Kafka and NATS.
//!
//! ```text
//! files -------------------Reader--------------------> contacts, in their order                    [files]
//! captures of exports -----Reader--> Decoder --------> contacts, in their order                    [files]
//! UDP sockets -------------permitted? --> Decoder ---> |                                           [sockets]
//! an interface ------------libpcap ------------------> | batches, a thread for each -> contacts    [live]
//! a topic of Kafka --------FlowReader ---------------> |                                           [kafka]
//! a stream of NATS --------FlowReader ---------------> |                                           [nats]
//! a file that is written --Reader -------------------> |
//! ```
//!
//! An [`Input`] is any of them. It yields [`Event`]s: contacts, and, while it is live, the time of day, by which slices close even
//! if no contact comes. A [`View`] turns contacts into the pairs that [srlg](https://crates.io/crates/srlg) counts.
//!
//! | module | contents |
//! |---|---|
//! | [`contact`] | contacts, networks, sampling rates, and views that turn contacts into pairs |
//! | [`packet`] | headers of captured frames |
//! | [`capture`] | pcap, pcapng, CSV, IPFIX files; with features logs and gzip |
//! | `flow` | NetFlow v5, v7 and v9, IPFIX and sFlow v5, from captures and UDP sockets |
//! | [`live`] | sockets, and interfaces by libpcap |
//! | `messages` | flows in messages of protobuf or JSON, as Akvorado, goflow2 and others write them |
//! | `kafka` | messages in a topic of Kafka |
//! | `nats` | messages in a stream or a subject of NATS |
//!
//! # Features
//! - `gzip`: compressed files.
//! - `logs`: logs of Zeek, Suricata and AWS VPCs.
//! - `flow`: flow exports, in captures and at UDP sockets.
//! - `live`: capture on interfaces by libpcap, the headers of which are needed to build.
//! - `kafka`: flows in a topic of Kafka.
//! - `nats`: flows in a stream or a subject of NATS.
//! - `messages`: the decoder of messages that both have.
//! - `clap`: [`InputOptions`] and [`ViewOptions`] as options of a command, and numbers such as `500k`.
//! - `serde`: [`InputOptions`] and [`ViewOptions`] from configuration files, sampling rates as JSON.
//!
//! The first three are on by default. Without any, captures, lists and IPFIX files are read.
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

pub mod capture;
pub mod contact;
#[cfg(feature = "flow")]
pub mod flow;
#[cfg(feature = "kafka")]
pub mod kafka;
pub mod live;
#[cfg(feature = "messages")]
pub mod messages;
#[cfg(feature = "nats")]
pub mod nats;
#[cfg(feature = "clap")]
pub mod number;
pub mod packet;

mod error;
#[cfg_attr(not(feature = "flow"), path = "no_exports.rs")]
mod exports;
mod files;
mod input;
mod options;
mod position;
mod reason;

pub use contact::{Contact, View, ViewOptions};
pub use error::InputError;
pub use input::{BrokerStatus, Event, Input, LogLevel, LogLine, Progress, Status, Stop};
pub use options::{BadOption, InputOptions};
pub use position::Position;
