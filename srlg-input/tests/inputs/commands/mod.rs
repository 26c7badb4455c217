//! Tests of files and sockets as inputs: contacts and their order, counters and warnings.

mod files;
mod nothing;
mod sockets;
mod tcp;

use std::error::Error;
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use srlg_input::{Event, Input, InputError, InputOptions};

use crate::exports::build::{set, template9, v9};
use crate::reader::build::{self, MICROSECONDS, datagram};

const PATIENCE: Duration = Duration::from_secs(60);

fn open(args: &[&str]) -> Result<Input, Box<dyn Error>> {
    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        options: InputOptions,
    }
    let args = [&["command"][..], args].concat();
    let command = <Command as clap::Parser>::try_parse_from(args)?;
    Ok(Input::open(&command.options)?)
}

fn refused(args: &[&str]) -> InputError {
    *open(args).unwrap_err().downcast().unwrap()
}

/// The events that an input yielded.
#[derive(Default)]
struct Come {
    /// Source and destination of each contact.
    pairs: Vec<(String, String)>,
    times: Vec<u64>,
    log: Vec<String>,
}

impl Come {
    fn of(input: &mut Input, is_done: impl Fn(&Self) -> bool) -> Self {
        let (mut come, started) = (Self::default(), Instant::now());
        while !is_done(&come) {
            match input.next_event().unwrap() {
                Some(Event::Contacts(contacts)) => come.pairs.extend(
                    contacts.iter().map(|it| (it.source.to_string(), it.destination.to_string())),
                ),
                Some(Event::Time(now)) => come.times.push(now),
                Some(Event::Log(line)) => come.log.push(line.to_string()),
                None => break,
                event => panic!("{event:?}"),
            }
            assert!(started.elapsed() < PATIENCE, "{:?}: {:?}", come.log, input.status());
        }
        come
    }

    fn to_end(input: &mut Input) -> Self {
        Self::of(input, |_| false)
    }
}

/// Returns a NetFlow v9 datagram that contains the template of [`data`]: source, destination and packet count.
fn template(number: u32) -> Vec<u8> {
    v9(number, 7, &[template9(256, &[(8, 4), (12, 4), (2, 4)])])
}

/// Returns a NetFlow v9 datagram that contains a record for each number in `hosts`. The sources are 11.0.0.0 plus the
/// number, and the destination is 10.0.0.1.
fn data(number: u32, hosts: std::ops::Range<u32>) -> Vec<u8> {
    let record = |host: u32| [0x0b00_0000 + host, 0x0a00_0001, 1].map(u32::to_be_bytes).concat();
    v9(number, 7, &[set(256, &hosts.flat_map(record).collect::<Vec<u8>>())])
}

fn pair(host: u32) -> (String, String) {
    (Ipv4Addr::from_bits(0x0b00_0000 + host).to_string(), "10.0.0.1".to_owned())
}

/// Returns a pcap file that contains a UDP datagram from 192.0.2.1 for each payload.
fn capture(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut file = build::pcap(false, MICROSECONDS, 101);
    for payload in payloads {
        let mut packet = datagram(17, [0; 2], payload);
        packet[12..16].copy_from_slice(&[192, 0, 2, 1]);
        file.record(1_700_000_000, 0, &packet);
    }
    file.bytes
}
