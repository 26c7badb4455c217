//! `contacts` or `detect`, which receive exports until they are told to stop.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::programs::signal;
use crate::{becomes, srlg};

/// A program that receives.
pub(crate) struct Collector {
    child: Child,
    pub(crate) port: u16,
    printed: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
    told: Arc<Mutex<String>>,
}

impl Collector {
    /// Starts `program` with `more` options; when this returns it receives.
    pub(crate) fn start(program: &str, more: &[&str]) -> Self {
        let mut command = srlg(program);
        command.args(["--listen", "127.0.0.1:0", "--exporters", "127.0.0.0/8"]).args(more);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (printed, told) = (Arc::default(), Arc::default());
        let readers = vec![
            read(child.stdout.take().unwrap(), &printed),
            read(child.stderr.take().unwrap(), &told),
        ];
        let mut collector = Self { child, port: 0, printed, readers, told };
        // The first line that it writes ends with its address.
        collector.wait_for(|it| it.told().contains("127.0.0.1:"));
        let told = collector.told();
        let (_, port) = told.lines().next().unwrap().rsplit_once(':').unwrap();
        collector.port = port.parse().unwrap();
        collector
    }

    /// Waits until this collector `is` so.
    pub(crate) fn wait_for(&self, is: impl Fn(&Self) -> bool) {
        assert!(becomes(|| is(self)), "{}", self.told());
    }

    /// What it has printed so far, whole lines.
    pub(crate) fn printed(&self) -> String {
        self.printed.lock().unwrap().clone()
    }

    /// What it has said on standard error so far.
    pub(crate) fn told(&self) -> String {
        self.told.lock().unwrap().clone()
    }

    /// Interrupts the program, and returns all that it printed and told. It must succeed.
    pub(crate) fn stop(mut self) -> (String, String) {
        assert!(signal(&self.child, "INT"));
        let status = self.child.wait().unwrap();
        self.readers.drain(..).for_each(|reader| reader.join().unwrap());
        assert!(status.success(), "{status}: {}", self.told());
        (self.printed(), self.told())
    }
}

/// Leaves nothing behind when a test fails.
impl Drop for Collector {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads lines in a thread.
fn read(from: impl Read + Send + 'static, to: &Arc<Mutex<String>>) -> JoinHandle<()> {
    let to = Arc::clone(to);
    thread::spawn(move || {
        for line in BufReader::new(from).lines() {
            let line = line.unwrap();
            let mut to = to.lock().unwrap();
            to.push_str(&line);
            to.push('\n');
        }
    })
}
