use super::*;

/// Output of ptxas 13.0.88.
const SAID: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'scan_tagged' for 'sm_75'
ptxas info    : Function properties for scan_tagged
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 23 registers, used 0 barriers, 632 bytes cmem[0]
ptxas info    : Compile time = 4.172 ms
ptxas info    : Compiling entry function 'scan_paper' for 'sm_75'
ptxas info    : Function properties for scan_paper
    1536 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 51 registers, used 0 barriers, 1536 bytes cumulative stack size, 648 bytes cmem[0]
ptxas info    : Compile time = 14.944 ms
";

fn needs(registers: u32, stack: [u32; 3]) -> Needs {
    Needs { registers: Some(registers), stack: Some(stack) }
}

#[test]
fn registers_and_stack_are_read_for_each_kernel() {
    let expected = [("scan_paper", needs(51, [1536, 0, 0])), ("scan_tagged", needs(23, [0, 0, 0]))];
    assert_eq!(parse(SAID), expected.map(|(name, needs)| (name.into(), needs)).into());
}

#[test]
fn stack_of_a_function_that_is_called_is_not_that_of_a_kernel() {
    let called = "ptxas info    : Function properties for sum\n    \
                  8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
    assert_eq!(parse(&format!("{SAID}{called}")), parse(SAID));
}

#[test]
fn each_fault_names_kernel_architecture_and_value() {
    let kernels = [("scan".into(), needs(65, [8, 12, 16])), ("tally".into(), needs(64, [0, 0, 0]))];
    let faults = faults(&kernels.into(), &["scan", "tally"], "sm_90").expect("both kernels");
    insta::assert_snapshot!(faults.join("\n"));
}

#[test]
fn silence_of_the_assembler_is_an_error() {
    let error = |said: &str, expected: &[&str]| {
        faults(&parse(said), expected, "sm_75").expect_err("nothing is known").to_string()
    };
    let no_registers = SAID.replace("Used 51", "51");
    let errors = [
        error("", &["scan"]),
        error(SAID, &["scan_paper", "scan"]),
        error(&no_registers, &["scan_paper", "scan_tagged"]),
    ];
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn table_has_a_line_per_kernel_and_a_column_per_architecture() {
    let kernels = parse(SAID);
    let expected = "\
registers     sm_75  sm_120
scan_paper       51      51
scan_tagged      23      23";
    assert_eq!(table(&[("sm_75", kernels.clone()), ("sm_120", kernels)]), expected);
}
