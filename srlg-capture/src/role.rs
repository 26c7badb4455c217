//! The direction in which a contact counts for a host.

use std::fmt;
use std::str::FromStr;

/// Contacts that count for a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// All.
    Any,
    /// Those that it sent a packet in.
    Source,
    /// Those that it received a packet in.
    Destination,
}

impl Role {
    /// All roles, by the names that [`FromStr`] knows.
    pub const ALL: [(&'static str, Self); 3] =
        [("any", Self::Any), ("source", Self::Source), ("destination", Self::Destination)];
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, role)| role == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for Role {
    type Err = UnknownRole;

    fn from_str(text: &str) -> Result<Self, UnknownRole> {
        let role = Self::ALL.iter().find(|(name, _)| *name == text).map(|&(_, role)| role);
        role.ok_or(UnknownRole)
    }
}

/// A text that names no [`Role`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("give any, source or destination")]
pub struct UnknownRole;

#[cfg(test)]
mod tests {
    use super::{Role, UnknownRole};

    #[test]
    fn roles_are_read_as_they_are_written() {
        for (name, role) in Role::ALL {
            assert_eq!((name.parse(), role.to_string().as_str()), (Ok(role), name));
        }
        assert_eq!("both".parse::<Role>(), Err(UnknownRole));
    }
}
