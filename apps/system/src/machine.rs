//! Checks of the files, folders, programs and addresses that a configuration names, and of the available memory.
//!
//! Invariant: a check creates and changes no file. If it binds a socket to an address, it closes the socket at once.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{Access, access};

/// Whether a socket can be bound to an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressState {
    /// No socket uses the address.
    Free,
    /// Another socket uses the address, perhaps in a running `srlg`.
    InUse,
}

/// The protocol of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// TCP, which listens.
    Tcp,
    /// UDP.
    Udp,
}

/// Checks that the file `path` can be read.
pub fn try_input(path: &Path) -> Result<()> {
    let text = || format!("cannot read {}", path.display());
    let is_folder = fs::metadata(path).with_context(text)?.is_dir();
    ensure!(!is_folder, "cannot read {}: it is a folder", path.display());
    access(path, Access::READ_OK).with_context(text)
}

/// Checks that the file `path` can be written or created. The file's folder may be missing if it is `made`, because the
/// program creates this folder.
pub fn try_file(path: &Path, made: Option<&Path>) -> Result<()> {
    let text = || format!("cannot write {}", path.display());
    match fs::metadata(path) {
        Ok(file) if file.is_dir() => bail!("cannot write {}: it is a folder", path.display()),
        Ok(_) => access(path, Access::WRITE_OK).with_context(text),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = parent(path);
            if made.is_some_and(|made| made == folder) {
                return Ok(());
            }
            let rights = Access::WRITE_OK | Access::EXEC_OK;
            access(folder, rights)
                .with_context(|| format!("cannot create a file in {}", folder.display()))
        }
        Err(error) => Err(error).with_context(text),
    }
}

/// Checks that files can be created in the folder `path`. A missing folder is accepted if it can be created.
pub fn try_folder(path: &Path) -> Result<()> {
    let text = || format!("cannot use the folder {}", path.display());
    match fs::metadata(path) {
        Ok(folder) => {
            ensure!(folder.is_dir(), "cannot use {} as a folder: it is a file", path.display());
            access(path, Access::WRITE_OK | Access::EXEC_OK).with_context(text)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            try_folder(parent(path)).with_context(text)
        }
        Err(error) => Err(error).with_context(text),
    }
}

fn parent(path: &Path) -> &Path {
    let parent = path.parent().unwrap_or(path);
    if parent.as_os_str().is_empty() { Path::new(".") } else { parent }
}

/// Checks that the program `name` exists and can be started. A name without a folder is searched for on `PATH`.
pub fn try_program(name: &str) -> Result<()> {
    let is_program = |path: &Path| path.is_file() && access(path, Access::EXEC_OK).is_ok();
    if name.contains('/') {
        let metadata = fs::metadata(name).with_context(|| format!("cannot start {name}"))?;
        let is_program = metadata.is_file() && is_program(Path::new(name));
        ensure!(is_program, "cannot start {name}: it is not a program that this user may execute");
        return Ok(());
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths::<OsStr>(&folders);
    let is_there = folders.any(|folder| is_program(&folder.join(name)));
    ensure!(is_there, "cannot start {name}: not found on PATH");
    Ok(())
}

/// Checks that `address` belongs to this machine and that this user may use its port.
pub fn try_address(address: SocketAddr, transport: Transport) -> Result<AddressState> {
    let bound: io::Result<()> = match transport {
        Transport::Tcp => TcpListener::bind(address).map(drop),
        Transport::Udp => UdpSocket::bind(address).map(drop),
    };
    match bound {
        Ok(()) => Ok(AddressState::Free),
        Err(error) if error.kind() == ErrorKind::AddrInUse => Ok(AddressState::InUse),
        Err(error) => Err(error).with_context(|| format!("cannot listen on {address}")),
    }
}

/// Returns the available memory, in bytes, or the limit of the control group if that is lower.
pub fn available_memory() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let limit = memory_limit(&groups, Path::new("/sys/fs/cgroup"));
    memory_of_machine().into_iter().chain(limit).min()
}

/// Returns the memory that is available to programs without swapping, in bytes, if the system reports it.
fn memory_of_machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kilobytes << 10)
}

/// Returns the lowest memory limit, in bytes, of the control `groups` and their parents. `groups` is the content of
/// /proc/self/cgroup. The files of the groups are below `root`, which is normally /sys/fs/cgroup.
fn memory_limit(groups: &str, root: &Path) -> Option<u64> {
    let limits = groups.lines().filter_map(|line| {
        let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
        let (root, file) = match controllers {
            "" => (root.to_owned(), "memory.max"),
            "memory" => (root.join("memory"), "memory.limit_in_bytes"),
            _ => return None,
        };
        // In a container, `group` may be its path on the host, although the files of the group are in `root`.
        let groups = Path::new(group.trim_start_matches('/')).ancestors();
        let limit =
            |group| fs::read_to_string(root.join(group).join(file)).ok()?.trim().parse().ok();
        groups.filter_map(limit).min()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_folders_can_be_made_where_a_folder_is() {
        let folder = tempfile::tempdir().unwrap();
        let (file, new) = (folder.path().join("file"), folder.path().join("new"));
        fs::write(&file, "").unwrap();
        for (path, is_file, is_folder) in [
            (&file, true, false),
            (&new, true, true),
            (&new.join("deep"), false, true),
            (&file.join("below"), false, false),
            (&folder.path().to_owned(), false, true),
        ] {
            assert_eq!(try_file(path, None).is_ok(), is_file, "{}", path.display());
            assert_eq!(try_folder(path).is_ok(), is_folder, "{}", path.display());
        }
        assert!(try_file(&new.join("deep"), Some(&new)).is_ok(), "the program makes the folder");
        assert!(!new.exists());
    }

    #[test]
    fn a_program_is_a_file_that_can_be_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("text");
        fs::write(&file, "").unwrap();
        for (name, is_program) in [
            ("true", true),
            ("/bin/true", true),
            ("no-such-program", false),
            ("/no/such/program", false),
            (folder.path().to_str().unwrap(), false),
            (file.to_str().unwrap(), false),
        ] {
            assert_eq!(try_program(name).is_ok(), is_program, "{name}");
        }
    }

    #[test]
    fn an_address_is_free_in_use_or_of_another_machine() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(try_address(address, Transport::Tcp).unwrap(), AddressState::InUse);
        drop(listener);
        let free = "127.0.0.1:0".parse().unwrap();
        assert_eq!(try_address(free, Transport::Udp).unwrap(), AddressState::Free);
        assert!(try_address("192.0.2.1:7".parse().unwrap(), Transport::Udp).is_err());
    }

    #[test]
    fn the_system_reports_its_memory() {
        assert!(available_memory().unwrap() > 1 << 20);
    }

    #[test]
    fn the_least_limit_of_the_control_groups_counts() {
        let folder = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/memory.max", "5000\n");
        write("a/b/memory.max", "max\n");
        write("c/memory.max", "4000\n");
        write("memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("memory/d/memory.limit_in_bytes", "3000\n");
        for (groups, limit) in [
            ("0::/\n", None),
            ("0::/a/b\n", Some(5_000)),
            ("0::/c\n", Some(4_000)),
            ("12:memory:/d\n1:cpu:/c\n0::/a\n", Some(3_000)),
            ("12:memory:/of/the/host\n", Some(9_223_372_036_854_771_712)),
            ("no group", None),
        ] {
            assert_eq!(memory_limit(groups, folder.path()), limit, "{groups}");
        }
    }
}
