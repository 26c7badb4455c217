//! What an input yields.

use srlg_contact::Contact;

/// Tells what comes next of an input.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Hosts were in contact.
    Contact(Contact),
    /// It is this time of day, nanoseconds since the Unix epoch, and all that was read before has been told. Only what is
    /// live says so, some 50 times a second at least; its contacts are of no later time than that at which they were read.
    Time(u64),
    /// A line for the operator of the program.
    Notice(String),
}
