//! Work on all processors.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::thread::{self, Builder};

/// Calls `work` for each of `items`, on as many threads as there are processors, and returns the results in the order of
/// the items. If a thread cannot be started, the others do its work.
pub(super) fn side_by_side<T: Send, R: Send>(
    items: Vec<T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let (threads, count) = (processors.min(items.len()), items.len());
    if threads < 2 {
        return items.into_iter().map(work).collect();
    }
    let (items, results) = (Mutex::new((0..).zip(items)), Mutex::new(Vec::with_capacity(count)));
    let take = || {
        loop {
            let next = items.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((number, item)) = next else { break };
            let result = (number, work(item));
            results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            if Builder::new().spawn_scoped(scope, take).is_err() {
                break;
            }
        }
        take();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_by_key(|(number, _): &(usize, R)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for count in [0, 1, 2, 1000] {
            let results = side_by_side((0..count).collect(), |item: usize| item * 2);
            assert_eq!(results, (0..count).map(|item| item * 2).collect::<Vec<_>>());
        }
    }
}
