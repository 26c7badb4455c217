//! Receivers of the contacts of live inputs.

use std::error::Error;

use crate::contact::Contact;

/// An error of a [`ContactSink`], or of the function that creates it.
pub type SinkError = Box<dyn Error + Send + Sync>;

/// A receiver of the contacts that one thread of a live input reads.
pub trait ContactSink: Send {
    /// Accepts the contacts that were just read. `contacts` is not empty, and no contact is later than the time at
    /// which it was read.
    ///
    /// During a long call, the kernel may drop input, and clock ticks do not advance beyond the start of the call.
    ///
    /// # Errors
    /// Any error stops the input.
    fn accept(&mut self, contacts: &[Contact]) -> Result<(), SinkError>;
}

pub(crate) type SinkMaker<'a> = &'a mut dyn FnMut() -> Result<Box<dyn ContactSink>, SinkError>;
