//! TCP sockets, and the thread that accepts all connections and receives on them.
//!
//! Invariant: nothing that was received is dropped silently. While the queue is full or a sink is slow, the thread does
//! not read, and TCP slows the exporters down.

use std::io::{self, ErrorKind};
use std::mem;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket, Type};

use crate::contact::Contact;
use crate::error::InputError;
use crate::threads::queue::{ENOUGH, TICK};
use crate::threads::{ContactSender, DRAIN};

use super::close_error::{CloseError, MOST, MOST_OF_ADDRESS};
use super::connection::Connection;
use super::state::ReceiverState;

/// Size of the system's receive buffer of each connection, in bytes. Without a size, Linux lets it grow to megabytes.
const RECEIVE_BUFFER: usize = 256 << 10;

/// Time without attempts after the system refused to accept a connection, for example because too many files are open.
/// The connection keeps waiting, so the next attempt would fail at once.
const PAUSE: Duration = Duration::from_secs(1);

/// Listens on `address`, and returns the socket with its bound address.
pub(super) fn listen(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    if address.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    // Connections of a former run may still be about to end.
    socket.set_reuse_address(true)?;
    socket.set_recv_buffer_size(RECEIVE_BUFFER)?;
    socket.bind(&address.into())?;
    socket.listen(MOST as i32)?;
    socket.set_nonblocking(true)?;
    let bound = socket.local_addr()?.as_socket().unwrap_or(address);
    Ok((socket.into(), bound))
}

/// The receiver of all connections. One thread is enough, because decoding is faster than most networks, and a thread
/// for each connection would need a sink of its own.
pub(super) struct Receiver {
    listeners: Vec<TcpListener>,
    /// Address of the first listener.
    address: SocketAddr,
    connections: Vec<Connection>,
    contacts: Vec<Contact>,
    shared: Arc<ReceiverState>,
    /// End of the [`PAUSE`], in which listeners are not checked for new connections.
    paused_until: Option<Instant>,
}

/// The result of a turn of a [`Receiver`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    /// Nothing was ready within [`TICK`].
    Quiet,
    Busy,
    /// The input was dropped.
    Left,
}

impl Receiver {
    /// Creates a receiver for `listeners`, the first of which has `address`.
    pub(super) fn new(
        listeners: Vec<TcpListener>,
        address: SocketAddr,
        shared: Arc<ReceiverState>,
    ) -> Self {
        let (connections, contacts) = (Vec::new(), Vec::new());
        Self { listeners, address, connections, contacts, shared, paused_until: None }
    }

    /// Receives until the input is asked to stop. Then reads what has arrived for at most [`DRAIN`].
    pub(super) fn run(mut self, sender: &mut ContactSender) -> Result<(), InputError> {
        let mut asked: Option<Instant> = None;
        loop {
            if sender.shared.stop.is_asked()
                && asked.get_or_insert_with(Instant::now).elapsed() >= DRAIN
            {
                break;
            }
            match self.turn(Instant::now, sender)? {
                Turn::Quiet if asked.is_some() => break,
                Turn::Left => return Ok(()),
                Turn::Quiet | Turn::Busy => {}
            }
        }
        for connection in mem::take(&mut self.connections) {
            let outcome = connection.check_end();
            connection.close(outcome, &self.shared);
        }
        self.shared.set_open_connections(0);
        Ok(())
    }

    /// Waits until a socket is ready, for at most [`TICK`]. Then accepts connections, and reads each ready connection
    /// once. `clock` returns the current time.
    fn turn(
        &mut self,
        clock: impl Fn() -> Instant,
        sender: &mut ContactSender,
    ) -> Result<Turn, InputError> {
        let ready = self.wait()?;
        // Delivering may take long. Connections that are not ready were silent until this time, and others are heard when
        // they are read.
        let polled = clock();
        let (of_listeners, of_connections) = ready.split_at(self.listeners.len());
        for (connection, is_ready) in
            mem::take(&mut self.connections).into_iter().zip(of_connections)
        {
            let now = if *is_ready { clock() } else { polled };
            self.serve(connection, *is_ready, now);
            if self.contacts.len() >= ENOUGH && !self.deliver(sender)? {
                return Ok(Turn::Left);
            }
        }
        let is_accepting = self.paused_until.is_none();
        self.paused_until = self.paused_until.filter(|until| polled < *until);
        for at in (0..of_listeners.len()).filter(|at| is_accepting && of_listeners[*at]) {
            self.accept(at, polled);
        }
        self.shared.set_open_connections(self.connections.len());
        if !self.deliver(sender)? {
            return Ok(Turn::Left);
        }
        Ok(if ready.contains(&true) { Turn::Busy } else { Turn::Quiet })
    }

    /// Returns whether each listener and each connection is ready.
    fn wait(&self) -> Result<Vec<bool>, InputError> {
        let is_accepting = self.paused_until.is_none();
        let of_listeners = if is_accepting { PollFlags::IN } else { PollFlags::empty() };
        let listeners = self.listeners.iter().map(|it| PollFd::new(it, of_listeners));
        let connections = self.connections.iter().map(|it| PollFd::new(&it.stream, PollFlags::IN));
        let mut sockets: Vec<_> = listeners.chain(connections).collect();
        let limit = Timespec { tv_sec: 0, tv_nsec: TICK.subsec_nanos().into() };
        loop {
            match poll(&mut sockets, Some(&limit)) {
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(error) => {
                    let error = error.into();
                    return Err(InputError::Receive { address: self.address, error });
                }
            }
        }
        Ok(sockets.iter().map(|socket| !socket.revents().is_empty()).collect())
    }

