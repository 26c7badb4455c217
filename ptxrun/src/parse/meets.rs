//! [`meets`], which finds out where threads that diverge meet again.

use crate::isa::{Inst, Op};

/// Stands for an instruction that has no post-dominator yet, or no number.
const NONE: usize = usize::MAX;

/// Returns the immediate post-dominator of each instruction, or `code.len()` if it has none.
///
/// The last instruction must be an exit, a branch or a trap without a guard.
pub(super) fn meets(code: &[Inst]) -> Vec<u32> {
    let end = code.len();
    let (order, numbers) = postorder(code);
    // This is the algorithm of Cooper, Harvey and Kennedy, applied to the reversed control flow.
    let mut meets = vec![NONE; end + 1];
    meets[end] = end;
    let mut changed = true;
    while changed {
        changed = false;
        for &at in order.iter().rev().filter(|&&at| at != end) {
            let mut found = NONE;
            for to in next(code, at).filter(|&to| meets[to] != NONE) {
                found = match found {
                    NONE => to,
                    _ => common(&meets, &numbers, found, to),
                };
            }
            if meets[at] != found {
                (meets[at], changed) = (found, true);
            }
        }
    }
    meets[..end].iter().map(|&at| at.min(end) as u32).collect()
}

/// Returns the nearest post-dominator that `one` and `other` share.
fn common(meets: &[usize], numbers: &[usize], mut one: usize, mut other: usize) -> usize {
    while one != other {
        while numbers[one] < numbers[other] {
            one = meets[one];
        }
        while numbers[other] < numbers[one] {
            other = meets[other];
        }
    }
    one
}

/// Returns the instructions that can follow instruction `at`. The end of the code follows an exit.
fn next(code: &[Inst], at: usize) -> impl Iterator<Item = usize> {
    let is_guarded = code[at].guard.is_some();
    let target = match code[at].op {
        Op::Bra(to) => Some(to),
        Op::Exit => Some(code.len()),
        _ => None,
    };
    // No thread waits for threads that fail, so nothing follows a trap.
    let is_last = !is_guarded && (target.is_some() || matches!(code[at].op, Op::Trap));
    target.into_iter().chain((!is_last).then_some(at + 1))
}

/// Returns the instructions from which threads can reach the end, and the end itself, in a postorder of the reversed
/// control flow. Also returns the position of each instruction in this order.
fn postorder(code: &[Inst]) -> (Vec<usize>, Vec<usize>) {
    let end = code.len();
    let mut before = vec![Vec::new(); end + 1];
    (0..end).for_each(|at| next(code, at).for_each(|to| before[to].push(at)));
    let (mut order, mut numbers) = (Vec::new(), vec![NONE; end + 1]);
    let mut seen = vec![false; end + 1];
    seen[end] = true;
    // Each item is an instruction and the number of its predecessors that have been visited.
    let mut stack = vec![(end, 0)];
    while let Some((at, visited)) = stack.pop() {
        match before[at].get(visited) {
            Some(&to) => {
                stack.push((at, visited + 1));
                if !seen[to] {
                    seen[to] = true;
                    stack.push((to, 0));
                }
            }
            None => {
                numbers[at] = order.len();
                order.push(at);
            }
        }
    }
    (order, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Guard;

    fn inst(op: Op) -> Inst {
        Inst { guard: None, op }
    }

    fn guarded(op: Op) -> Inst {
        Inst { guard: Some(Guard { predicate: 0, negated: false }), op }
    }

    #[test]
    fn threads_of_a_condition_meet_behind_it() {
        let code = [guarded(Op::Bra(3)), inst(Op::Fence), inst(Op::Bra(4)), inst(Op::Fence)];
        let code = [code.as_slice(), &[inst(Op::Exit)]].concat();
        assert_eq!(meets(&code), [4, 2, 4, 4, 5]);
    }

    #[test]
    fn threads_of_a_loop_meet_behind_it() {
        let code = [inst(Op::Fence), guarded(Op::Bra(0)), inst(Op::Exit)];
        assert_eq!(meets(&code), [1, 2, 3]);
    }

    #[test]
    fn no_thread_waits_for_a_trap_or_an_endless_loop() {
        let code = [guarded(Op::Bra(2)), inst(Op::Exit), inst(Op::Trap)];
        assert_eq!(meets(&code), [1, 3, 3]);
        let code = [guarded(Op::Bra(2)), inst(Op::Exit), inst(Op::Bra(2))];
        assert_eq!(meets(&code), [1, 3, 3]);
    }
}
