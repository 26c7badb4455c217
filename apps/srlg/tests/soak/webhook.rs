//! A webhook that can fail in several ways.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::http::{Request, answer_all};

const PAUSE: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behaviour {
    Answering,
    /// Every request is answered with status 500.
    Refusing,
    /// No request is answered.
    Hanging,
    /// No connection is accepted.
    Away,
}

/// The control of a webhook on loopback.
#[derive(Clone)]
pub(crate) struct Webhook {
    pub(crate) address: SocketAddr,
    behaviour: Arc<Mutex<Behaviour>>,
    /// Number of requests that were not answered with status 200.
    failures: Arc<AtomicU64>,
}

impl Webhook {
    /// Starts a webhook. The returned receiver yields the requests that were answered with status 200.
    pub(crate) fn start() -> (Self, Receiver<Request>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let behaviour = Arc::new(Mutex::new(Behaviour::Answering));
        let webhook = Self { address, behaviour, failures: Arc::default() };
        let (sender, receiver) = channel();
        let of_thread = webhook.clone();
        thread::spawn(move || of_thread.serve(listener, &sender));
        (webhook, receiver)
    }

    pub(crate) fn set(&self, behaviour: Behaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    pub(crate) fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }

    fn is(&self, behaviour: Behaviour) -> bool {
        *self.behaviour.lock().unwrap() == behaviour
    }

    fn wait_while(&self, behaviour: Behaviour) {
        while self.is(behaviour) {
            thread::sleep(PAUSE);
        }
    }

    fn serve(&self, mut listener: TcpListener, sender: &Sender<Request>) {
        loop {
            if self.is(Behaviour::Away) {
                drop(listener);
                self.wait_while(Behaviour::Away);
                listener = TcpListener::bind(self.address).unwrap();
            }
            // The behaviour may change while no connection arrives.
            listener.set_nonblocking(true).unwrap();
            match listener.accept() {
                Ok((stream, _)) => self.answer(stream, sender),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::sleep(PAUSE),
                Err(error) => panic!("{error}"),
            }
        }
    }

    fn answer(&self, stream: TcpStream, sender: &Sender<Request>) {
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let (unused, _refused) = channel();
        self.failures.fetch_add(u64::from(!self.is(Behaviour::Answering)), Relaxed);
        if self.is(Behaviour::Hanging) {
            self.wait_while(Behaviour::Hanging);
        } else if self.is(Behaviour::Refusing) {
            answer_all([stream].into_iter(), &["500 Internal Server Error"], &unused);
        } else {
            answer_all([stream].into_iter(), &["200 OK"], sender);
        }
    }
}
