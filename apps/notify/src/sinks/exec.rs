//! A sink that runs a program for each notification. Only one program runs at a time.
//!
//! Invariant: a program that exceeds the time limit is killed with its whole process group.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::{Channel, Failure};
use srlg_alerts::notification::Notification;

pub(super) struct Exec {
    command: Vec<String>,
    timeout: Duration,
}

impl Exec {
    pub(super) fn new(command: &[String], timeout: Duration) -> Result<Self> {
        let is_program = command.first().is_some_and(|program| !program.is_empty());
        ensure!(is_program, "command: must not be empty; give a program and its arguments");
        Ok(Self { command: command.to_vec(), timeout })
    }

    fn run(&self, notification: &Notification) -> Result<()> {
        let program = &self.command[0];
        let input = serde_json::to_vec(notification)?;
        let mut child = Command::new(program)
            .args(&self.command[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let pipe = child.stdin.take();
        // A program that does not read its input would block this thread.
        let writer = thread::spawn(move || pipe.map(|mut pipe| pipe.write_all(&input)));
        let done = self.wait(&mut child);
        if done.is_err() {
            kill(&mut child);
        }
        // A program that reads only part of its input is not an error.
        let _written = writer.join();
        done
    }

    fn wait(&self, child: &mut Child) -> Result<()> {
        let (program, until) = (&self.command[0], Instant::now() + self.timeout);
        loop {
            if let Some(status) = child.try_wait()? {
                ensure!(status.success(), "{program} failed: {status}");
                return Ok(());
            }
            if Instant::now() >= until {
                bail!("{program} was killed because it ran longer than {:?}", self.timeout);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Kills the process group of `child`. It is not an error if all processes have already ended.
fn kill(child: &mut Child) {
    let group = rustix::process::Pid::from_child(child);
    let _gone = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    let _gone = child.wait();
}

impl Channel for Exec {
    fn send(&mut self, _number: i64, notification: &Notification) -> Result<String, Failure> {
        self.run(notification)?;
        Ok("exit status: 0".to_owned())
    }
}
