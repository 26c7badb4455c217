/* Tests of invalid arguments of every kind. Each call returns a status with a text and does not change anything. */
#include "check.h"

static srlg_pair4 pairs[3000];
static srlg_pair6 pairs6[300];

static void check_text(const char *text) {
    if (strcmp(srlg_last_error(), text) != 0) {
        fprintf(stderr, "the last error is: %s\ninstead of: %s\n", srlg_last_error(), text);
        exit(1);
    }
}

static void null_pointers(srlg_detector detector) {
    srlg_config config = {.size = sizeof config};
    srlg_host host = {{0}};
    srlg_estimate estimate = {.size = sizeof estimate};
    srlg_peers peers = {.size = sizeof peers};
    size_t taken;
    srlg_feed feed;
    srlg_report report;
    srlg_bytes bytes;
    char text[SRLG_HOST_TEXT];
    const srlg_window window = {1, 1};
    srlg_slicer slicer;
    srlg_checkpoints checkpoints = {0};
    srlg_state_header header = {.size = sizeof header};
    const srlg_slicer_options options = {.size = sizeof options, .slice_ns = 1};
    OK(srlg_slicer_new(detector, &options, &slicer));
    OK(srlg_feed_new(detector, 16, &feed));
    OK(srlg_detector_close_slice(detector, &report));
    OK(srlg_detector_delta(detector, 1, &bytes));

    EXPECT(NULL_POINTER, srlg_random_seed(NULL));
    check_text("seed: the pointer is null");
    EXPECT(NULL_POINTER, srlg_host_from_ipv4(1, NULL));
    EXPECT(NULL_POINTER, srlg_host_format(NULL, text, sizeof text));
    EXPECT(NULL_POINTER, srlg_host_format(&host, NULL, 1));
    EXPECT(NULL_POINTER, srlg_detector_new(NULL, &detector));
    EXPECT(NULL_POINTER, srlg_detector_new(&config, NULL));
    EXPECT(NULL_POINTER, srlg_detector_ingest_ipv4(detector, NULL, 1));
    EXPECT(NULL_POINTER, srlg_detector_ingest_ipv6(detector, NULL, 1));
    EXPECT(NULL_POINTER, srlg_detector_close_slice(detector, NULL));
    EXPECT(NULL_POINTER, srlg_detector_slice(detector, NULL));
    EXPECT(NULL_POINTER, srlg_detector_cardinality(detector, NULL, &estimate));
    EXPECT(NULL_POINTER, srlg_detector_cardinality(detector, &host, NULL));
    EXPECT(NULL_POINTER, srlg_detector_cardinality_within(detector, NULL, 1, &estimate));
    EXPECT(NULL_POINTER, srlg_detector_cardinality_within(detector, &host, 1, NULL));
    EXPECT(NULL_POINTER, srlg_detector_sample_peers(detector, NULL, &peers));
    EXPECT(NULL_POINTER, srlg_detector_sample_peers(detector, &host, NULL));
    EXPECT(NULL_POINTER, srlg_detector_health(detector, NULL));
    EXPECT(NULL_POINTER, srlg_detector_snapshot(detector, NULL));
    EXPECT(NULL_POINTER, srlg_detector_restore(detector, NULL, 1));
    EXPECT(NULL_POINTER, srlg_detector_merge_snapshot(detector, NULL, 1));
    EXPECT(NULL_POINTER, srlg_detector_delta(detector, 1, NULL));
    EXPECT(NULL_POINTER, srlg_detector_merge_delta(detector, NULL, 1));
    EXPECT(NULL_POINTER, srlg_feed_new(detector, 1, NULL));
    EXPECT(NULL_POINTER, srlg_feed_ingest_ipv4(feed, NULL, 1));
    EXPECT(NULL_POINTER, srlg_feed_ingest_ipv6(feed, NULL, 1));
    EXPECT(NULL_POINTER, srlg_feed_try_ingest_ipv4(feed, NULL, 1, &taken));
    EXPECT(NULL_POINTER, srlg_feed_try_ingest_ipv4(feed, pairs, 1, NULL));
    EXPECT(NULL_POINTER, srlg_feed_try_ingest_ipv6(feed, NULL, 1, &taken));
    EXPECT(NULL_POINTER, srlg_feed_try_ingest_ipv6(feed, pairs6, 1, NULL));
    EXPECT(NULL_POINTER, srlg_feed_ingest_at_ipv4(feed, 0, NULL, 1));
    EXPECT(NULL_POINTER, srlg_feed_ingest_at_ipv6(feed, 0, NULL, 1));
    EXPECT(NULL_POINTER, srlg_detector_close_slice_within(detector, NULL, 1, &report));
    EXPECT(NULL_POINTER, srlg_detector_close_slice_within(detector, &window, 1, NULL));
    EXPECT(NULL_POINTER, srlg_slicer_new(detector, &options, NULL));
    EXPECT(NULL_POINTER, srlg_slicer_new(detector, NULL, &slicer));
    EXPECT(NULL_POINTER, srlg_slicer_ingest_ipv4(slicer, 0, NULL, 1));
    EXPECT(NULL_POINTER, srlg_slicer_ingest_ipv6(slicer, 0, NULL, 1));
    EXPECT(NULL_POINTER, srlg_slicer_take_report(slicer, NULL));
    EXPECT(NULL_POINTER, srlg_pairs_write(0, NULL, 1, NULL, 0, &bytes));
    EXPECT(NULL_POINTER, srlg_pairs_write(0, NULL, 0, NULL, 1, &bytes));
    EXPECT(NULL_POINTER, srlg_pairs_write(0, NULL, 0, NULL, 0, NULL));
    EXPECT(NULL_POINTER, srlg_state_read_header(NULL, 1, &header));
    EXPECT(NULL_POINTER, srlg_state_read_header(host.bytes, 16, NULL));
    EXPECT(NULL_POINTER, srlg_checkpoints_open(NULL, &checkpoints));
    EXPECT(NULL_POINTER, srlg_checkpoints_open("folder", NULL));
    EXPECT(NULL_POINTER, srlg_checkpoints_restore(checkpoints, detector, NULL));
    EXPECT(NULL_POINTER, srlg_report_summary(report, NULL));
    EXPECT(NULL_POINTER, srlg_report_super_point(report, 0, NULL));
    EXPECT(NULL_POINTER, srlg_report_peers(report, 0, NULL));
    EXPECT(NULL_POINTER, srlg_report_health(report, NULL));
    EXPECT(NULL_POINTER, srlg_bytes_copy(bytes, NULL, 1, &taken));
    EXPECT(NULL_POINTER, srlg_bytes_copy(bytes, NULL, 0, NULL));
    /* If the count is 0, the pointer is not checked. */
    OK(srlg_detector_ingest_ipv4(detector, NULL, 0));
    OK(srlg_detector_ingest_ipv6(detector, NULL, 0));
    OK(srlg_slicer_free(slicer));
    OK(srlg_feed_free(feed));
    OK(srlg_report_free(report));
    OK(srlg_bytes_free(bytes));
}

