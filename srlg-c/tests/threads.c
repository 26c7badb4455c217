/* Tests of threads with feeds, of threads that share a detector, and of threads that free the same handle at once. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <pthread.h>

enum { THREADS = 3, PEERS_OF_THREAD = 400, ROUNDS = 200 };

static void run(void *(*body)(void *), void *argument) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, body, argument) == 0);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* Returns the cardinality of 10.0.0.1 in the report of the running slice, or 0. */
static double close_slice(srlg_detector detector) {
    srlg_report report;
    OK(srlg_detector_close_slice(detector, &report));
    srlg_super_point point = {.size = sizeof point};
    srlg_status status = srlg_report_super_point(report, 0, &point);
    OK(srlg_report_free(report));
    return status == SRLG_STATUS_OK ? point.cardinality : 0;
}

struct receiver {
    srlg_detector detector;
    srlg_feed feeds[THREADS];
    uint32_t count;
    pthread_mutex_t lock;
};

static uint32_t number(struct receiver *receiver) {
    pthread_mutex_lock(&receiver->lock);
    uint32_t number = receiver->count++;
    pthread_mutex_unlock(&receiver->lock);
    return number;
}

/* Feeds the peers of a thread as single pairs, some of them IPv6, with and without waiting. */
static void *feed(void *argument) {
    struct receiver *receiver = argument;
    uint32_t first = number(receiver);
    srlg_feed feed = receiver->feeds[first];
    for (uint32_t i = 0; i < PEERS_OF_THREAD; i++) {
        const srlg_pair4 pair = {0x0a000001, first * PEERS_OF_THREAD + i};
        const srlg_pair6 pair6 = {{{0x20, [15] = 1}}, {{0x20, [14] = i >> 8, i & 0xff}}};
        OK(srlg_feed_ingest_ipv6(feed, &pair6, 1));
        if (i % 2 == 0) {
            OK(srlg_feed_ingest_ipv4(feed, &pair, 1));
            continue;
        }
        size_t taken = 0;
        while (taken == 0)
            OK(srlg_feed_try_ingest_ipv4(feed, &pair, 1, &taken));
    }
    OK(srlg_feed_free(feed));
    return NULL;
}

static void open_feeds(struct receiver *receiver) {
    for (int i = 0; i < THREADS; i++)
        OK(srlg_feed_new(receiver->detector, 64, &receiver->feeds[i]));
}

/* Feeds must give the same bits as ingesting from one thread. */
static void feeds_ingest(void) {
    struct receiver receiver = {.detector = new_detector(), .lock = PTHREAD_MUTEX_INITIALIZER};
    open_feeds(&receiver);
    run(feed, &receiver);
    srlg_detector alone = new_detector();
    static srlg_pair4 pairs[THREADS * PEERS_OF_THREAD];
    static srlg_pair6 pairs6[PEERS_OF_THREAD];
    for (uint32_t i = 0; i < THREADS * PEERS_OF_THREAD; i++)
        pairs[i] = (srlg_pair4){0x0a000001, i};
    for (uint32_t i = 0; i < PEERS_OF_THREAD; i++) {
        pairs6[i] = (srlg_pair6){{{0x20, [15] = 1}}, {{0x20, [14] = i >> 8, i & 0xff}}};
    }
    OK(srlg_detector_ingest_ipv4(alone, pairs, THREADS * PEERS_OF_THREAD));
    OK(srlg_detector_ingest_ipv6(alone, pairs6, PEERS_OF_THREAD));
    double cardinality = close_slice(receiver.detector);
    CHECK(cardinality > 1000 && cardinality == close_slice(alone));
    OK(srlg_detector_free(receiver.detector));
    OK(srlg_detector_free(alone));
}

static void *close_slices(void *argument) {
    for (int i = 0; i < 3; i++)
        close_slice(*(srlg_detector *)argument);
    return NULL;
}

/* No pair may be lost while another thread closes slices. All pairs are in the window of 5 slices. */
static void feeds_ingest_while_slices_close(void) {
    struct receiver receiver = {.detector = new_detector(), .lock = PTHREAD_MUTEX_INITIALIZER};
    open_feeds(&receiver);
    pthread_t closer;
    CHECK(pthread_create(&closer, NULL, close_slices, &receiver.detector) == 0);
    run(feed, &receiver);
    CHECK(pthread_join(closer, NULL) == 0);
    double cardinality = close_slice(receiver.detector);
    CHECK(cardinality > 1000 && cardinality < 1400);
    OK(srlg_detector_free(receiver.detector));
}

struct shared {
    srlg_detector detector;
    srlg_report report;
    pthread_barrier_t barrier;
    int freed;
    pthread_mutex_t lock;
};

/* Frees both handles while other threads also free them. */
static void *free_both(void *argument) {
    struct shared *shared = argument;
    pthread_barrier_wait(&shared->barrier);
    srlg_status statuses[] = {srlg_report_free(shared->report), srlg_detector_free(shared->detector)};
    for (int i = 0; i < 2; i++) {
        CHECK(statuses[i] == SRLG_STATUS_OK || statuses[i] == SRLG_STATUS_HANDLE);
        pthread_mutex_lock(&shared->lock);
        shared->freed += statuses[i] == SRLG_STATUS_OK;
        pthread_mutex_unlock(&shared->lock);
    }
    return NULL;
}

static void one_of_several_frees(void) {
    for (int i = 0; i < ROUNDS; i++) {
        struct shared shared = {.detector = new_detector(), .lock = PTHREAD_MUTEX_INITIALIZER};
        OK(srlg_detector_close_slice(shared.detector, &shared.report));
        pthread_barrier_init(&shared.barrier, NULL, THREADS);
        run(free_both, &shared);
        CHECK(shared.freed == 2);
        pthread_barrier_destroy(&shared.barrier);
    }
}

/* Ingests until the detector is freed. */
static void *ingest(void *argument) {
    const srlg_pair4 pair = {1, 2};
    srlg_status status;
    while ((status = srlg_detector_ingest_ipv4(*(srlg_detector *)argument, &pair, 1)) == SRLG_STATUS_OK)
        ;
    CHECK(status == SRLG_STATUS_HANDLE);
    return NULL;
}

static void a_detector_is_freed_while_threads_use_it(void) {
    srlg_detector detector = new_detector();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, ingest, &detector) == 0);
    close_slice(detector);
    OK(srlg_detector_free(detector));
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(void) {
    feeds_ingest();
    feeds_ingest_while_slices_close();
    one_of_several_frees();
    a_detector_is_freed_while_threads_use_it();
    return 0;
}
