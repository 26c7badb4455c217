//! Choices of a view, by the names that options and files give them.

/// Holds a text that names none of the choices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no choice: give {choices}")]
pub struct UnknownName {
    /// What was given.
    pub text: String,
    /// All names, between commas.
    pub choices: String,
}

/// Defines choices and their names.
macro_rules! named {
    ($(#[$doc:meta])* $type:ident { $($(#[$of:meta])* $choice:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum $type {
            $($(#[$of])* #[cfg_attr(feature = "serde", serde(rename = $name))] $choice,)+
        }

        impl $type {
            /// Lists all choices with the names that [`FromStr`](std::str::FromStr) knows.
            pub const ALL: &'static [(&'static str, Self)] = &[$(($name, Self::$choice)),+];
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $(Self::$choice => $name),+ })
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::contact::UnknownName;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let choice = Self::ALL.iter().find(|(name, _)| *name == text);
                choice.map(|&(_, choice)| choice).ok_or_else(|| $crate::contact::UnknownName {
                    text: text.to_owned(),
                    choices: Self::ALL.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}

pub(crate) use named;

named! {
    /// Chooses the contacts that count for a host by its part in them.
    Role {
        /// All.
        #[default]
        Any = "any",
        /// Those that it sent a packet in: its fan-out.
        Source = "source",
        /// Those that it received a packet in: its fan-in.
        Destination = "destination",
    }
}

named! {
    /// Chooses the hosts that are measured by the networks of a view.
    Side {
        /// Those inside of the networks, wherever their opposite hosts are.
        #[default]
        Inside = "inside",
        /// Those outside of the networks, by their contacts with hosts inside.
        Outside = "outside",
    }
}

named! {
    /// Chooses the contacts that count at all by who began them.
    #[non_exhaustive]
    ContactFilter {
        /// All.
        #[default]
        All = "all",
        /// Those that their source is known to have begun ([`Contact::is_initiated`](crate::Contact::is_initiated)).
        Initiated = "initiated",
        /// Those of TCP that are known of a SYN and of no ACK: attempts without an answer, and their first packets.
        TcpSyn = "tcp-syn",
    }
}

named! {
    /// The part of a contact that makes a host of a view.
    HostKey {
        /// Its address, or the network of that.
        #[default]
        Address = "address",
        /// Its address and the port of the receiver: a service, or a sender by the port that it contacts.
        AddressPort = "address+port",
    }
}

named! {
    /// The part of a contact that makes a peer of a host.
    PeerKey {
        /// The address at the other end, or the network of that.
        #[default]
        Address = "address",
        /// The protocol and the port of the receiver.
        Port = "port",
        /// Both.
        AddressPort = "address+port",
    }
}

#[cfg(test)]
mod tests {
    use super::{ContactFilter, Role, Side, UnknownName};

    #[test]
    fn choices_are_read_as_they_are_written() {
        for &(name, role) in Role::ALL {
            assert_eq!((name.parse(), role.to_string().as_str()), (Ok(role), name));
        }
        assert_eq!("outside".parse(), Ok(Side::Outside));
        assert_eq!("tcp-syn".parse(), Ok(ContactFilter::TcpSyn));
        let error: UnknownName = "both".parse::<Role>().unwrap_err();
        insta::assert_snapshot!(error);
    }
}