static void lengths(srlg_detector detector) {
    EXPECT(ARGUMENT, srlg_detector_ingest_ipv4(detector, pairs, SIZE_MAX));
    EXPECT(ARGUMENT, srlg_detector_ingest_ipv6(detector, pairs6, SIZE_MAX / 32));
    const void *unaligned = (const uint8_t *)pairs + 1;
    EXPECT(ARGUMENT, srlg_detector_ingest_ipv4(detector, unaligned, 1));
    srlg_host host;
    OK(srlg_host_from_ipv4(0x0a000001, &host));
    char text[9];
    EXPECT(BUFFER, srlg_host_format(&host, text, 8));
    check_text("capacity: must be at least 9 bytes, got 8");
    EXPECT(BUFFER, srlg_host_format(&host, NULL, 0));
    OK(srlg_host_format(&host, text, 9));
    CHECK(strcmp(text, "10.0.0.1") == 0);
    srlg_estimate estimate = {.size = sizeof estimate};
    EXPECT(ARGUMENT, srlg_detector_cardinality_within(detector, &host, 0, &estimate));
    EXPECT(ARGUMENT, srlg_detector_cardinality_within(detector, &host, 6, &estimate));
    check_text("number of slices must be 1 to 5, the detector's window, got 6");
    srlg_feed feed;
    EXPECT(MEMORY, srlg_feed_new(detector, SIZE_MAX, &feed));
    srlg_report report;
    OK(srlg_detector_close_slice(detector, &report));
    srlg_super_point point = {.size = sizeof point};
    EXPECT(ARGUMENT, srlg_report_super_point(report, 0, &point));
    check_text("index: the report has 0 super points, got 0");
    OK(srlg_report_free(report));
}

