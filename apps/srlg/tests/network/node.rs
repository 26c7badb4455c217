//! A probe or a collector as a separate process, which is killed when its value is dropped.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Time limit for each step of a test, long enough for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub struct Node {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Node {
    pub fn start<I: AsRef<std::ffi::OsStr>>(args: impl IntoIterator<Item = I>) -> Self {
        Self::run(Command::new(env!("CARGO_BIN_EXE_srlg")).args(args))
    }

    /// Starts `command` as a process.
    pub fn run(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        thread::spawn(move || {
            stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { child, lines, said: Vec::new() }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a log line that contains `data`, such as an address or a system error.
    pub fn wait_for(&mut self, data: &str) -> String {
        self.wait_for_line(|line| line.contains(data))
    }

    /// Waits for a log line that contains exactly these numbers.
    pub fn wait_for_numbers(&mut self, expected: &[u64]) {
        self.wait_for_line(|line| numbers(line) == expected);
    }

    fn wait_for_line(&mut self, is: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(line) = self.said.iter().find(|line| is(line)) {
                return line.clone();
            }
            let left = end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => self.said.push(line),
                Err(_) => panic!("no such line in:\n{}", self.said.join("\n")),
            }
        }
    }

    /// Writes to the standard input of the process.
    pub fn tell(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Closes the standard input of the process.
    pub fn hang_up(&mut self) {
        self.child.stdin = None;
    }

    /// Waits for the process to exit. Returns its exit code and its log.
    pub fn end(&mut self) -> (Option<i32>, String) {
        let status = self.wait(PATIENCE);
        let Some(status) = status else { panic!("still running:\n{}", self.said.join("\n")) };
        self.said.extend(self.lines.iter());
        (status.code(), self.said.join("\n"))
    }

    /// Returns the exit status if the process exits within `patience`.
    pub fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + patience;
        loop {
            self.said.extend(self.lines.try_iter());
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status);
            }
            if Instant::now() >= end {
                return None;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) {
        let done = Command::new("kill").arg(self.child.id().to_string()).status().unwrap();
        assert!(done.success());
    }
}

/// Returns the integers that follow the timestamp of a log line.
pub fn numbers(line: &str) -> Vec<u64> {
    let (_, text) = line.split_once("  ").unwrap_or_default();
    text.split([' ', ',', ';', ':']).filter_map(|word| word.parse().ok()).collect()
}

impl Drop for Node {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}
