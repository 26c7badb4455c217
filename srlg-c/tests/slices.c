/* Tests of slice numbers, timestamps and shorter windows. */
#include "check.h"

#include <time.h>

enum { PEERS = 300, SECOND = 1000000000, HOST = 0x0a000001, OTHER_HOST = 0x0a000002 };

static srlg_pair4 pairs[PEERS];
static srlg_pair6 pairs6[PEERS];

static void make_pairs(uint32_t host) {
    for (uint32_t i = 0; i < PEERS; i++) {
        pairs[i] = (srlg_pair4){host, i};
        pairs6[i] = (srlg_pair6){{{0x20}}, {{0x20, [14] = i >> 8, i & 0xff}}};
    }
}

/* Returns the number of super points of a report, and frees the report. */
static uint64_t super_points(srlg_report report, uint64_t slice) {
    srlg_summary summary = {.size = sizeof summary};
    OK(srlg_report_summary(report, &summary));
    CHECK(summary.slice == slice);
    OK(srlg_report_free(report));
    return summary.super_points;
}

/* Pairs with a slice number give the same state as lists of the same pairs. */
static void slice_numbers(void) {
    srlg_detector detector = new_detector(), other = new_detector();
    OK(srlg_detector_skip_to(detector, 7));
    OK(srlg_detector_skip_to(other, 7));
    srlg_feed feed;
    OK(srlg_feed_new(detector, 16, &feed));
    make_pairs(HOST);
    EXPECT(TOO_LATE, srlg_feed_ingest_at_ipv4(feed, 2, pairs, PEERS));
    CHECK(strcmp(srlg_last_error(), "cannot ingest into slice 2: it has left the window; drop the pairs") == 0);
    EXPECT(TOO_LATE, srlg_feed_ingest_at_ipv6(feed, 2, pairs6, PEERS));
    EXPECT(FUTURE, srlg_feed_ingest_at_ipv4(feed, 8, pairs, PEERS));
    EXPECT(FUTURE, srlg_feed_ingest_at_ipv6(feed, 8, pairs6, PEERS));
    CHECK(cardinality(detector, HOST) == 0);
    OK(srlg_feed_ingest_at_ipv4(feed, 5, pairs, PEERS));
    OK(srlg_feed_ingest_at_ipv6(feed, 5, pairs6, PEERS));
    OK(srlg_feed_ingest_at_ipv4(feed, 7, pairs, 10));
    CHECK(cardinality(detector, HOST) > 250);

    srlg_bytes bytes;
    size_t len, other_len;
    OK(srlg_pairs_write(5, pairs, PEERS, pairs6, PEERS, &bytes));
    uint8_t *list = take(bytes, &len);
    OK(srlg_detector_merge_pairs(other, list, len));
    OK(srlg_detector_ingest_ipv4(other, pairs, 10));
    free(list);
    EXPECT(ARGUMENT, srlg_pairs_write(5, pairs, (1 << 22) + 1, NULL, 0, &bytes));
    OK(srlg_detector_snapshot(detector, &bytes));
    uint8_t *ours = take(bytes, &len);
    OK(srlg_detector_snapshot(other, &bytes));
    uint8_t *theirs = take(bytes, &other_len);
    CHECK(len == other_len && memcmp(ours, theirs, len) == 0);
    free(ours);
    free(theirs);
    OK(srlg_feed_free(feed));
    OK(srlg_detector_free(detector));
    OK(srlg_detector_free(other));
}

static void check_reports(srlg_slicer slicer, uint64_t first, uint64_t end) {
    srlg_report report;
    for (uint64_t slice = first; slice < end; slice++) {
        OK(srlg_slicer_take_report(slicer, &report));
        CHECK(super_points(report, slice) == 1);
    }
    OK(srlg_slicer_take_report(slicer, &report));
    CHECK(report.id == 0);
}

static srlg_slicer new_slicer(srlg_detector detector, uint64_t grace_ns, uint64_t skew_ns) {
    const srlg_slicer_options options = {sizeof options, SECOND, grace_ns, skew_ns};
    srlg_slicer slicer;
    OK(srlg_slicer_new(detector, &options, &slicer));
    return slicer;
}

