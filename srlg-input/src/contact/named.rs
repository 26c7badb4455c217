//! Enums whose values have names in options and files, such as the choices of a view.

/// A text that does not name any of the choices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown value {text:?}: use one of {choices}")]
pub struct UnknownName {
    /// The text.
    pub text: String,
    /// Names of all choices, separated by commas.
    pub choices: String,
}

/// Defines an enum and a name for each of its values.
macro_rules! named {
    ($(#[$doc:meta])* $type:ident { $($(#[$of:meta])* $choice:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        #[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
        pub enum $type {
            $($(#[$of])* #[cfg_attr(feature = "serde", serde(rename = $name))] $choice,)+
        }

        impl $type {
            /// All choices, with the names that [`FromStr`](std::str::FromStr) accepts.
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
    /// The contacts that count for a host, selected by the role of the host in the contact.
    Role {
        /// All contacts.
        #[default]
        Any = "any",
        /// Contacts in which the host sent a packet (fan-out).
        Source = "source",
        /// Contacts in which the host received a packet (fan-in).
        Destination = "destination",
    }
}

named! {
    /// The hosts to count: those inside or those outside the networks of a view.
    Side {
        /// Hosts inside the networks. Their peers may be anywhere.
        #[default]
        Inside = "inside",
        /// Hosts outside the networks. Their peers are inside hosts.
        Outside = "outside",
    }
}

named! {
    /// The contacts that count, selected by their initiator or their TCP flags.
    #[non_exhaustive]
    ContactFilter {
        /// All contacts.
        #[default]
        All = "all",
        /// Contacts that the source is known to have initiated
        /// ([`Contact::is_initiated`](crate::Contact::is_initiated)).
        Initiated = "initiated",
        /// All contacts except known refusals: ICMP errors and TCP resets ([`Contact::turn`](crate::Contact::turn)).
        NoRefusals = "no-refusals",
        /// All contacts except known replies and refusals.
        NoReplies = "no-replies",
        /// Known replies, without refusals.
        Replies = "replies",
        /// TCP contacts that are known to have a SYN and no ACK: unanswered connection attempts, and the first packets
        /// of connections.
        TcpSyn = "tcp-syn",
    }
}

named! {
    /// The part of a contact that identifies a host of a view.
    HostKey {
        /// The host's address, or its network.
        #[default]
        Address = "address",
        /// The host's address, the protocol and the destination port: a service, or a sender together with a port that
        /// it contacts.
        AddressPort = "address+port",
    }
}

named! {
    /// The part of a contact that identifies a peer of a host.
    PeerKey {
        /// The peer's address, or its network.
        #[default]
        Address = "address",
        /// The protocol and the destination port.
        Port = "port",
        /// The peer's address, the protocol and the destination port.
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
