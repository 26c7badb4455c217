//! A template as it is used: what to read of a record, and what to pass over.
//!
//! Shape: one [`Step`] per field that matters, and one for all fixed fields in a row that do not.
//! Invariant: a record takes at least one byte, and every step of it at least one, so reading a set
//! takes no more steps than it has bytes.

use netflow_parser::FieldDataType;
use netflow_parser::variable_versions::ipfix::lookup::IPFixField;

use crate::flow::bytes;
use crate::flow::element::Element;

/// The length that stands for one which each record tells.
const VARIABLE: u16 = u16::MAX;

/// A field as a template has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) number: u16,
    pub(crate) enterprise: Option<u32>,
    pub(crate) length: u16,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    /// What it is, and how it is written.
    element: Option<(Element, FieldDataType)>,
    length: u16,
}

/// Bytes that a field takes, of four or more in its definition.
pub(crate) const STEP_BYTES: usize = size_of::<Step>();

/// Bytes that the templates of a datagram of 64 kB may take.
pub(crate) const MOST_BYTES_OF_DATAGRAM: usize = (1 << 16) * (1 + STEP_BYTES / 4 + 32);

/// The steps of a record.
#[derive(Debug)]
pub(crate) struct RecordLayout {
    steps: Box<[Step]>,
    /// Bytes of a record, at least.
    least: usize,
}

impl RecordLayout {
    /// Compiles `fields`; nothing where their records have no length or may be longer than `most`
    /// bytes, a field of a length of its own taken for its least.
    pub(crate) fn new(fields: impl Iterator<Item = Field>, most: usize) -> Option<Self> {
        let mut steps: Vec<Step> = Vec::new();
        let mut least = 0;
        // A field without length is in no record.
        for field in fields.filter(|field| field.length > 0) {
            least += if field.length == VARIABLE { 1 } else { usize::from(field.length) };
            if least > most {
                return None;
            }
            let step = Step::of(field);
            match steps.last_mut() {
                Some(last) if last.is_passed() && step.is_passed() => last.length += step.length,
                _ => steps.push(step),
            }
        }
        (least > 0).then(|| Self { steps: steps.into(), least })
    }

    /// Bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.steps)
    }

    /// Whether the shortest record fits into `bytes`.
    #[inline]
    pub(crate) fn fits(&self, bytes: &[u8]) -> bool {
        bytes.len() >= self.least
    }

    /// Takes a record off `bytes` and shows what matters of it; nothing where there is no whole one.
    #[inline]
    pub(crate) fn read<'a>(
        &self,
        bytes: &mut &'a [u8],
        mut see: impl FnMut(Element, FieldDataType, &'a [u8]),
    ) -> Option<()> {
        if !self.fits(bytes) {
            return None;
        }
        let mut rest = *bytes;
        for step in &self.steps {
            let length = match step.length {
                VARIABLE => variable(&mut rest)?,
                length => usize::from(length),
            };
            let field = bytes::split(&mut rest, length)?;
            if let Some((element, kind)) = step.element {
                see(element, kind, field);
            }
        }
        *bytes = rest;
        Some(())
    }
}

impl Step {
    fn of(Field { number, enterprise, length }: Field) -> Self {
        let kind = || IPFixField::new(number, enterprise).into();
        let element = Element::of(number, enterprise).map(|element| (element, kind()));
        Self { element, length }
    }

    /// Whether it is a fixed field that does not matter.
    fn is_passed(&self) -> bool {
        self.element.is_none() && self.length != VARIABLE
    }
}

/// The length that a record tells (RFC 7011, section 7): one byte, or 255 and two bytes. It may be 0.
fn variable(bytes: &mut &[u8]) -> Option<usize> {
    match bytes::u8(bytes)? {
        u8::MAX => bytes::u16(bytes).map(usize::from),
        length => Some(length.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Field, RecordLayout, VARIABLE};
    use crate::flow::element::Element;

    fn compiled(fields: &[(u16, u16)], most: usize) -> Option<RecordLayout> {
        let field = |&(number, length)| Field { number, enterprise: None, length };
        RecordLayout::new(fields.iter().map(field), most)
    }

    type FieldValues<'a> = Vec<(Element, &'a [u8])>;

    /// Elements of a record with their bytes, and what is left.
    fn read<'a>(
        compiled: &RecordLayout,
        mut bytes: &'a [u8],
    ) -> Option<(FieldValues<'a>, &'a [u8])> {
        let mut seen = Vec::new();
        compiled.read(&mut bytes, |element, _, bytes| seen.push((element, bytes)))?;
        Some((seen, bytes))
    }

    #[test]
    fn fields_that_do_not_matter_are_passed_over_at_once() {
        let compiled = compiled(&[(9, 1), (10, 2), (4, 1), (5, 1), (13, 4)], 9).unwrap();
        assert_eq!(compiled.steps.len(), 3);
        let bytes = [1, 2, 3, 17, 5, 6, 7, 8, 9, 10];
        assert_eq!(
            read(&compiled, &bytes),
            Some((vec![(Element::Protocol, &[17][..])], &[10][..]))
        );
        assert_eq!(read(&compiled, &bytes[..8]), None);
    }

    #[test]
    fn a_field_may_tell_its_own_length() {
        let compiled = compiled(&[(82, VARIABLE), (4, 1), (315, VARIABLE)], 65_535).unwrap();
        let frame = |bytes: &'static [u8]| (Element::Frame, bytes);
        let protocol = (Element::Protocol, &[6][..]);
        assert_eq!(read(&compiled, &[0, 6, 0]), Some((vec![protocol, frame(&[][..])], &[][..])));
        let long = [&[1, 77, 6, 255, 1, 0][..], &[9; 256]].concat();
        assert_eq!(read(&compiled, &long), Some((vec![protocol, frame(&[9; 256][..])], &[][..])));
        for length in 0..long.len() {
            assert_eq!(read(&compiled, &long[..length]), None, "{length}");
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
