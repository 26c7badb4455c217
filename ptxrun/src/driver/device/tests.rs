use super::*;

/// Returns a device that defers work.
fn deferred(seed: u64) -> Device {
    let variable = |name: &str| match name {
        "PTXRUN_QUEUES" => Some("deferred".to_owned()),
        "PTXRUN_SEED" => Some(seed.to_string()),
        _ => None,
    };
    Device::new(Settings::read(variable).unwrap())
}

/// Returns the byte at `address` after all work.
fn byte(device: &mut Device, address: Address) -> u8 {
    device.synchronize().unwrap();
    let mut byte = [0];
    device.space.read(address, &mut byte).unwrap();
    byte[0]
}

#[test]
fn work_of_a_stream_is_in_order() {
    for seed in 0..50 {
        let mut device = deferred(seed);
        let (address, stream) = (device.allocate(8).unwrap(), device.create_stream());
        for value in 0..10 {
            device.fill(address, 8, value, stream).unwrap();
        }
        assert_eq!(byte(&mut device, address), 9);
    }
}

#[test]
fn streams_are_in_any_order_unless_one_waits_for_the_other() {
    let last = |seed, waits: bool| {
        let mut device = deferred(seed);
        let address = device.allocate(8).unwrap();
        let [one, two] = std::array::from_fn(|_| device.create_stream());
        let event = device.create_event();
        device.fill(address, 8, 1, one).unwrap();
        device.record_event(event, one).unwrap();
        if waits {
            device.wait_event(two, event).unwrap();
        }
        device.fill(address, 8, 2, two).unwrap();
        byte(&mut device, address)
    };
    assert!((0..50).all(|seed| last(seed, true) == 2));
    assert!((0..50).any(|seed| last(seed, false) == 1));
    assert!((0..50).any(|seed| last(seed, false) == 2));
}

#[test]
fn a_wait_is_for_the_records_before_it() {
    let mut device = deferred(1);
    let [one, two] = std::array::from_fn(|_| device.create_stream());
    let event = device.create_event();
    // The event was not recorded yet, so nothing waits.
    device.wait_event(two, event).unwrap();
    device.synchronize_stream(two).unwrap();
    device.record_event(event, one).unwrap();
    device.synchronize_event(event).unwrap();
    assert_eq!(device.query_event(event), Ok(()));
}

#[test]
fn pinned_memory_that_is_freed_under_a_copy_is_found() {
    // Some seeds perform the copy before the memory is freed.
    let outcomes = (0..20).map(|seed| {
        let mut device = deferred(seed);
        let address = device.allocate(8).unwrap();
        let host = device.allocate_pinned(8).unwrap().host_address() as usize;
        let from = device.pinned(host, 8).unwrap();
        device.upload_pinned(from, address, 8, 0).unwrap();
        device.free_pinned(host).unwrap();
        device.synchronize()
    });
    let outcomes: Vec<_> = outcomes.collect();
    assert!(outcomes.contains(&Err(Failure::IllegalAddress)));
    assert!(outcomes.contains(&Ok(())));
}

#[test]
fn copies_out_of_bounds_fail_all_later_work() {
    let mut device = deferred(1);
    let address = device.allocate(8).unwrap();
    let mut bytes = [0; 9];
    let outcome = device.download(address, &mut bytes, 0);
    assert_eq!(outcome, Err(Failure::IllegalAddress));
    assert_eq!(device.fill(address, 8, 0, 0), Err(Failure::IllegalAddress));
    assert_eq!(device.check(), Err(Failure::IllegalAddress));
}

#[test]
fn handles_and_sizes_are_checked() {
    let mut device = deferred(1);
    assert_eq!(device.allocate(0), Err(Failure::InvalidValue));
    assert_eq!(device.allocate(usize::MAX), Err(Failure::OutOfMemory));
    assert_eq!(device.free(1), Err(Failure::InvalidValue));
    assert_eq!(device.synchronize_stream(1), Err(Failure::InvalidHandle));
    assert_eq!(device.record_event(1, 0), Err(Failure::InvalidHandle));
    assert_eq!(device.load(".target sm_70 oops"), Err(Failure::InvalidPtx));
    let module = device.load(".target sm_70").unwrap();
    assert_eq!(device.function(module, "k"), Err(Failure::NotFound));
    assert_eq!(device.unload(module), Ok(()));
    assert!(device.pinned(usize::MAX, 8).is_none());
}
