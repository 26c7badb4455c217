//! Templates of NetFlow v9 and IPFIX.
//!
//! A template set is a sequence of template definitions and, in IPFIX, withdrawals. Each template keeps its original
//! definition, so that it can be saved, and a compiled layout of the fields to read.
//!
//! Invariant: every stored template is within the limits of [`DecoderOptions`].

use crate::flow::bytes;
use crate::flow::element::Element;
use crate::flow::options::DecoderOptions;
use crate::flow::record::Record;

/// A type of template set. The value of each variant is its set ID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    V9 = 0,
    V9Options = 1,
    Ipfix = 2,
    IpfixOptions = 3,
}

#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) style: Style,
    pub(crate) definition: Box<[u8]>,
    pub(crate) compiled: RecordLayout,
}

/// An entry of a template set.
#[derive(Debug)]
pub(crate) enum Definition<'a> {
    Template { id: u16, bytes: &'a [u8], fields: Fields<'a> },
    Withdrawn { id: u16 },
    AllWithdrawn,
}

#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    style: Style,
    bytes: &'a [u8],
    count: usize,
    /// Number of remaining scope fields. NetFlow v9 numbers scope fields and information elements separately.
    scopes: usize,
}

impl Style {
    pub(crate) const ALL: [Self; 4] = [Self::V9, Self::V9Options, Self::Ipfix, Self::IpfixOptions];

    pub(crate) fn is_options(self) -> bool {
        matches!(self, Self::V9Options | Self::IpfixOptions)
    }

    /// Reads the first entry of `bytes` and advances `bytes` past it. Returns `None` at the end of the set, at padding,
    /// or if the entry is invalid or truncated.
    pub(crate) fn next<'a>(self, bytes: &mut &'a [u8]) -> Option<Definition<'a>> {
        let mut rest = *bytes;
        let (id, mut count) = (bytes::u16(&mut rest)?, usize::from(bytes::u16(&mut rest)?));
        if count == 0 && matches!(self, Self::Ipfix | Self::IpfixOptions) {
            let withdrawn = match id {
                256.. => Some(Definition::Withdrawn { id }),
                // A set ID in place of a template ID withdraws all templates of that type (RFC 7011, section 8.1).
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
            // The header states the lengths of both field lists in bytes. Each field specifier has four bytes.
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
            // A scope number is not an element number. The number 0 means no element.
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
    /// Compiles the definition `bytes`, which contains `fields`. Returns `None` if the definition exceeds the limits of
    /// `options`, or if its records would be empty.
    pub(crate) fn new(bytes: &[u8], fields: Fields<'_>, options: &DecoderOptions) -> Option<Self> {
        if fields.count > options.fields {
            return None;
        }
        let style = fields.style;
        let compiled = RecordLayout::new(fields, options.record_bytes)?;
        Some(Self { style, definition: bytes.into(), compiled })
    }

    /// Returns the size of the template's heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.definition.len() + self.compiled.bytes()
    }

    /// Returns whether the template has this style and this definition.
    pub(crate) fn is(&self, style: Style, bytes: &[u8]) -> bool {
        self.style == style && *self.definition == *bytes
    }
}

/// Length that marks a field of variable length. Each record states the actual length of such a field.
const VARIABLE: u16 = u16::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) number: u16,
    pub(crate) enterprise: Option<u32>,
    pub(crate) length: u16,
}

/// A field that the decoder uses, or a field of variable length.
#[derive(Clone, Copy, Debug)]
struct LayoutStep {
    element: Option<Element>,
    /// Offset from the end of the previous field of variable length, or from the start of the record, in bytes.
    offset: u16,
    length: u16,
}

pub(crate) const STEP_BYTES: usize = size_of::<LayoutStep>();

/// Maximum memory for the templates that a 64 KiB datagram defines, in bytes. Each field takes up at least four bytes
/// of the datagram.
pub(crate) const MOST_BYTES_OF_DATAGRAM: usize = (1 << 16) * (1 + STEP_BYTES / 4 + 32);