static void structs(srlg_detector detector) {
    srlg_config config = {0};
    srlg_detector other;
    EXPECT(STRUCT_SIZE, srlg_detector_new(&config, &other));
    check_text("config: set size to sizeof of the struct, at least 56, got 0");
    config.size = sizeof config - 1;
    EXPECT(STRUCT_SIZE, srlg_detector_new(&config, &other));
    config.size = SIZE_MAX;
    EXPECT(STRUCT_SIZE, srlg_detector_new(&config, &other));

    /* The program has a later header. The new members must be 0 in inputs, and are set to 0 in outputs. */
    struct { srlg_config known; uint64_t unknown; } later = {{.size = sizeof later, .threshold = 100}, 0};
    OK(srlg_detector_new(&later.known, &other));
    OK(srlg_detector_free(other));
    later.unknown = 1;
    EXPECT(STRUCT_SIZE, srlg_detector_new(&later.known, &other));
    struct { srlg_health known; uint64_t unknown; } health = {{.size = sizeof health}, 7};
    OK(srlg_detector_health(detector, &health.known));
    CHECK(health.known.size == sizeof health && health.unknown == 0);
    health.known.size = sizeof health.known - 1;
    health.known.load = -1;
    EXPECT(STRUCT_SIZE, srlg_detector_health(detector, &health.known));
    CHECK(health.known.load == -1);

    srlg_config half = {.size = sizeof half, .memory = 2000000};
    EXPECT(ARGUMENT, srlg_detector_new(&half, &other));
    check_text("memory and pairs: must both be zero or both be positive, got 2000000 bytes and 0 pairs");
    srlg_config device = {.size = sizeof device, .device = 3};
    EXPECT(ARGUMENT, srlg_detector_new(&device, &other));
    check_text("device: must be below 3, got 3");
    srlg_config hash = {.size = sizeof hash, .hash = 2};
    EXPECT(ARGUMENT, srlg_detector_new(&hash, &other));
    srlg_config window = {.size = sizeof window, .window = 65535};
    EXPECT(CONFIG, srlg_detector_new(&window, &other));
    check_text("window must be 1 to 65534 slices, got 65535");
    srlg_config threshold = {.size = sizeof threshold, .threshold = 100000};
    EXPECT(CONFIG, srlg_detector_new(&threshold, &other));
    check_text("threshold: too large for the default sizes, got 100000; set memory and pairs");
    srlg_config plan = {.size = sizeof plan, .memory = 1, .pairs = 1};
    EXPECT(CONFIG, srlg_detector_new(&plan, &other));
    srlg_config gpu = {.size = sizeof gpu, .device = SRLG_DEVICE_CUDA, .cuda_device = 99};
    EXPECT(DEVICE, srlg_detector_new(&gpu, &other));
}

