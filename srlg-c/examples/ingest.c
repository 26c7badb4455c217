/* Prints the nanoseconds per pair of 10 million distinct pairs in one call, through a feed in calls of 64, and through a
 * feed one by one. Also prints the nanoseconds of a call that only looks up its handle. examples/ingest.rs compares
 * the numbers with Rust. */
#define _POSIX_C_SOURCE 199309L
#include <srlg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PAIRS = 10000000, SHORT_CALL = 64 };

static srlg_pair4 pairs[PAIRS];

static void check(srlg_status status) {
    if (status != SRLG_STATUS_OK) {
        fprintf(stderr, "ingest: %s\n", srlg_last_error());
        exit(1);
    }
}

static double nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static srlg_detector new_detector(void) {
    srlg_config config = {.size = sizeof config, .device = SRLG_DEVICE_CPU};
    srlg_detector detector;
    check(srlg_detector_new(&config, &detector));
    return detector;
}

/* Ingests all pairs through a feed, in calls of `count`. */
static double feed_in_calls_of(size_t count) {
    srlg_detector detector = new_detector();
    srlg_feed feed;
    check(srlg_feed_new(detector, 1 << 20, &feed));
    double start = nanoseconds();
    for (size_t i = 0; i < PAIRS; i += count)
        check(srlg_feed_ingest_ipv4(feed, pairs + i, count));
    double taken = nanoseconds() - start;
    check(srlg_feed_free(feed));
    check(srlg_detector_free(detector));
    return taken / PAIRS;
}

int main(void) {
    for (uint32_t i = 0; i < PAIRS; i++)
        pairs[i] = (srlg_pair4){i * 2654435761u >> 12, i};
    srlg_detector detector = new_detector();
    double start = nanoseconds();
    check(srlg_detector_ingest_ipv4(detector, pairs, PAIRS));
    double one_call = (nanoseconds() - start) / PAIRS;
    start = nanoseconds();
    for (uint32_t i = 0; i < PAIRS; i++)
        check(srlg_detector_ingest_ipv4(detector, pairs, 0));
    double empty = (nanoseconds() - start) / PAIRS;
    check(srlg_detector_free(detector));
    double of_64 = feed_in_calls_of(SHORT_CALL);
    printf("%f %f %f %f\n", one_call, of_64, feed_in_calls_of(1), empty);
    return 0;
}
