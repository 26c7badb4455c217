//! Distribution of work among threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::Builder;

/// Calls `work` once for each index below `pieces`, on up to `threads` threads, including the calling thread.
///
/// A thread that finishes a piece takes the next one. If a thread cannot be started, the running threads do its work.
pub(crate) fn share(threads: usize, pieces: usize, work: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let take = || take(&next, pieces, &work);
    std::thread::scope(|scope| {
        for _ in 1..threads.min(pieces) {
            if Builder::new().spawn_scoped(scope, take).is_err() {
                break;
            }
        }
        take();
    });
}

/// Calls `work` with the index of one piece after another until all `pieces` are taken. Several threads can share
/// `next`, the index of the next piece.
pub(crate) fn take(next: &AtomicUsize, pieces: usize, work: &(impl Fn(usize) + Sync)) {
    loop {
        let piece = next.fetch_add(1, Relaxed);
        if piece >= pieces {
            break;
        }
        work(piece);
    }
}

/// Calls `work` once for each chunk of `len` items, on up to `threads` threads. `work` receives the index of the
/// chunk's first item, and the chunk.
pub(crate) fn share_chunks<T: Send>(
    threads: usize,
    items: &mut [T],
    len: usize,
    work: impl Fn(usize, &mut [T]) + Sync,
) {
    let chunks: Vec<Mutex<&mut [T]>> = items.chunks_mut(len).map(Mutex::new).collect();
    share(threads, chunks.len(), |piece| {
        let mut chunk = chunks[piece].try_lock().expect("each piece is taken once");
        work(piece * len, &mut chunk);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_by_any_number_of_threads() {
        for (threads, len) in [(1, 7), (2, 1), (3, 100), (9, 4)] {
            let mut items = vec![0; 50];
            share_chunks(threads, &mut items, len, |first, chunk| {
                for (number, item) in (first..).zip(chunk) {
                    *item += number + 1;
                }
            });
            assert!((1..=50).eq(items), "{threads} {len}");
        }
    }
}
