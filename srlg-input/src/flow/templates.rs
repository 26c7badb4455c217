//! Templates, as sets of NetFlow v9 and IPFIX bring them.
//!
//! Shape: a set is a row of definitions; each is kept as the bytes that it came in, which is what
//! is saved, and compiled.
//! Invariant: whatever is kept is within the bounds of the options.

use crate::flow::bytes;
use crate::flow::compiled::{Field, RecordLayout};
use crate::flow::options::DecoderOptions;

/// How the definitions of a set are written: by the id of the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    V9 = 0,
    V9Options = 1,
    Ipfix = 2,
    IpfixOptions = 3,
}

/// What records of an id are like.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) style: Style,
    /// The definition as it came.
    pub(crate) definition: Box<[u8]>,
    pub(crate) compiled: RecordLayout,
}

/// What a set says about an id.
#[derive(Debug)]
pub(crate) enum Definition<'a> {
    Template { id: u16, bytes: &'a [u8], fields: Fields<'a> },
    Withdrawn { id: u16 },
    AllWithdrawn,
}

/// The fields of a definition.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    style: Style,
    bytes: &'a [u8],
    count: usize,
    /// Fields that tell what an options record is about. Those of v9 have numbers of their own.
    scopes: usize,
}

impl Style {
    pub(crate) const ALL: [Self; 4] = [Self::V9, Self::V9Options, Self::Ipfix, Self::IpfixOptions];

    pub(crate) fn is_options(self) -> bool {
        matches!(self, Self::V9Options | Self::IpfixOptions)
    }

    /// Takes a definition off `bytes`; nothing at the end, at padding, and where it is cut.
    pub(crate) fn next<'a>(self, bytes: &mut &'a [u8]) -> Option<Definition<'a>> {
        let mut rest = *bytes;
        let (id, mut count) = (bytes::u16(&mut rest)?, usize::from(bytes::u16(&mut rest)?));
        if count == 0 && matches!(self, Self::Ipfix | Self::IpfixOptions) {
            let withdrawn = match id {
                256.. => Some(Definition::Withdrawn { id }),
                // All of a kind, by the id of their sets (RFC 7011, section 8.1).
                _ if id == self as u16 => Some(Definition::AllWithdrawn),
                _ => None,
            };
            if withdrawn.is_some() {
                *bytes = rest;
            }
            return withdrawn;
        }
        if id <= u16::from(u8::MAX) {
            return None;
        }
        let scopes = match self {
            Self::V9 | Self::Ipfix => 0,
            Self::IpfixOptions => bytes::u16(&mut rest)?.into(),
            // Lengths in bytes, of four for each field.
            Self::V9Options => {
                let scopes = count / 4;
                count = scopes + usize::from(bytes::u16(&mut rest)?) / 4;
                scopes
            }
        };
        let mut fields = Fields { style: self, bytes: rest, count, scopes };
        let passed = fields.clone();
        for _ in 0..count {
            fields.next()?;
        }
        let definition = &bytes[..bytes.len() - fields.bytes.len()];
        *bytes = fields.bytes;
        Some(Definition::Template { id, bytes: definition, fields: passed })
    }
}

impl Iterator for Fields<'_> {
    type Item = Field;

    fn next(&mut self) -> Option<Field> {
        self.count = self.count.checked_sub(1)?;
        let is_scope = self.scopes > 0;
        self.scopes = self.scopes.saturating_sub(1);
        let (number, length) = (bytes::u16(&mut self.bytes)?, bytes::u16(&mut self.bytes)?);
        match self.style {
            // Numbers of scopes are none of elements: 0 is that of no element.
            Style::V9Options if is_scope => Some(Field { number: 0, enterprise: None, length }),
            Style::V9 | Style::V9Options => Some(Field { number, enterprise: None, length }),
            Style::Ipfix | Style::IpfixOptions => {
                let is_of_enterprise = number >> 15 == 1;
                let enterprise =
                    if is_of_enterprise { Some(bytes::u32(&mut self.bytes)?) } else { None };
                Some(Field { number: number & 0x7fff, enterprise, length })
            }
        }
    }
}

