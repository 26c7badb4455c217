/* Shared code of the test programs in C. */
#ifndef CHECK_H
#define CHECK_H

#include <srlg.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program unless `call` returns SRLG_STATUS_`expected`. */
#define EXPECT(expected, call) expect(SRLG_STATUS_##expected, (call), #call, __LINE__)
#define OK(call) EXPECT(OK, call)

/* Ends the program unless `truth` is not 0. */
#define CHECK(truth) \
    do { \
        if (!(truth)) { \
            fprintf(stderr, "line %d: not true: %s\n", __LINE__, #truth); \
            exit(1); \
        } \
    } while (0)

static inline void expect(srlg_status expected, srlg_status status, const char *call, int line) {
    if (status != expected) {
        fprintf(stderr, "line %d: %s is %d instead of %d (%s)\n", line, call, status, expected, srlg_last_error());
        exit(1);
    }
}

/* The sizes are small enough for valgrind. */
static inline srlg_detector new_detector(void) {
    srlg_config config = {.size = sizeof config, .threshold = 100, .window = 5, .memory = 2000000, .pairs = 100000};
    config.device = SRLG_DEVICE_CPU;
    srlg_detector detector;
    OK(srlg_detector_new(&config, &detector));
    return detector;
}

/* Copies bytes to memory of exactly their length, so that valgrind and ASan detect reads beyond the end. */
static inline uint8_t *take(srlg_bytes bytes, size_t *len) {
    EXPECT(BUFFER, srlg_bytes_copy(bytes, NULL, 0, len));
    uint8_t *data = malloc(*len);
    OK(srlg_bytes_copy(bytes, data, *len, len));
    OK(srlg_bytes_free(bytes));
    return data;
}

/* Returns the number of peers of an IPv4 host in the window that ends with the running slice. */
static inline double cardinality(srlg_detector detector, uint32_t address) {
    srlg_host host;
    OK(srlg_host_from_ipv4(address, &host));
    srlg_estimate estimate = {.size = sizeof estimate};
    OK(srlg_detector_cardinality(detector, &host, &estimate));
    return estimate.cardinality;
}

#endif
