//! Sharing of an interface's packets among sockets, and pinning of threads to CPUs, on Linux.
//!
//! The first socket creates a group with a unique number, so that no other program shares its packets. The other
//! sockets join the group.

use nix::libc;
use nix::sys::socket::{getsockopt, setsockopt};
use nix::{getsockopt_impl, setsockopt_impl, sockopt_impl};
use pcap::{Active, Capture};
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::options::CaptureSplit;

sockopt_impl!(
    /// The socket option `PACKET_FANOUT`, which sets the group of sockets that share packets. The lower half of its
    /// value is the group number, and the upper half is the sharing mode.
    PacketFanout,
    Both,
    libc::SOL_PACKET,
    libc::PACKET_FANOUT,
    u32
);

/// The number of a fanout group.
#[derive(Clone, Copy)]
pub(super) struct Group(u16);

/// Adds `handle` to `group`, or to a new group if there is none yet.
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
    // The lower half is the number of the group.
    Ok(Group(getsockopt(handle, PacketFanout)? as u16))
}

/// Pins this thread to `cpu`.
pub(super) fn pin_to(cpu: u32) -> rustix::io::Result<()> {
    let (cpu, mut cpus) = (cpu as usize, CpuSet::new());
    if cpu >= CpuSet::MAX_CPU {
        return Err(Errno::INVAL);
    }
    cpus.set(cpu);
    sched_setaffinity(None, &cpus)
}
