//! Which protocol a datagram is of.

/// Protocol of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Version {
    V5,
    V7,
    V9,
    Ipfix,
    Sflow,
}

impl Version {
    /// Tells `payload` apart by its first word. The version has two bytes in NetFlow and IPFIX, four
    /// in sFlow: those of v5 begin with 0x0005, those of sFlow v5 with 0x00000005.
    pub(crate) fn of(payload: &[u8]) -> Option<Self> {
        match *payload.first_chunk()? {
            [0, 5, _, _] => Some(Self::V5),
            [0, 7, _, _] => Some(Self::V7),
            [0, 9, _, _] => Some(Self::V9),
            [0, 10, _, _] => Some(Self::Ipfix),
            [0, 0, 0, 5] => Some(Self::Sflow),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Version;

    #[test]
    fn version_5_of_netflow_and_of_sflow_differ_in_width() {
        assert_eq!(Version::of(&[0, 5, 0, 1]), Some(Version::V5));
        assert_eq!(Version::of(&[0, 0, 0, 5]), Some(Version::Sflow));
        for other in [&[0, 0, 0, 4][..], &[0, 1, 0, 5], &[0, 8, 0, 1], &[0, 5, 0], &[]] {
            assert_eq!(Version::of(other), None, "{other:?}");
        }
    }
}