    /// Reads `connection` if it is ready, and keeps it if it is still open.
    fn serve(&mut self, mut connection: Connection, is_ready: bool, now: Instant) {
        let contacts = &mut self.contacts;
        let outcome = if is_ready {
            connection.read(now, &self.shared, |contact| contacts.push(contact))
        } else {
            connection.check_time(now).map(|()| true)
        };
        match outcome {
            Ok(true) => self.connections.push(connection),
            outcome => connection.close(outcome.map(drop), &self.shared),
        }
    }

    /// Accepts waiting connections, but not more than may be open, so that others are still read. `now` is the
    /// current time.
    fn accept(&mut self, at: usize, now: Instant) {
        for _ in 0..MOST {
            match self.listeners[at].accept() {
                Ok((stream, from)) => self.admit(stream, from),
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => {
                        self.shared.count_closed(None, &CloseError::System(error));
                        self.paused_until = Some(now + PAUSE);
                        return;
                    }
                },
            }
        }
    }

    /// Keeps the connection `stream`, if its sender is permitted and has not too many connections.
    fn admit(&mut self, stream: TcpStream, from: SocketAddr) {
        let Some(exporter) = self.shared.permitted(from) else { return };
        let is_of_address = |it: &&Connection| it.exporter.ip() == exporter.ip();
        let admitted = if self.connections.len() >= MOST {
            Err(CloseError::Full)
        } else if self.connections.iter().filter(is_of_address).count() >= MOST_OF_ADDRESS {
            Err(CloseError::AddressFull)
        } else {
            Connection::new(stream, exporter, &self.shared)
        };
        match admitted {
            Ok(connection) => self.connections.push(connection),
            Err(error) => self.shared.count_closed(Some(exporter), &error),
        }
    }

    fn deliver(&mut self, sender: &mut ContactSender) -> Result<bool, InputError> {
        let delivered = sender.deliver(&self.contacts);
        self.contacts.clear();
        delivered
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::Write;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;
    use crate::connections::{CloseReason, ConnectionCounts};
    use crate::flow::DecoderOptions;
    use crate::sockets::close_error::PATIENCE;
    use crate::threads::{ContactSenders, SharedState};

    const MESSAGE: [u8; 16] = [0, 10, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

    struct Test {
        receiver: Receiver,
        sender: ContactSender,
        exporter: TcpStream,
        now: Instant,
    }

    impl Test {
        fn new() -> Self {
            let (listener, address) = listen("127.0.0.1:0".parse().unwrap()).unwrap();
            let permitted = ["127.0.0.0/8".parse().unwrap()];
            let shared = ReceiverState::new(&permitted, 0, DecoderOptions::default()).unwrap();
            let receiver = Receiver::new(vec![listener], address, Arc::new(shared));
            let mut senders = ContactSenders { shared: SharedState::default(), sinks: None };
            let exporter = TcpStream::connect(address).unwrap();
            Self { receiver, sender: senders.sender().unwrap(), exporter, now: Instant::now() }
        }

        /// Takes turns until `is_done`, with [`PATIENCE`] between each of them. Data on the loopback interface arrives
        /// within a few turns.
        fn turn_until(&mut self, is_done: impl Fn(&ReceiverState) -> bool) {
            for _ in 0..1_000 {
                self.now += PATIENCE;
                let turn = self.receiver.turn(|| self.now, &mut self.sender).unwrap();
                assert_ne!(turn, Turn::Left);
                if is_done(&self.receiver.shared) {
                    return;
                }
            }
            panic!("nothing happened in 1,000 turns");
        }
    }

    fn counts(shared: &ReceiverState) -> ConnectionCounts {
        shared.connections().counts
    }

    #[test]
    fn half_a_message_is_not_awaited_for_ever() {
        let mut test = Test::new();
        test.exporter.write_all(&MESSAGE[..10]).unwrap();
        test.turn_until(|shared| counts(shared).closed(CloseReason::Timeout) == 1);
        assert_eq!((counts(&test.receiver.shared).open, test.receiver.connections.len()), (0, 0));
    }

    #[test]
    fn the_time_of_a_slow_delivery_is_not_silence() {
        let mut test = Test::new();
        test.turn_until(|shared| counts(shared).open == 1);
        test.exporter.write_all(&MESSAGE[..10]).unwrap();
        let (polled, read) = (test.now, test.now + PATIENCE);
        let has_half = |it: &Receiver| it.connections[0].check_end().is_err();
        for _ in 0..1_000 {
            if has_half(&test.receiver) {
                break;
            }
            let time = Cell::new(polled);
            test.receiver.turn(|| time.replace(read), &mut test.sender).unwrap();
        }
        assert!(has_half(&test.receiver));
        test.receiver.turn(|| read, &mut test.sender).unwrap();
        assert_eq!((counts(&test.receiver.shared).open, test.receiver.connections.len()), (1, 1));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_connection_that_the_system_refuses_counts_once_a_second() {
        let mut test = Test::new();
        // A socket that does not listen is ready because of its error, and accepts nothing.
        test.receiver.listeners =
            vec![Socket::new(Domain::IPV4, Type::STREAM, None).unwrap().into()];
        for (seconds, refused) in [(0, 1), (0, 1), (1, 1), (1, 2), (1, 2)] {
            let now = test.now + seconds * PAUSE;
            test.receiver.turn(|| now, &mut test.sender).unwrap();
            assert_eq!(counts(&test.receiver.shared).closed(CloseReason::System), refused);
        }
    }

    #[test]
    fn an_exporter_may_be_silent_between_messages() {
        let mut test = Test::new();
        for messages in 1..10 {
            test.exporter.write_all(&MESSAGE).unwrap();
            test.turn_until(|shared| shared.received.load(Relaxed) == messages);
        }
        test.turn_until(|shared| counts(shared).open == 1);
        assert_eq!(counts(&test.receiver.shared).all_closed(), 0);
    }
}