/// The compiled layout of a record: the fields to read, and their offsets. Records have at least one byte.
#[derive(Debug)]
pub(crate) struct RecordLayout {
    steps: Box<[LayoutStep]>,
    /// Number of bytes after the last field of variable length, or the length of the record if all fields have a fixed
    /// length.
    rest: u16,
    /// Minimum length of a record, in bytes.
    least: usize,
}

impl RecordLayout {
    /// Compiles `fields`. Returns `None` if the minimum length of a record is zero or exceeds `most` bytes. A field of
    /// variable length takes up at least one byte, which states its length.
    pub(crate) fn new(fields: impl Iterator<Item = Field>, most: usize) -> Option<Self> {
        let mut steps: Vec<LayoutStep> = Vec::new();
        let (mut least, mut offset) = (0, 0);
        // Fields of length 0 do not occur in records.
        for Field { number, enterprise, length } in fields.filter(|field| field.length > 0) {
            let is_variable = length == VARIABLE;
            least += if is_variable { 1 } else { usize::from(length) };
            if least > most {
                return None;
            }
            let element = Element::of(number, enterprise)
                .filter(|element| is_variable || element.fits(length.into()));
            if is_variable || element.is_some() {
                steps.push(LayoutStep { element, offset: u16::try_from(offset).ok()?, length });
            }
            offset = if is_variable { 0 } else { offset + usize::from(length) };
        }
        let rest = u16::try_from(offset).ok()?;
        (least > 0).then(|| Self { steps: steps.into(), rest, least })
    }

    /// Returns the size of the layout's heap memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.steps)
    }

    /// Returns whether `bytes` has at least the minimum length of a record.
    #[inline]
    pub(crate) fn fits(&self, bytes: &[u8]) -> bool {
        bytes.len() >= self.least
    }

    /// Reads a record from the start of `bytes` into `record`, and advances `bytes` past it. Returns `None` if the
    /// record is incomplete.
    // The record is an output parameter, because a returned record would be copied twice.
    #[inline]
    pub(crate) fn read<'a>(&self, bytes: &mut &'a [u8], record: &mut Record<'a>) -> Option<()> {
        if !self.fits(bytes) {
            return None;
        }
        *record = Record::default();
        let mut from = *bytes;
        for step in &self.steps {
            let field = from.get(usize::from(step.offset)..)?;
            if step.length != VARIABLE {
                record.set(step.element?, field, step.length.into())?;
                continue;
            }
            from = field;
            let length = variable(&mut from)?;
            let field = bytes::split(&mut from, length)?;
            if let Some(element) = step.element.filter(|element| element.fits(length)) {
                record.set(element, field, length)?;
            }
        }
        *bytes = from.get(usize::from(self.rest)..)?;
        Some(())
    }
}

