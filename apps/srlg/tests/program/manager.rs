//! A service manager, which receives the messages of a program under test.

use std::fmt::Write as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

/// A service manager with a watchdog.
pub(crate) struct Manager {
    socket: PathBuf,
    heard: Arc<Mutex<String>>,
}

impl Manager {
    /// Creates a service manager whose socket is in `folder`. A thread reads its messages, because a program blocks if
    /// they are not read.
    pub(crate) fn new(folder: &Path) -> Self {
        let socket = folder.join("notify");
        let manager = UnixDatagram::bind(&socket).unwrap();
        let heard = Arc::new(Mutex::new(String::new()));
        let all = Arc::clone(&heard);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length) = manager.recv(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..length]);
                writeln!(all.lock().unwrap(), "{text}").unwrap();
            }
        });
        Self { socket, heard }
    }

    /// Makes `command` report to this service manager.
    pub(crate) fn watch<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("NOTIFY_SOCKET", &self.socket).env("WATCHDOG_USEC", "400000")
    }

    /// Returns all messages so far.
    pub(crate) fn heard(&self) -> String {
        self.heard.lock().unwrap().clone()
    }

    /// Returns the number of messages so far that contain `text`.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.heard().matches(text).count()
    }
}
