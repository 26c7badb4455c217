//! Contacts between hosts from whatever tells of them, and the options by which a command asks for them.
//!
//! ```text
//! files -------------------Reader--------------------> contacts, in their order                    [files]
//! captures of exports -----Reader--> Decoder --------> contacts, in their order                    [files]
//! UDP sockets -------------permitted? --> Decoder ---> |                                           [sockets]
//! an interface ------------libpcap ------------------> | batches, a thread for each -> contacts    [live]
//! a file that goes on -----Reader -------------------> |
//! ```
//!
//! An [`Input`] is any of them. It yields [`Event`]s: contacts, and, of what is live, the time of day, by which
//! slices end while nothing comes.
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
//!         Event::Contact(contact) => assert_eq!(contact.time_ns, 1_500_000_000),
//!         Event::Time(now_ns) => println!("the time is {now_ns} ns"),
//!         Event::Notice(line) => eprintln!("{line}"),
//!         _ => {}
//!     }
//! }
//! assert_eq!(input.status().to_string(), "1 packets, 1 contacts, 0 skipped");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
mod event;
mod exports;
mod files;
mod input;
mod live;
pub mod number;
mod options;
mod progress;
mod status;
mod stop;

pub use error::InputError;
pub use event::Event;
pub use input::Input;
pub use options::{ExportOptions, InputOptions, InterfaceOptions, SocketOptions};
pub use progress::Progress;
pub use status::{ExporterStatus, SocketStatus, Status};
pub use stop::Stop;