/// Reads the length of a field of variable length (RFC 7011, section 7). The length is encoded in one byte, or in
/// three bytes of which the first is 255. It may be 0.
fn variable(bytes: &mut &[u8]) -> Option<usize> {
    match bytes::u8(bytes)? {
        u8::MAX => bytes::u16(bytes).map(usize::from),
        length => Some(length.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Definition, Field, RecordLayout, Style, Template, VARIABLE};
    use crate::flow::element::Number;
    use crate::flow::options::DecoderOptions;
    use crate::flow::record::Record;

    fn words(words: &[u16]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    /// Number, enterprise and length of a field.
    type FieldDefinition = (u16, Option<u32>, u16);

    /// Returns the template ID and the fields for each entry of a set. The ID is 0 if all templates are withdrawn.
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

    fn compiled(fields: &[(u16, u16)], most: usize) -> Option<RecordLayout> {
        let field = |&(number, length)| Field { number, enterprise: None, length };
        RecordLayout::new(fields.iter().map(field), most)
    }

    fn read_record<'a>(
        compiled: &RecordLayout,
        mut bytes: &'a [u8],
    ) -> Option<(Record<'a>, &'a [u8])> {
        let mut record = Record::default();
        compiled.read(&mut bytes, &mut record)?;
        Some((record, bytes))
    }

    #[test]
    fn fields_that_do_not_matter_are_passed_over() {
        let compiled = compiled(&[(9, 1), (14, 2), (4, 1), (5, 1), (13, 4)], 9).unwrap();
        assert_eq!(compiled.steps.len(), 1);
        let bytes = [1, 2, 3, 17, 5, 6, 7, 8, 9, 10];
        let (record, rest) = read_record(&compiled, &bytes).unwrap();
        assert_eq!((record.number(Number::Protocol), rest), (Some(17), &[10][..]));
        assert!(read_record(&compiled, &bytes[..8]).is_none());
    }

    #[test]
    fn numbers_have_one_to_eight_bytes_and_addresses_those_of_their_family() {
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17];
        for length in 1..=17 {
            let of = |number| compiled(&[(number, length)], 17).unwrap();
            let [packets, host] = [of(2), of(8)];
            let read = |layout| read_record(layout, &bytes[..length.into()]).unwrap();
            let expected =
                bytes[..length.into()].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            let (record, rest) = read(&packets);
            assert_eq!(record.number(Number::Packets), (length <= 8).then_some(expected));
            assert!(rest.is_empty());
            let v4 = read(&host).0.number(Number::Source4);
            assert_eq!(v4, (length == 4).then_some(expected), "{length}");
            assert_eq!(of(27).steps.len(), usize::from(length == 16));
        }
    }

    #[test]
    fn the_largest_of_several_counts_counts() {
        let compiled = compiled(&[(2, 1), (24, 1)], 2).unwrap();
        for bytes in [[0, 7], [7, 0], [7, 7]] {
            let (record, _) = read_record(&compiled, &bytes).unwrap();
            assert_eq!(record.number(Number::Packets), Some(7));
        }
    }

    // A tunnel has outer and inner addresses. Using the largest source and the largest destination could combine hosts
    // that never communicated.
    #[test]
    fn the_last_of_several_addresses_counts() {
        let [outer, inner] = [[10, 0, 0, 1, 192, 0, 2, 9], [172, 16, 0, 1, 100, 64, 0, 1]];
        let compiled = compiled(&[(8, 4), (12, 4), (8, 4), (12, 4)], 16).unwrap();
        for [first, last] in [[outer, inner], [inner, outer]] {
            let bytes = [first, last].concat();
            let (record, _) = read_record(&compiled, &bytes).unwrap();
            let hosts = [Number::Source4, Number::Destination4].map(|end| record.number(end));
            let [source, destination] = [&last[..4], &last[4..]]
                .map(|host| host.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)));
            assert_eq!(hosts, [Some(source), Some(destination)]);
        }
    }

    #[test]
    fn a_field_may_tell_its_own_length() {
        let compiled = compiled(&[(82, VARIABLE), (4, 1), (1, VARIABLE), (5, 1)], 65_535).unwrap();
        let read = |bytes| {
            let (record, rest) = read_record(&compiled, bytes)?;
            Some((record.number(Number::Protocol), record.number(Number::Octets), rest.len()))
        };
        assert_eq!(read(&[0, 6, 0, 77, 9]), Some((Some(6), None, 1)));
        assert_eq!(read(&[1, 77, 6, 2, 1, 2, 77]), Some((Some(6), Some(0x102), 0)));
        let long = [&[1, 77, 6, 255, 1, 0][..], &[9; 257]].concat();
        assert_eq!(read(&long), Some((Some(6), None, 0)), "no number has 256 bytes");
        for length in 0..long.len() {
            assert_eq!(read(&long[..length]), None, "{length}");
        }
    }

    #[test]
    fn records_have_a_length_and_a_bound() {
        assert!(compiled(&[], 9).is_none());
        assert!(compiled(&[(8, 0), (12, 0)], 9).is_none());
        assert_eq!(compiled(&[(8, 0), (12, 4), (5, 0)], 9).unwrap().steps.len(), 1);
        assert!(compiled(&[(8, 4), (5, 5)], 9).is_some());
        assert!(compiled(&[(8, 4), (5, 6)], 9).is_none());
        let many = [(5, 40_000); 3];
        assert!(compiled(&many, 65_535).is_none(), "the sum of passed fields does not wrap");
    }
}