static void handles(srlg_detector detector) {
    const uint64_t numbers[] = {0, 1, UINT64_MAX, detector.id + 1, detector.id + (1ull << 32), detector.id ^ (3ull << 56)};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        uint64_t slice;
        srlg_summary summary = {.size = sizeof summary};
        size_t len;
        EXPECT(HANDLE, srlg_detector_slice((srlg_detector){numbers[i]}, &slice));
        EXPECT(HANDLE, srlg_detector_free((srlg_detector){numbers[i]}));
        EXPECT(HANDLE, srlg_feed_ingest_ipv4((srlg_feed){numbers[i]}, pairs, 1));
        EXPECT(HANDLE, srlg_feed_free((srlg_feed){numbers[i]}));
        EXPECT(HANDLE, srlg_report_summary((srlg_report){numbers[i]}, &summary));
        EXPECT(HANDLE, srlg_report_free((srlg_report){numbers[i]}));
        EXPECT(HANDLE, srlg_bytes_copy((srlg_bytes){numbers[i]}, NULL, 0, &len));
        EXPECT(HANDLE, srlg_bytes_free((srlg_bytes){numbers[i]}));
    }
    srlg_report report;
    OK(srlg_detector_close_slice(detector, &report));
    /* The handle is of another kind. */
    EXPECT(HANDLE, srlg_detector_free((srlg_detector){report.id}));
    OK(srlg_report_free(report));
    EXPECT(HANDLE, srlg_report_free(report));
    CHECK(strstr(srlg_last_error(), "is not an srlg_report: it was freed or never opened") != NULL);
    srlg_report next;
    OK(srlg_detector_close_slice(detector, &next));
    CHECK(next.id != report.id);
    OK(srlg_report_free(next));
}

static void states(void) {
    srlg_detector site = new_detector(), centre = new_detector();
    for (uint32_t i = 0; i < 3000; i++)
        pairs[i] = (srlg_pair4){7, i};
    OK(srlg_detector_ingest_ipv4(site, pairs, 3000));
    srlg_bytes bytes;
    size_t len, snapshot_len;
    OK(srlg_detector_delta(site, 1, &bytes));
    uint8_t *delta = take(bytes, &len);
    OK(srlg_detector_snapshot(site, &bytes));
    uint8_t *snapshot = take(bytes, &snapshot_len);
    EXPECT(FORMAT, srlg_detector_merge_delta(centre, NULL, 0));
    EXPECT(FORMAT, srlg_detector_merge_delta(centre, delta, len - 1));
    EXPECT(FORMAT, srlg_detector_merge_delta(centre, snapshot, snapshot_len));
    EXPECT(FORMAT, srlg_detector_restore(centre, delta, len));
    delta[len - 1] ^= 1;
    EXPECT(FORMAT, srlg_detector_merge_delta(centre, delta, len));
    delta[len - 1] ^= 1;
    OK(srlg_detector_merge_delta(centre, delta, len));
    OK(srlg_detector_merge_delta(centre, delta, len)); /* merging is idempotent */

    srlg_report ours, theirs;
    OK(srlg_detector_close_slice(centre, &ours));
    OK(srlg_detector_close_slice(site, &theirs));
    srlg_super_point our = {.size = sizeof our}, their = {.size = sizeof their};
    OK(srlg_report_super_point(ours, 0, &our));
    OK(srlg_report_super_point(theirs, 0, &their));
    CHECK(memcmp(&our, &their, sizeof our) == 0);
    OK(srlg_report_free(ours));
    OK(srlg_report_free(theirs));

    srlg_config config = {.size = sizeof config, .threshold = 100, .window = 5, .memory = 2000000, .pairs = 100000};
    config.seed = 1;
    srlg_detector other;
    OK(srlg_detector_new(&config, &other));
    EXPECT(OTHER_SEED, srlg_detector_merge_delta(other, delta, len));
    OK(srlg_detector_free(other));
    config.seed = 0;
    config.hash = SRLG_HASH_HALF_SIP13;
    OK(srlg_detector_new(&config, &other));
    EXPECT(OTHER_SIZES, srlg_detector_merge_delta(other, delta, len));
    OK(srlg_detector_free(other));
    config.hash = SRLG_HASH_MURMUR;
    config.window = 6;
    OK(srlg_detector_new(&config, &other));
    EXPECT(OTHER_SIZES, srlg_detector_merge_snapshot(other, snapshot, snapshot_len));
    OK(srlg_detector_free(other));

    OK(srlg_detector_skip_to(centre, 5));
    EXPECT(TOO_LATE, srlg_detector_merge_delta(centre, delta, len));
    EXPECT(SLICE, srlg_detector_skip_to(centre, 4));
    OK(srlg_detector_restore(centre, snapshot, snapshot_len));
    uint64_t slice;
    OK(srlg_detector_slice(centre, &slice));
    CHECK(slice == 0);
    srlg_bytes late;
    OK(srlg_detector_skip_to(site, 9));
    OK(srlg_detector_snapshot(site, &late));
    size_t late_len;
    uint8_t *data = take(late, &late_len);
    EXPECT(FUTURE, srlg_detector_merge_snapshot(centre, data, late_len));
    OK(srlg_detector_skip_to(centre, UINT64_MAX));
    EXPECT(SLICE, srlg_detector_close_slice(centre, &ours));
    free(data);
    free(delta);
    free(snapshot);
    OK(srlg_detector_free(site));
    OK(srlg_detector_free(centre));
}

