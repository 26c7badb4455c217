//! Contacts of the packets on an interface.

use crate::error::InputError;
use crate::options::InterfaceOptions;

use super::Line;

/// Says that this program has no live capture.
#[cfg(not(feature = "live"))]
pub(super) fn open(name: &str, _: &InterfaceOptions, _: &Line) -> Result<(), InputError> {
    Err(InputError::NoLive { interface: name.to_owned() })
}
