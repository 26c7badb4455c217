//! Sharing of an interface's packets among sockets, and pinning of threads to CPUs, on Linux.
//!
//! The first socket creates a fanout group that has a unique number, so that no other program shares its packets. All
//! further sockets join this group.

use nix::libc;
use nix::sys::socket::{getsockopt, setsockopt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use pcap::{Active, Capture};
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::options::CaptureSplit;

sockopt_impl!(
    /// The socket option `PACKET_FANOUT`, which adds a socket to a fanout group. The lower 16 bits of its value are the
    /// number of the group, and the upper 16 bits are the fanout mode.
    PacketFanout,
    Both,
    libc::SOL_PACKET,
    libc::PACKET_FANOUT,
    u32
);

#[derive(Clone, Copy)]
pub(super) struct Group(u16);

/// Adds `handle` to `group`, or to a new group if `group` is `None`, and returns the group.
pub(super) fn join(
    handle: &Capture<Active>,
    group: Option<Group>,
    split: CaptureSplit,
) -> nix::Result<Group> {
    let mode = match split {
        CaptureSplit::Cpu => libc::PACKET_FANOUT_CPU,
        CaptureSplit::Turns => libc::PACKET_FANOUT_LB,
    };
    let (number, mode) = match group {
        Some(Group(number)) => (number, mode),
        None => (0, mode | libc::PACKET_FANOUT_FLAG_UNIQUEID),
    };
    setsockopt(handle, PacketFanout, &(u32::from(number) | mode << 16))?;
    // The lower 16 bits are the number of the group.
    Ok(Group(getsockopt(handle, PacketFanout)? as u16))
}

pub(super) fn pin_to(cpu: u32) -> rustix::io::Result<()> {
    let (cpu, mut cpus) = (cpu as usize, CpuSet::new());
    if cpu >= CpuSet::MAX_CPU {
        return Err(Errno::INVAL);
    }
    cpus.set(cpu);
    sched_setaffinity(None, &cpus)
}
