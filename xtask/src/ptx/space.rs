//! A pass over PTX that restricts generic memory accesses to global memory and to device scope.
//!
//! LLVM treats the addresses in a structure of arguments as generic, so they could also be in shared or local memory.
//! Assemblers then emit `LD` instead of `LDG`, and keep the unused result of each atomic (`ATOM` instead of `RED`).
//! They also emit 64-bit atomics twice, once for shared memory. In addition, LLVM gives all atomics system scope, as
//! Rust requires.
//!
//! The kernels do not use shared or local memory, and [`global`] checks this. A generic address that is not in shared
//! or local memory is the same address in global memory (PTX ISA, generic addressing). The host and other devices read
//! the memory only after the kernel has ended, so device scope is sufficient.

use std::borrow::Cow;

use anyhow::{Result, ensure};

const ACCESSES: [&str; 4] = ["ld", "st", "atom", "red"];

/// State spaces that an instruction may name.
const SPACES: [&str; 5] = ["param", "global", "shared", "local", "const"];

/// Returns `ptx` with all generic accesses restricted to global memory and to device scope. Returns an error if the
/// kernels use shared or local memory.
pub(super) fn global(ptx: &str) -> Result<String> {
    for space in ["shared", "local"] {
        let name = format!(".{space}");
        let line = ptx.lines().find(|line| {
            line.split(|letter: char| letter.is_whitespace()).any(|word| word == name)
        });
        ensure!(line.is_none(), "the kernels use {space} memory: {}", line.unwrap_or_default());
    }
    Ok(ptx.lines().flat_map(|line| [rewritten(line), Cow::Borrowed("\n")]).collect())
}

/// Returns whether an instruction accesses memory without naming its state space.
pub(super) fn is_generic(opcode: &str) -> bool {
    let mut parts = opcode.split('.');
    let accesses = parts.next().is_some_and(|first| ACCESSES.contains(&first));
    accesses && !parts.any(|part| SPACES.contains(&part))
}

/// Returns `line`, with any generic access restricted to global memory and to device scope.
fn rewritten(line: &str) -> Cow<'_, str> {
    let words = line.split(|letter: char| letter.is_whitespace());
    let Some(opcode) = words.filter(|word| !word.starts_with('@')).find(|word| !word.is_empty())
    else {
        return line.into();
    };
    if !is_generic(opcode) {
        return line.into();
    }
    // The state space follows the scope if there is one. If not, it follows the instruction.
    let global = match opcode.split_once(".sys") {
        Some((before, after)) => format!("{before}.gpu.global{after}"),
        None => opcode.replacen('.', ".global.", 1),
    };
    line.replacen(opcode, &global, 1).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_without_a_space_become_those_of_global_memory() {
        for (line, expected) in [
            ("\tld.v2.b32 \t{%r1, %r2}, [%rd1];", "\tld.global.v2.b32 \t{%r1, %r2}, [%rd1];"),
            ("\tatom.min.u64 \t%rd3, [%rd2], %rd1;", "\tatom.global.min.u64 \t%rd3, [%rd2], %rd1;"),
            (
                "\t@%p1 st.relaxed.sys.b16 \t[%rd2], %rs1;",
                "\t@%p1 st.relaxed.gpu.global.b16 \t[%rd2], %rs1;",
            ),
            (
                "\tatom.relaxed.sys.cas.b32 \t%r4, [%rd2], %r18, %r17;",
                "\tatom.relaxed.gpu.global.cas.b32 \t%r4, [%rd2], %r18, %r17;",
            ),
            ("\tld.param.b64 \t%rd1, [touch_param_0];", "\tld.param.b64 \t%rd1, [touch_param_0];"),
            ("\tadd.s32 \t%r1, %r2, 1; // ld.b32", "\tadd.s32 \t%r1, %r2, 1; // ld.b32"),
            ("$L__BB0_2:", "$L__BB0_2:"),
            ("", ""),
        ] {
            assert_eq!(rewritten(line), expected);
        }
        assert_eq!(
            global("\tld.b8 \t%rs1, [%rd1];\n}\n").unwrap(),
            "\tld.global.b8 \t%rs1, [%rd1];\n}\n"
        );
    }

    #[test]
    fn kernels_with_memory_of_another_kind_are_refused() {
        let fault = global("\t.shared .align 4 .b8 \tsums[64];\n").unwrap_err();
        insta::assert_snapshot!(fault);
        assert!(global("\t.local .align 8 .b8 \t__local_depot2[1536];\n").is_err());
    }
}