impl Template {
    /// Compiles the definition of `fields` in `bytes`; nothing where it is out of bounds.
    pub(crate) fn new(bytes: &[u8], fields: Fields<'_>, options: &DecoderOptions) -> Option<Self> {
        if fields.count > options.fields {
            return None;
        }
        let style = fields.style;
        let compiled = RecordLayout::new(fields, options.record_bytes)?;
        Some(Self { style, definition: bytes.into(), compiled })
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.definition.len() + self.compiled.bytes()
    }

    /// Whether it is what `bytes` define in `style`.
    pub(crate) fn is(&self, style: Style, bytes: &[u8]) -> bool {
        self.style == style && *self.definition == *bytes
    }
}

#[cfg(test)]
mod tests {
    use super::{Definition, Style, Template};
    use crate::flow::options::DecoderOptions;

    fn words(words: &[u16]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    /// Number, enterprise, length.
    type FieldDefinition = (u16, Option<u32>, u16);

    /// Ids of the definitions in a set, with their fields' numbers, enterprises and lengths.
    fn read(style: Style, set: &[u16]) -> Vec<(u16, Vec<FieldDefinition>)> {
        let bytes = words(set);
        let mut rest = &bytes[..];
        let next = || style.next(&mut rest);
        let all = std::iter::from_fn(next).map(|definition| match definition {
            Definition::Template { id, fields, .. } => {
                (id, fields.map(|field| (field.number, field.enterprise, field.length)).collect())
            }
            Definition::Withdrawn { id } => (id, vec![]),
            Definition::AllWithdrawn => (0, vec![]),
        });
        all.collect()
    }

    #[test]
    fn definitions_follow_one_another_up_to_padding() {
        let set = [256, 2, 8, 4, 12, 4, 257, 1, 27, 16, 0];
        let expected = [(256, vec![(8, None, 4), (12, None, 4)]), (257, vec![(27, None, 16)])];
        assert_eq!(read(Style::V9, &set), expected);
        assert_eq!(read(Style::Ipfix, &set), expected);
        assert_eq!(read(Style::V9, &set[..5]), [], "cut");
    }

    #[test]
    fn scopes_of_v9_are_no_elements_and_those_of_ipfix_are() {
        let v9 = read(Style::V9Options, &[256, 4, 8, 1, 4, 48, 1, 50, 4, 0]);
        assert_eq!(v9, [(256, vec![(0, None, 4), (48, None, 1), (50, None, 4)])]);
        let ipfix = read(Style::IpfixOptions, &[256, 2, 1, 302, 4, 305, 4]);
        assert_eq!(ipfix, [(256, vec![(302, None, 4), (305, None, 4)])]);
    }

    #[test]
    fn only_ipfix_has_enterprises() {
        let set = [256, 1, 0x8002, 8, 0, 29305];
        assert_eq!(read(Style::Ipfix, &set), [(256, vec![(2, Some(29305), 8)])]);
        assert_eq!(read(Style::V9, &set), [(256, vec![(0x8002, None, 8)])]);
    }

    #[test]
    fn templates_are_withdrawn_in_ipfix() {
        assert_eq!(
            read(Style::Ipfix, &[300, 0, 301, 0, 2, 0]),
            [(300, vec![]), (301, vec![]), (0, vec![])]
        );
        assert_eq!(read(Style::Ipfix, &[0, 0]), [], "padding");
        assert_eq!(read(Style::IpfixOptions, &[3, 0]), [(0, vec![])]);
        for (style, id) in [(Style::Ipfix, 3), (Style::IpfixOptions, 2), (Style::Ipfix, 255)] {
            assert_eq!(read(style, &[id, 0]), [], "{style:?} {id}");
        }
    }

    #[test]
    fn templates_out_of_bounds_are_refused() {
        let options = DecoderOptions { fields: 2, record_bytes: 8, ..DecoderOptions::default() };
        let is_taken = |set: &[u16]| {
            let bytes = words(set);
            match Style::V9.next(&mut &bytes[..]) {
                Some(Definition::Template { bytes, fields, .. }) => {
                    Template::new(bytes, fields, &options).is_some()
                }
                other => panic!("{other:?}"),
            }
        };
        assert!(is_taken(&[256, 2, 8, 4, 12, 4]));
        assert!(!is_taken(&[256, 3, 8, 2, 12, 2, 4, 1]), "fields");
        assert!(!is_taken(&[256, 2, 8, 4, 12, 5]), "bytes");
        assert!(!is_taken(&[256, 2, 8, 0, 12, 0]), "none");
    }
}
