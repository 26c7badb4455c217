//! Numbers as options take them and tables show them: `500k`, `20M`.

pub(crate) use srlg_input::number::{count, integer};

/// Returns `number` as [`count`] takes it, with the largest suffix that loses nothing.
pub(crate) fn short(number: u32) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")];
    let unit = units.into_iter().find(|&(unit, _)| number > 0 && number.is_multiple_of(unit));
    let (unit, suffix) = unit.unwrap_or((1, ""));
    format!("{}{suffix}", number / unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_numbers_are_read_back_as_they_were() {
        let numbers = [0, 60, 1024, 500_000, 2_000_000, 2_500_000, 3_000_000_000];
        let texts = ["0", "60", "1024", "500k", "2M", "2500k", "3G"];
        assert_eq!(numbers.map(short), texts);
        assert_eq!(texts.map(|text| integer(text).unwrap()), numbers.map(u64::from));
    }
}
