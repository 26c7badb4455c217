//! Positions in an input that wait until the contacts before them are stored.
//!
//! Invariant: when a position is reached, all contacts before it are stored, or will be stored with the next
//! checkpoint.

use std::collections::VecDeque;

use srlg_input::Position;

/// Input positions for checkpoints.
#[derive(Debug, Default)]
pub(crate) struct Positions {
    /// Waiting positions in ascending order, each with the newest slice of the contacts before it.
    waiting: VecDeque<(u64, Position)>,
    reached: Option<Position>,
}

impl Positions {
    /// Notes that all contacts before `position` have been processed. The newest of these contacts belongs to `slice`.
    pub(crate) fn record(&mut self, slice: u64, position: &Position) {
        match self.waiting.back_mut() {
            Some((newest, last)) if *newest == slice => last.clone_from(position),
            _ => self.waiting.push_back((slice, position.clone())),
        }
    }

    /// Notes that all contacts of slices up to `slice` are stored, or will be stored with the next checkpoint. Returns
    /// the last position before which all contacts belong to these slices.
    pub(crate) fn reach(&mut self, slice: u64) -> Option<&Position> {
        while let Some((_, position)) = self.waiting.pop_front_if(|(newest, _)| *newest <= slice) {
            self.reached = Some(position);
        }
        self.reached.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_reached_with_the_newest_slice_before_it() {
        let position = |offset| {
            let offsets = [(0, offset)].into();
            Position { topic: "flows".to_owned(), offsets, ..Position::default() }
        };
        let mut positions = Positions::default();
        for (slice, offset) in [(10, 100), (10, 110), (11, 120), (13, 130)] {
            positions.record(slice, &position(offset));
        }
        for (slice, offset) in
            [(9, None), (10, Some(110)), (12, Some(120)), (12, Some(120)), (13, Some(130))]
        {
            assert_eq!(positions.reach(slice), offset.map(position).as_ref(), "{slice}");
        }
        assert!(positions.waiting.is_empty());
    }
}
