//! A program under test as a process, which is killed when its value is dropped.
#![allow(dead_code, reason = "each test program uses other functions")]

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time limit for each wait, long enough for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// Time between two looks at a process.
const PAUSE: Duration = Duration::from_millis(5);

pub(crate) struct Process {
    child: Child,
    log: Lines,
    printed: Lines,
}

/// The lines that a process has written to a stream so far. An unfinished last line is added when the stream ends.
#[derive(Default)]
struct Lines {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Lines {
    /// Reads `stream`, and also writes its lines to `file`. An unfinished last line counts as a line.
    fn of(stream: impl Read + Send + 'static, mut file: impl Write + Send + 'static) -> Self {
        let text = Arc::<Mutex<String>>::default();
        let to = Arc::clone(&text);
        let reader = thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                writeln!(file, "{line}").unwrap();
                *to.lock().unwrap() += &(line + "\n");
            }
        });
        Self { text, reader: Some(reader) }
    }

    fn text(&self) -> String {
        self.text.lock().unwrap().clone()
    }

    /// Waits for the end of the stream.
    fn finish(&mut self) {
        self.reader.take().into_iter().for_each(|reader| reader.join().unwrap());
    }
}

impl Process {
    /// Starts `srlg` with `args`.
    pub(crate) fn srlg<I: AsRef<OsStr>>(args: impl IntoIterator<Item = I>) -> Self {
        Self::start(Command::new(env!("CARGO_BIN_EXE_srlg")).args(args))
    }

    /// Starts `command`, whose standard output is dropped.
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::spawn(command.stdout(Stdio::null()), io::sink())
    }

    /// Starts `command`, whose log is also appended to the file `log`.
    pub(crate) fn start_with_log(command: &mut Command, log: &Path) -> Self {
        let file = File::options().create(true).append(true).open(log).unwrap();
        Self::spawn(command.stdout(Stdio::null()), file)
    }

    /// Starts `command`, whose standard output is [`printed`](Self::printed).
    pub(crate) fn start_printing(command: &mut Command) -> Self {
        Self::spawn(command.stdout(Stdio::piped()), io::sink())
    }

    fn spawn(command: &mut Command, file: impl Write + Send + 'static) -> Self {
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Lines::of(child.stderr.take().unwrap(), file);
        let printed = child.stdout.take().map(|stdout| Lines::of(stdout, io::sink()));
        let printed = printed.unwrap_or_default();
        Self { child, log, printed }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the lines of the standard error so far. An unfinished last line is included once the stream has ended.
    pub(crate) fn log(&self) -> String {
        self.log.text()
    }

    /// Returns the lines of the standard output so far. An unfinished last line is included once the stream has ended.
    pub(crate) fn printed(&self) -> String {
        self.printed.text()
    }

    /// Waits for a log line that contains `words`, such as an address or a system error.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, words: &str) -> String {
        self.wait_for_line(words, |line| line.contains(words))
    }

    /// Waits for a log line that contains `words`, and returns the text after them.
    #[track_caller]
    pub(crate) fn wait_for_text_after(&mut self, words: &str) -> String {
        let line = self.wait_for(words);
        line.split_once(words).unwrap().1.to_owned()
    }

    /// Waits for a log line that contains exactly these numbers.
    #[track_caller]
    pub(crate) fn wait_for_numbers(&mut self, expected: &[u64]) {
        self.wait_for_line(&format!("{expected:?}"), |line| numbers(line) == expected);
    }

    #[track_caller]
    fn wait_for_line(&mut self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let started = Instant::now();
        loop {
            let has_ended = self.child.try_wait().unwrap().is_some();
            if has_ended {
                self.log.finish();
            }
            let log = self.log();
            if let Some(line) = log.lines().find(|line| is(line)) {
                return line.to_owned();
            }
            assert!(!has_ended && started.elapsed() < PATIENCE, "no line with {what} in:\n{log}");
            thread::sleep(PAUSE);
        }
    }

    /// Writes to the standard input of the process.
    pub(crate) fn write(&mut self, text: &str) {
        self.child.stdin.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    /// Returns the standard input of the process, which then no longer closes with this value.
    pub(crate) fn take_input(&mut self) -> ChildStdin {
        self.child.stdin.take().unwrap()
    }

    /// Closes the standard input of the process.
    pub(crate) fn hang_up(&mut self) {
        self.child.stdin = None;
    }

    pub(crate) fn assert_runs(&mut self) {
        if let Some(status) = self.child.try_wait().unwrap() {
            self.log.finish();
            panic!("stopped with {status}: {}", self.log());
        }
    }

    /// Waits for the process to exit. Returns its exit code and its log.
    pub(crate) fn end(&mut self) -> (Option<i32>, String) {
        let Some(status) = self.wait(PATIENCE) else { panic!("still running:\n{}", self.log()) };
        self.log.finish();
        self.printed.finish();
        (status.code(), self.log())
    }

    /// Returns the exit status if the process exits within `patience`.
    pub(crate) fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let end = Instant::now() + patience;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status);
            }
            if Instant::now() >= end {
                return None;
            }
            thread::sleep(PAUSE);
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) {
        self.signal("TERM");
    }

    /// Sends the signal `name`.
    pub(crate) fn signal(&self, name: &str) {
        // `kill` is a built-in command of every shell, but not a program on every system.
        let line = format!("kill -s {name} {}", self.id());
        assert!(Command::new("sh").args(["-c", &line]).status().unwrap().success());
    }
}

/// Returns the integers that follow the timestamp of a log line.
pub(crate) fn numbers(line: &str) -> Vec<u64> {
    let (_, text) = line.split_once("  ").unwrap_or_default();
    text.split([' ', ',', ';', ':']).filter_map(|word| word.parse().ok()).collect()
}

impl Drop for Process {
    fn drop(&mut self) {
        // Killing fails if the process has already stopped.
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}