/* Returns the peers of 10.0.0.1 in a new detector that has merged the bytes of `site`. */
static double peers_after(srlg_status (*merge)(srlg_detector, const uint8_t *, size_t), srlg_bytes bytes) {
    srlg_detector centre = new_detector();
    OK(srlg_detector_skip_to(centre, 1));
    size_t len;
    uint8_t *data = take(bytes, &len);
    OK(merge(centre, data, len));
    free(data);
    double peers = cardinality(centre, 0x0a000001);
    OK(srlg_detector_free(centre));
    return peers;
}

/* Contacts of slice 0 are in a snapshot and in a delta of two slices, but not in a delta of one slice. */
static void slices_of_a_delta(void) {
    srlg_detector site = new_detector();
    for (uint32_t i = 0; i < 3000; i++)
        pairs[i] = (srlg_pair4){0x0a000001, i};
    OK(srlg_detector_ingest_ipv4(site, pairs, 3000));
    OK(srlg_detector_skip_to(site, 1));
    srlg_bytes bytes;
    OK(srlg_detector_delta(site, 1, &bytes));
    CHECK(peers_after(srlg_detector_merge_delta, bytes) < 100);
    OK(srlg_detector_delta(site, 2, &bytes));
    double all = peers_after(srlg_detector_merge_delta, bytes);
    CHECK(all > 2500 && all < 3500);
    OK(srlg_detector_snapshot(site, &bytes));
    CHECK(peers_after(srlg_detector_merge_snapshot, bytes) == all);
    OK(srlg_detector_snapshot(site, &bytes));
    CHECK(peers_after(srlg_detector_restore, bytes) == all);
    OK(srlg_detector_free(site));
}

int main(void) {
    CHECK(strcmp(srlg_last_error(), "") == 0);
    CHECK(srlg_abi_version() == SRLG_ABI_VERSION);
    uint64_t seeds[2];
    OK(srlg_random_seed(&seeds[0]));
    OK(srlg_random_seed(&seeds[1]));
    CHECK(seeds[0] != seeds[1]);
    srlg_detector detector = new_detector();
    null_pointers(detector);
    lengths(detector);
    structs(detector);
    handles(detector);
    states();
    slices_of_a_delta();
    srlg_feed feed;
    OK(srlg_feed_new(detector, 16, &feed));
    OK(srlg_detector_free(detector));
    EXPECT(HANDLE, srlg_detector_free(detector));
    EXPECT(DETECTOR_FREED, srlg_feed_ingest_ipv4(feed, pairs, 100));
    OK(srlg_feed_free(feed));
    return 0;
}
