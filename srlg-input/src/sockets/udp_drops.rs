//! Counters of datagrams that the kernel dropped because the receive buffer of a socket was full.

use std::collections::HashMap;
use std::fs;
use std::os::fd::AsRawFd;

use crate::drops::Sum;

/// The kernel's tables of UDP sockets, which have a column for the number of drops.
const TABLES: [&str; 2] = ["/proc/self/net/udp", "/proc/self/net/udp6"];

/// Index of the inode column; see proc_net_udp(5).
const INODE: usize = 9;
const DROPS: usize = 12;

/// Counters of datagrams dropped at the watched sockets.
#[derive(Default)]
pub(super) struct UdpDrops {
    /// Counters of drops, by inode.
    sockets: HashMap<u64, Sum>,
}

impl UdpDrops {
    /// Adds `socket`, if the system reports its inode number.
    pub(super) fn watch(&mut self, socket: &impl AsRawFd) {
        let link = fs::read_link(format!("/proc/self/fd/{}", socket.as_raw_fd()));
        let text = link.map(|link| link.to_string_lossy().into_owned()).unwrap_or_default();
        let inode = text.strip_prefix("socket:[").and_then(|text| text.strip_suffix(']'));
        let inode = inode.and_then(|inode| inode.parse().ok());
        self.sockets.extend(inode.map(|inode| (inode, Sum::default())));
    }

    /// Returns the total number of drops, or `None` if the system does not report drops.
    pub(super) fn count(&mut self) -> Option<u64> {
        let mut is_reported = false;
        for table in TABLES {
            let Ok(text) = fs::read_to_string(table) else { continue };
            for (inode, drops) in text.lines().filter_map(row) {
                if let Some(sum) = self.sockets.get_mut(&inode) {
                    is_reported = true;
                    sum.add(drops);
                }
            }
        }
        is_reported.then(|| self.sockets.values().map(Sum::sum).sum())
    }
}

fn row(line: &str) -> Option<(u64, u32)> {
    let mut columns = line.split_ascii_whitespace();
    let inode = columns.nth(INODE)?.parse().ok()?;
    let drops = columns.nth(DROPS - INODE - 1)?.parse().ok()?;
    Some((inode, drops))
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn rows_of_the_kernel_are_read_and_the_heading_is_not() {
        let heading = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops";
        assert_eq!(row(heading), None);
        let line = " 1203: 0100007F:0807 00000000:0000 07 00000000:00033C00 00:00000000 00000000     0        0 219031 2 0000000000000000 4294967295";
        assert_eq!(row(line), Some((219_031, u32::MAX)));
        assert_eq!(row(""), None);
    }
}
