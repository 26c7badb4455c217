//! The check that a connection to a relay comes from the process of the relay.
//!
//! Other users of the machine could otherwise use a relay, or displace the client from it.

use std::io;
use std::net::SocketAddrV4;

/// Returns whether a socket of this process is connected from `client` to `relay`, which are loopback addresses.
///
/// # Errors
/// Returns an error if `/proc` cannot be read.
#[cfg(target_os = "linux")]
pub(super) fn is_own(client: SocketAddrV4, relay: SocketAddrV4) -> io::Result<bool> {
    use std::fs;
    let table = fs::read_to_string("/proc/self/net/tcp")?;
    let Some(inode) = inode(&table, client, relay) else { return Ok(false) };
    let socket = format!("socket:[{inode}]");
    for entry in fs::read_dir("/proc/self/fd")? {
        // A file that was closed in the meantime has no link.
        if fs::read_link(entry?.path()).is_ok_and(|link| link.as_os_str() == socket.as_str()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Other systems do not show which process a connection belongs to. Another process that uses a relay there can only
/// connect to the server, to which it must authenticate itself.
#[cfg(not(target_os = "linux"))]
pub(super) fn is_own(_: SocketAddrV4, _: SocketAddrV4) -> io::Result<bool> {
    Ok(true)
}

/// Returns the inode of the socket that is connected from `local` to `remote`, from the text of `/proc/net/tcp`.
#[cfg(target_os = "linux")]
fn inode(table: &str, local: SocketAddrV4, remote: SocketAddrV4) -> Option<&str> {
    // The kernel prints the address as a number in the byte order of the processor.
    let shown = |address: SocketAddrV4| {
        format!("{:08X}:{:04X}", u32::from_ne_bytes(address.ip().octets()), address.port())
    };
    let ends = [shown(local), shown(remote)];
    let mut rows = table.lines().map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    rows.find(|row| row.get(1..3).is_some_and(|row| row == ends))
        .and_then(|row| row.get(9).copied())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
    use std::process::{Command, Stdio};

    use super::*;

    fn v4(address: SocketAddr) -> SocketAddrV4 {
        match address {
            SocketAddr::V4(address) => address,
            SocketAddr::V6(_) => unreachable!("the sockets have IPv4 addresses"),
        }
    }

    #[test]
    fn only_connections_of_this_process_are_its_own() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let relay = listener.local_addr().unwrap();
        let client = TcpStream::connect(relay).unwrap();
        assert!(is_own(v4(client.local_addr().unwrap()), v4(relay)).unwrap());
        let port = relay.port();
        let mut other = Command::new("bash")
            .args(["-c", &format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat <&3")])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let _own = listener.accept().unwrap();
        let (_accepted, address) = listener.accept().unwrap();
        let is_own = is_own(v4(address), v4(relay));
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(!is_own.unwrap());
    }
}
