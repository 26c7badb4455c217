/* Prints the reports on the traffic that tests/c.rs also uses. Doubles are printed as bits. */
#include "check.h"

enum { SLICES = 4, NOISE = 20000, PEERS_OF_HOST = 300 };

static void print_bits(double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    printf(" %016" PRIx64, bits);
}

static void print_peers(const srlg_peers *peers) {
    for (uint64_t i = 0; i < peers->count; i++) {
        char host[SRLG_HOST_TEXT];
        OK(srlg_host_format(&peers->peers[i].host, host, sizeof host));
        printf(" %s@%" PRIu64, host, peers->peers[i].last_seen);
    }
    printf("\n");
}

static void print_health(const srlg_health *health) {
    const double numbers[] = {
        health->load, health->cells_in_use, health->cells_in_use_v6, health->miss_probability,
        health->miss_probability_v6, health->burst_miss_probability, health->burst_miss_probability_v6,
        health->found_from, health->found_from_v6, health->std_error,
    };
    printf("health %u %u %u", health->errors_hold, health->overload, health->least_cells);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        print_bits(numbers[i]);
    printf("\n");
}

static void print_report(srlg_report report) {
    srlg_summary summary = {.size = sizeof summary};
    OK(srlg_report_summary(report, &summary));
    printf("slice %" PRIu64 ": %" PRIu64 " of %" PRIu64 "\n", summary.slice, summary.super_points, summary.candidates);
    for (uint64_t i = 0; i < summary.super_points; i++) {
        srlg_super_point point = {.size = sizeof point};
        OK(srlg_report_super_point(report, i, &point));
        char host[SRLG_HOST_TEXT];
        OK(srlg_host_format(&point.host, host, sizeof host));
        printf("%s %u", host, point.range);
        print_bits(point.cardinality);
        print_bits(point.std_error);
        print_bits(point.lower);
        print_bits(point.upper);
        srlg_peers peers = {.size = sizeof peers};
        OK(srlg_report_peers(report, i, &peers));
        print_peers(&peers);
    }
    srlg_health health = {.size = sizeof health};
    OK(srlg_report_health(report, &health));
    print_health(&health);
}

/* Prints the length of bytes and their 64-bit FNV-1a hash. */
static void print_bytes(const char *name, srlg_bytes bytes) {
    size_t len;
    EXPECT(BUFFER, srlg_bytes_copy(bytes, NULL, 0, &len));
    uint8_t *data = malloc(len);
    OK(srlg_bytes_copy(bytes, data, len, &len));
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ data[i]) * 0x100000001b3;
    printf("%s %zu %016" PRIx64 "\n", name, len, hash);
    free(data);
    OK(srlg_bytes_free(bytes));
}

static uint32_t mixed(uint32_t number) {
    number = (number ^ number >> 16) * 0x85ebca6b;
    return (number ^ number >> 13) * 0xc2b2ae35;
}

int main(void) {
    static srlg_pair4 pairs[NOISE + PEERS_OF_HOST];
    static srlg_pair6 pairs6[PEERS_OF_HOST];
    srlg_detector detector = new_detector();
    for (uint32_t slice = 0; slice < SLICES; slice++) {
        for (uint32_t i = 0; i < NOISE; i++)
            pairs[i] = (srlg_pair4){mixed(i + slice * NOISE) >> 8, mixed(~i)};
        for (uint32_t i = 0; i < PEERS_OF_HOST; i++) {
            pairs[NOISE + i] = (srlg_pair4){0x0a000001 + slice, 0xc6120000 + i};
            const srlg_host peer = {{0x20, 1, 0x0d, 0xb8, [14] = i >> 8, i & 0xff}};
            pairs6[i] = (srlg_pair6){{{0x20, 1, 0x0d, 0xb8, [15] = 1}}, peer};
        }
        OK(srlg_detector_ingest_ipv4(detector, pairs, NOISE + PEERS_OF_HOST));
        OK(srlg_detector_ingest_ipv6(detector, pairs6, PEERS_OF_HOST));
        srlg_host host;
        OK(srlg_host_from_ipv4(0x0a000001, &host));
        srlg_estimate estimate = {.size = sizeof estimate};
        OK(srlg_detector_cardinality_within(detector, &host, 2, &estimate));
        printf("within %u", estimate.range);
        print_bits(estimate.cardinality);
        OK(srlg_detector_cardinality(detector, &host, &estimate));
        print_bits(estimate.std_error);
        print_bits(estimate.lower);
        print_bits(estimate.upper);
        srlg_peers peers = {.size = sizeof peers};
        OK(srlg_detector_sample_peers(detector, &host, &peers));
        print_peers(&peers);
        srlg_bytes bytes;
        OK(srlg_detector_delta(detector, 1, &bytes));
        print_bytes("delta", bytes);
        srlg_report report;
        OK(srlg_detector_close_slice(detector, &report));
        print_report(report);
        OK(srlg_report_free(report));
        OK(srlg_detector_snapshot(detector, &bytes));
        print_bytes("snapshot", bytes);
    }
    OK(srlg_detector_free(detector));
    return 0;
}
