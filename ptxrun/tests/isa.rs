//! Single instructions, compared with values that were worked out by hand from the PTX manual.

use cuda::{
    Cause, Checks, FaultKind, Launch, Module, Options, Order, ParseError, Shape, Space, parse,
};

/// Start of a kernel with three 64-bit numbers in its parameter. It loads an address into `%rd0`, and two numbers into
/// `%rd1` and `%rd2`. The low bits of the numbers are in `%r1`, `%r2`, `%rs1` and `%rs2`.
const HEAD: &str = "\
.version 6.0
.target sm_70
.address_size 64
.visible .entry k(
.param .align 8 .b8 k_param_0[24]
)
{
.reg .pred %p<4>;
.reg .b16 %rs<6>;
.reg .b32 %r<10>;
.reg .b64 %rd<10>;
ld.param.b64 %rd0, [k_param_0];
ld.param.b64 %rd1, [k_param_0+8];
ld.param.b64 %rd2, [k_param_0+16];
cvt.u32.u64 %r1, %rd1;
cvt.u32.u64 %r2, %rd2;
cvt.u16.u64 %rs1, %rd1;
cvt.u16.u64 %rs2, %rd2;
";

/// Line of the first instruction behind [`HEAD`].
const FIRST_LINE: u32 = 19;

fn kernel(body: &str) -> Result<Module, ParseError> {
    parse(&format!("{HEAD}{body}\nret;\n}}\n"))
}

/// Returns a launch of `threads` threads with the address of `bytes` bytes in `%rd0`, and this address.
fn launch(
    body: &str,
    numbers: [u64; 2],
    threads: u32,
    space: &mut Space,
    bytes: usize,
) -> (Launch, u64) {
    let entry = kernel(body).unwrap().entry("k").unwrap();
    let address = space.allocate(bytes);
    let params = [address, numbers[0], numbers[1]];
    let params = params.iter().flat_map(|value| value.to_le_bytes()).collect();
    let options = Options { order: Order::Lockstep, seed: 1, measure: false };
    let shape = Shape::new(1, threads).unwrap();
    (Launch::new(entry, params, shape, space.snapshot(), options), address)
}

/// Returns the 16 bytes at `%rd0` after a launch. They are 0 before.
fn run(body: &str, a: u64, b: u64, threads: u32) -> Result<[u64; 2], FaultKind> {
    let mut space = Space::new(1, Checks::default());
    let (mut launch, address) = launch(body, [a, b], threads, &mut space, 16);
    space.fill(address, 16, 0).unwrap();
    launch.run().map_err(|fault| fault.kind)?;
    let words = [address, address + 8].map(|address| {
        let mut word = [0; 8];
        space.read(address, &mut word).unwrap();
        u64::from_le_bytes(word)
    });
    Ok(words)
}

fn word(body: &str, a: u64, b: u64) -> u64 {
    run(body, a, b, 1).unwrap()[0]
}

#[test]
fn results() {
    let of_32 = |op: &str, a: u64, b: u64| word(&format!("{op}\nst.b32 [%rd0], %r3;"), a, b);
    let of_64 = |op: &str, a: u64, b: u64| word(&format!("{op}\nst.b64 [%rd0], %rd3;"), a, b);
    let of_16 = |op: &str, a: u64, b: u64| word(&format!("{op}\nst.b16 [%rd0], %rs3;"), a, b);
    let top = 0x8000_0001;
    assert_eq!(of_32("add.s32 %r3, %r1, %r2;", 0xffff_ffff, 2), 1);
    assert_eq!(of_32("sub.s32 %r3, %r1, %r2;", 1, 2), 0xffff_ffff);
    assert_eq!(of_32("mul.lo.s32 %r3, %r1, %r2;", 0x10001, 0x10001), 0x20001);
    assert_eq!(of_32("mul.hi.u32 %r3, %r1, %r2;", 0xffff_ffff, 0xffff_ffff), 0xffff_fffe);
    assert_eq!(
        of_64("mul.wide.u32 %rd3, %r1, %r2;", 0xffff_ffff, 0xffff_ffff),
        0xffff_fffe_0000_0001
    );
    assert_eq!(of_64("mad.lo.s64 %rd3, %rd1, %rd2, %rd1;", 3, 5), 18);
    assert_eq!(of_32("div.u32 %r3, %r1, %r2;", 0xffff_ffff, 16), 0x0fff_ffff);
    assert_eq!(of_32("neg.s32 %r3, %r1;", 1, 0), 0xffff_ffff);
    assert_eq!(of_32("not.b32 %r3, %r1;", 1, 0), 0xffff_fffe);
    // The result is the upper half of {b, a} after a shift to the left.
    assert_eq!(of_32("shf.l.wrap.b32 %r3, %r1, %r2, 4;", top, 0x1234_5678), 0x2345_6788);
    assert_eq!(of_32("shf.l.wrap.b32 %r3, %r1, %r1, 33;", top, 0), 3);
    assert_eq!(of_32("shf.l.clamp.b32 %r3, %r1, %r2, 33;", top, 5), top);
    assert_eq!(of_32("shf.r.wrap.b32 %r3, %r1, %r2, 4;", top, 0x1234_5678), 0x8800_0000);
    // A distance above the number of bits counts as this number.
    assert_eq!(of_32("shl.b32 %r3, %r1, %r2;", top, 32), 0);
    assert_eq!(of_32("shr.u32 %r3, %r1, %r2;", top, 40), 0);
    assert_eq!(of_32("shr.s32 %r3, %r1, %r2;", top, 40), 0xffff_ffff);
    assert_eq!(of_64("shl.b64 %rd3, %rd1, %r2;", 1, 63), 1 << 63);
    assert_eq!(of_64("shl.b64 %rd3, %rd1, %r2;", 1, 64), 0);
    assert_eq!(of_16("shl.b16 %rs3, %rs1, 15;", 3, 0), 0x8000);
    assert_eq!(of_16("mul.lo.s16 %rs3, %rs1, %rs2;", 0x101, 0x101), 0x201);
    assert_eq!(of_16("sub.s16 %rs3, %rs1, %rs2;", 0, 1), 0xffff);
    assert_eq!(of_16("min.u16 %rs3, %rs1, %rs2;", 0xffff, 1), 1);
    assert_eq!(of_16("not.b16 %rs3, %rs1;", 1, 0), 0xfffe);
    assert_eq!(of_64("bfe.u64 %rd3, %rd1, 16, 8;", 0x1234_5678, 0), 0x34);
    assert_eq!(of_64("bfe.u64 %rd3, %rd1, 60, 8;", u64::MAX, 0), 0xf);
    assert_eq!(of_64("bfe.s64 %rd3, %rd1, 4, 4;", 0x80, 0), u64::MAX - 7);
    assert_eq!(of_32("popc.b64 %r3, %rd1;", u64::MAX >> 1, 0), 63);
    assert_eq!(of_32("clz.b32 %r3, %r1;", 1, 0), 31);
    assert_eq!(
        of_64(
            "{ .reg .b32 tmp; mov.b64 {tmp, %r3}, %rd1; }\ncvt.u64.u32 %rd3, %r3;",
            5 << 32 | 7,
            0
        ),
        5
    );
    assert_eq!(of_64("mov.b64 %rd3, {%r1, %r2};", 5, 7), 7 << 32 | 5);
    assert_eq!(of_16("{ .reg .b16 tmp; mov.b32 {tmp, %rs3}, %r1; }", 0x1234_5678, 0), 0x1234);
    assert_eq!(of_64("cvt.s64.s32 %rd3, %r1;", top, 0), 0xffff_ffff_8000_0001);
    assert_eq!(of_64("cvt.u64.u16 %rd3, %rs1;", 0xf_ffff, 0), 0xffff);
    assert_eq!(of_32("cvt.s32.s8 %r3, %r1;", 0x1ff, 0), 0xffff_ffff);
    assert_eq!(of_32("setp.lt.u32 %p1, %r1, %r2;\nselp.b32 %r3, 1, 2, %p1;", top, 2), 2);
    assert_eq!(of_32("setp.lt.s32 %p1, %r1, %r2;\nselp.b32 %r3, 1, 2, %p1;", top, 2), 1);
    assert_eq!(of_32("setp.le.u16 %p1, %rs1, %rs2;\nselp.b32 %r3, 1, 2, %p1;", 9, 9), 1);
    assert_eq!(
        of_32(
            "mov.pred %p1, -1;\nnot.pred %p2, %p1;\nor.pred %p3, %p2, 0;\nselp.b32 %r3, 1, 2, %p3;",
            0,
            0
        ),
        2
    );
    assert_eq!(of_32("mov.b32 %r3, 7;\nsetp.eq.b32 %p1, %r1, 0;\n@%p1 mov.b32 %r3, 8;", 0, 0), 8);
    assert_eq!(of_32("mov.b32 %r3, 7;\nsetp.eq.b32 %p1, %r1, 0;\n@!%p1 mov.b32 %r3, 8;", 0, 0), 7);
    assert_eq!(
        of_32(
            "mov.b32 %r3, 0;\n$L1:\nadd.s32 %r3, %r3, 2;\nsetp.lt.u32 %p1, %r3, %r1;\n@%p1 bra $L1;",
            9,
            0
        ),
        10
    );
}

#[test]
fn memory() {
    // Narrow loads extend the value, and narrow stores truncate it.
    assert_eq!(
        word("st.b8 [%rd0+1], %r1;\nld.b8 %r3, [%rd0+1];\nst.b32 [%rd0+4], %r3;", 0x1ff, 0),
        0xff << 32 | 0xff00
    );
    assert_eq!(
        word("st.b8 [%rd0+1], %r1;\nld.s8 %r3, [%rd0+1];\nst.b32 [%rd0+4], %r3;", 0x1ff, 0),
        0xffff_ffff_0000_ff00
    );
    assert_eq!(
        run(
            "st.v2.b32 [%rd0+8], {%r1, %r2};\nld.v2.b32 {%r4, %r3}, [%rd0+8];\nst.b32 [%rd0], %r3;",
            5,
            6,
            1
        )
        .unwrap(),
        [6, 6 << 32 | 5]
    );
    // The first comparison succeeds, and the second one fails.
    let swap =
        "st.b32 [%rd0], %r1;\natom.relaxed.sys.cas.b32 %r3, [%rd0], %r2, 9;\nst.b32 [%rd0+4], %r3;";
    assert_eq!(word(swap, 5, 5), 5 << 32 | 9);
    assert_eq!(word(swap, 5, 6), 5 << 32 | 5);
    // Each of 100 threads gets another previous value.
    let sum =
        "atom.add.u32 %r3, [%rd0], 2;\nadd.s64 %rd0, %rd0, 8;\natom.add.u32 %r4, [%rd0], %r3;";
    assert_eq!(run(sum, 0, 0, 100).unwrap(), [200, 9900]);
    assert_eq!(
        run("mov.u32 %r3, %tid.x;\nred.global.max.u32 [%rd0], %r3;", 0, 0, 77).unwrap()[0],
        76
    );
}

#[test]
fn faults() {
    let fault = |body: &str| run(body, 0, 0, 1).unwrap_err();
    assert_eq!(fault("ld.b32 %r3, [%rd0+16];"), FaultKind::OutOfBounds);
    assert_eq!(fault("st.b64 [%rd0+-8], %rd1;"), FaultKind::OutOfBounds);
    assert_eq!(fault("ld.b64 %rd3, [%rd0+12];"), FaultKind::Misaligned);
    assert_eq!(fault("div.u32 %r3, %r1, %r2;"), FaultKind::DivisionByZero);
    assert_eq!(fault("trap; exit;"), FaultKind::Trap);
}

#[test]
fn a_fault_has_the_place_of_the_access() {
    let mut space = Space::new(1, Checks::default());
    // Thread 3 accesses the first bytes behind the allocation.
    let body = "mov.u32 %r3, %tid.x;\nmul.wide.u32 %rd3, %r3, 4;\nadd.s64 %rd3, %rd0, %rd3;\nst.b32 [%rd3], %r3;";
    let (mut launch, address) = launch(body, [0, 0], 64, &mut space, 12);
    let fault = launch.run().unwrap_err();
    assert_eq!((fault.kind, fault.address), (FaultKind::OutOfBounds, address + 12));
    assert_eq!((fault.line, fault.opcode.as_str()), (FIRST_LINE + 3, "st.b32"));
    assert_eq!((fault.thread, fault.threads, fault.block, fault.blocks), (3, 64, 0, 1));
    let near = fault.near.unwrap();
    assert_eq!((near.byte, near.len), (12, 12));
}

#[test]
fn reads_of_memory_that_was_never_written_fail_if_they_are_checked() {
    let fault = |checks: Checks, body: &str| {
        let mut space = Space::new(1, checks);
        let (mut launch, _) = launch(body, [0, 0], 1, &mut space, 16);
        launch.run().err().map(|fault| fault.kind)
    };
    let checks = Checks { init: true, race: false };
    let read = "ld.b32 %r3, [%rd0+4];";
    let written = format!("st.b32 [%rd0+4], %r1;\n{read}");
    assert_eq!(fault(checks, read), Some(FaultKind::Uninitialised));
    assert_eq!(fault(checks, &written), None);
    assert_eq!(fault(Checks::default(), read), None);
    // A part of the bytes is not enough.
    assert_eq!(
        fault(checks, "st.b8 [%rd0+4], %r1;\nld.b32 %r3, [%rd0+4];"),
        Some(FaultKind::Uninitialised)
    );
}

#[test]
fn the_random_order_gives_the_same_sums() {
    let body = "\
        mov.u32 %r3, %tid.x;
        setp.lt.u32 %p1, %r3, 7;
        @%p1 bra $L1;
        red.global.add.u32 [%rd0], 2;
        bra $L2;
        $L1:
        red.global.add.u32 [%rd0+4], 3;
        $L2:
        red.global.add.u64 [%rd0+8], 1;";
    for seed in 0..20 {
        let mut space = Space::new(seed, Checks::default());
        let address = space.allocate(16);
        space.fill(address, 16, 0).unwrap();
        let entry = kernel(body).unwrap().entry("k").unwrap();
        let params = [address, 0, 0].iter().flat_map(|value| value.to_le_bytes()).collect();
        let options = Options { order: Order::Random { warps: 3 }, seed, measure: true };
        let shape = Shape::new(5, 40).unwrap();
        Launch::new(entry, params, shape, space.snapshot(), options).run().unwrap();
        let mut bytes = [0; 16];
        space.read(address, &mut bytes).unwrap();
        let sums = u128::from_le_bytes(bytes);
        assert_eq!(sums, (200 << 64) + (105 << 32) + 330);
    }
}

#[test]
fn what_is_not_known_is_rejected_with_its_line() {
    for body in [
        "bar.sync 0;",
        "add.f32 %r1, %r1, %r2;",
        "ld.shared.b32 %r1, [%rd0];",
        "frob.b32 %r1, %r2;",
        "add.s32 %r1, %rd1, %r2;",
        "add.s32 %r1, %r1, 4294967296;",
        "bra $L9;",
        "mov.u32 %r1, %clock;",
        "ld.param.b64 %rd1, [k_param_0+20];",
        "atom.add.b32 %r1, [%rd0], 1;",
        "shl.b32 %r1, %r2, %rd1;",
    ] {
        let error = kernel(body).unwrap_err();
        let opcode = body.split(' ').next().map(str::to_owned);
        assert_eq!((error.line, error.opcode), (FIRST_LINE, opcode));
    }
    let causes = [
        ("bar.sync 0;", Cause::UnknownInstruction),
        ("bra $L9;", Cause::UnknownLabel("$L9".to_owned())),
        ("mov.u32 %r1, %clock;", Cause::UnknownRegister("%clock".to_owned())),
        ("ld.param.b64 %rd1, [k_param_0+20];", Cause::OutsideParameter),
        ("ret 1;", Cause::OperandCount { expected: 0, found: 1 }),
    ];
    for (body, cause) in causes {
        assert_eq!(kernel(body).unwrap_err().cause, cause);
    }
}

#[test]
fn a_shape_has_threads_and_blocks_that_the_device_can_launch() {
    assert!(Shape::new(1, 1024).is_some() && Shape::new(1 << 21, 1024).is_some());
    assert!(Shape::new(0, 32).is_none() && Shape::new(1, 0).is_none());
    assert!(Shape::new(1, 1025).is_none() && Shape::new(1 << 22, 1024).is_none());
}