static void timestamps(void) {
    const uint64_t start = 1700000000, second = SECOND;
    srlg_detector detector = new_detector();
    const srlg_slicer_options no_length = {.size = sizeof no_length};
    srlg_slicer slicer;
    EXPECT(ARGUMENT, srlg_slicer_new(detector, &no_length, &slicer));
    slicer = new_slicer(detector, second, 0);
    OK(srlg_slicer_advance(slicer, start * second)); /* without effect before the first timestamp */
    make_pairs(HOST);
    OK(srlg_slicer_ingest_ipv4(slicer, start * second, pairs, 100));
    OK(srlg_slicer_ingest_ipv4(slicer, (start + 1) * second, pairs, PEERS)); /* early, because of the grace */
    OK(srlg_slicer_ingest_ipv4(slicer, (start + 1) * second - 1, pairs + 100, PEERS - 100));
    check_reports(slicer, start, start);
    OK(srlg_slicer_advance(slicer, (start + 2) * second - 1));
    CHECK(cardinality(detector, HOST) > 250);
    check_reports(slicer, start, start);
    OK(srlg_slicer_ingest_ipv6(slicer, (start + 2) * second, NULL, 0));
    check_reports(slicer, start, start + 1);
    EXPECT(LATE, srlg_slicer_ingest_ipv4(slicer, start * second, pairs, PEERS));
    EXPECT(TOO_LATE, srlg_slicer_ingest_ipv4(slicer, (start - 4) * second, pairs, 1));
    EXPECT(FUTURE, srlg_slicer_ingest_ipv6(slicer, UINT64_MAX, pairs6, 1));
    EXPECT(LATE, srlg_slicer_ingest_ipv6(slicer, (start - 3) * second, pairs6, PEERS));
    OK(srlg_slicer_free(slicer));

    /* A new slicer continues with the running slice. Older pairs are missing from no report of this slicer. */
    slicer = new_slicer(detector, 0, 0);
    OK(srlg_slicer_ingest_ipv4(slicer, start * second, pairs, PEERS));
    uint64_t running;
    OK(srlg_detector_slice(detector, &running));
    CHECK(running == start + 1);
    OK(srlg_slicer_advance(slicer, (start + 3) * second));
    check_reports(slicer, start + 1, start + 3);
    OK(srlg_detector_free(detector));
    EXPECT(HANDLE, srlg_slicer_advance(slicer, (start + 9) * second));
    OK(srlg_slicer_free(slicer));
    EXPECT(HANDLE, srlg_slicer_advance(slicer, 0));
}

/* A pair whose clock is ahead is dropped. If the skew allows it, pairs that follow it are late. */
static void wrong_clock(void) {
    const uint64_t now = (uint64_t)time(NULL), second = SECOND;
    make_pairs(HOST);
    for (uint64_t skew = 0; skew <= 60; skew += 60) {
        srlg_detector detector = new_detector();
        srlg_slicer slicer = new_slicer(detector, 2 * second, skew * second);
        OK(srlg_slicer_ingest_ipv4(slicer, now * second, pairs, 100));
        if (skew == 0) {
            EXPECT(FUTURE, srlg_slicer_ingest_ipv4(slicer, (now + 5) * second, pairs, 1));
            OK(srlg_slicer_ingest_ipv4(slicer, now * second, pairs + 100, PEERS - 100));
        } else {
            OK(srlg_slicer_ingest_ipv4(slicer, (now + 5) * second, pairs, 1));
            EXPECT(LATE, srlg_slicer_ingest_ipv4(slicer, now * second, pairs + 100, PEERS - 100));
        }
        OK(srlg_slicer_advance(slicer, (now + 2) * second));
        CHECK(cardinality(detector, HOST) > 250);
        OK(srlg_slicer_free(slicer));
        OK(srlg_detector_free(detector));
    }
}

static void foreign_close(void) {
    const uint64_t start = 1700000000, second = SECOND;
    srlg_detector detector = new_detector();
    srlg_slicer slicer = new_slicer(detector, 0, 0);
    OK(srlg_slicer_ingest_ipv4(slicer, start * second, pairs, 1));
    OK(srlg_detector_skip_to(detector, start + 1));
    EXPECT(SLICE, srlg_slicer_advance(slicer, start * second));
    OK(srlg_slicer_free(slicer));
    OK(srlg_detector_free(detector));
}

static void windows(void) {
    srlg_detector detector = new_detector();
    make_pairs(HOST);
    OK(srlg_detector_ingest_ipv4(detector, pairs, PEERS));
    OK(srlg_detector_skip_to(detector, 2));
    make_pairs(OTHER_HOST);
    OK(srlg_detector_ingest_ipv4(detector, pairs, PEERS));
    srlg_window windows[] = {{.slices = 5, .threshold = 100}, {.slices = 2, .threshold = 200}, {2, 1000}};
    srlg_report reports[3];
    for (uint32_t slices = 0; slices <= 6; slices += 6) {
        const srlg_window wrong[] = {{5, 100}, {slices, 100}};
        EXPECT(ARGUMENT, srlg_detector_close_slice_within(detector, wrong, 2, reports));
    }
    OK(srlg_detector_close_slice_within(detector, windows, 3, reports));
    CHECK(super_points(reports[0], 2) == 2);
    CHECK(super_points(reports[1], 2) == 1);
    CHECK(super_points(reports[2], 2) == 0);
    OK(srlg_detector_close_slice_within(detector, NULL, 0, NULL));
    uint64_t slice;
    OK(srlg_detector_slice(detector, &slice));
    CHECK(slice == 4);
    OK(srlg_detector_free(detector));
}

int main(void) {
    slice_numbers();
    timestamps();
    wrong_clock();
    foreign_close();
    windows();
    return 0;
}
