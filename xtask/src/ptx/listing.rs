//! Faults that can be found in the text of a PTX file without an assembler.
//!
//! A kernel must consist of integer code without calls and without a stack. Line numbers start at 1 and include the
//! lines of the stamp.

use super::space::is_generic;

/// Floating-point types of PTX. The names of packed types start with one of these names.
const FLOATS: [&str; 5] = ["f16", "bf16", "tf32", "f32", "f64"];

/// Returns the names of the kernels, in the order of the file.
pub(super) fn kernels(ptx: &str) -> Vec<&str> {
    ptx.lines().filter_map(entry).collect()
}

/// Returns one line for each kind of fault in each kernel, with the line number of its first occurrence.
pub(super) fn faults(ptx: &str) -> Vec<String> {
    let mut kernel = None;
    let mut seen: Vec<(Option<&str>, &str)> = Vec::new();
    let mut faults = Vec::new();
    for (number, line) in (1..).zip(ptx.lines()) {
        kernel = entry(line).or(kernel);
        let new = fault(line).filter(|&fault| !seen.contains(&(kernel, fault)));
        if let Some(fault) = new {
            seen.push((kernel, fault));
            let place = kernel.map_or("outside of kernels".into(), |name| format!("kernel {name}"));
            faults.push(format!("{place}: {fault}, line {number}: {}", code(line)));
        }
        // A brace at the start of a line ends the kernel.
        kernel = kernel.filter(|_| !line.starts_with('}'));
    }
    faults
}

/// Returns the name of the kernel that starts in `line`.
fn entry(line: &str) -> Option<&str> {
    let (_, name) = code(line).split_once(".entry ")?;
    name.split('(').next()
}

fn fault(line: &str) -> Option<&'static str> {
    let code = code(line);
    let words = || code.split(|letter: char| letter.is_whitespace() || ",;()[]{}".contains(letter));
    // For example, `@%p1 call.uni` has the parts `@%p1`, `call` and `uni`.
    let parts = || words().filter(|word| !word.starts_with('%')).flat_map(|word| word.split('.'));
    if parts().any(|part| part == "func") {
        Some("function that is not inlined")
    } else if words().any(|word| word.split('.').next() == Some("call")) {
        Some("call")
    } else if parts().any(|part| part == "local") {
        Some("local memory")
    } else if parts().any(|part| FLOATS.iter().any(|float| part.starts_with(float))) {
        Some("floating point")
    } else if words().any(is_generic) {
        Some("memory access without a state space")
    } else {
        None
    }
}

fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PTX file as the compiler writes it, with its stamp.
    const GOOD: &str = "\
// compiler: rustc
// sources: 00
// body: 00
.version 6.0
.target sm_70

\t// .globl\tscan                    // -- Begin function scan
.visible .entry scan(
\t.param .u64 .ptr .align 1 scan_param_0,
\t.param .align 4 .b8 scan_param_1[280]
)                                       // @scan, calls nothing.f32
{
\t.reg .pred \t%p<2>;
\tld.param.b32 \t%r2, [scan_param_1+12];
\tatom.relaxed.sys.global.cas.b32 \t%r4, [%rd2], %r18, %r17;
$L__BB0_2:                              // %call
\ttrap; exit;
                                        // -- End function
}
.visible .entry tally(
)
{
\tret;
}
";

    fn with(line: &str) -> Vec<String> {
        faults(&GOOD.replacen("\ttrap; exit;", line, 1))
    }

    #[test]
    fn kernels_are_found_in_order() {
        assert_eq!(kernels(GOOD), ["scan", "tally"]);
        assert_eq!(kernels(".version 6.0\n"), [""; 0]);
    }

    #[test]
    fn integer_code_has_no_faults() {
        assert_eq!(faults(GOOD), [""; 0]);
    }

    #[test]
    fn each_fault_names_kernel_kind_and_line() {
        for (line, kind) in [
            ("\t@%p1 call.uni (retval0), _ZN4core9panicking5panic17hE, (param0);", "call"),
            ("\tcall (retval0), sum, (param0);", "call"),
            ("\t{ call prototype; }", "call"),
            ("\t.local .align 8 .b8 \t__local_depot2[1536];", "local memory"),
            ("\tst.local.v2.b32 \t[%rd7+104], {%r418, %r419};", "local memory"),
            ("\tfma.rn.f32 \t%f3, %f1, %f2, %f2;", "floating point"),
            ("\tcvt.rn.f64.u32 \t%fd1, %r1;", "floating point"),
            ("\tadd.f16x2 \t%r1, %r2, %r3;", "floating point"),
            ("\t.reg .f32 \t%f<4>;", "floating point"),
            ("\t@%p1 ld.relaxed.sys.b16 \t%rs1, [%rd1];", "memory access without a state space"),
        ] {
            let expected = format!("kernel scan: {kind}, line 17: {}", line.trim());
            assert_eq!(with(line), [expected]);
        }
    }

    #[test]
    fn function_beside_the_kernels_is_a_fault() {
        let ptx = format!("{GOOD}.func  (.param .b32 retval0) sum(\n)\n{{\n\tret;\n}}\n");
        let fault = "outside of kernels: function that is not inlined, line 25: .func  (.param .b32 retval0) sum(";
        assert_eq!(faults(&ptx), [fault]);
    }

    #[test]
    fn fault_is_reported_once_per_kernel() {
        assert_eq!(with("\tld.local.b8 %rs1, [%rd1];\n\tld.local.b8 %rs2, [%rd1];").len(), 1);
    }
}
