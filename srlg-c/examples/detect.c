/* Finds a host that scans. To run it: cc detect.c $(pkg-config --cflags --libs srlg) && ./a.out */
#include <srlg.h>
#include <stdio.h>
#include <stdlib.h>

static void check(srlg_status status) {
    if (status != SRLG_STATUS_OK) {
        fprintf(stderr, "detect: %s\n", srlg_last_error());
        exit(1);
    }
}

int main(void) {
    srlg_config config = {.size = sizeof config, .threshold = 1024, .window = 300};
    srlg_detector detector;
    check(srlg_detector_new(&config, &detector));

    static srlg_pair4 pairs[5000];
    for (uint32_t i = 0; i < 5000; i++)
        pairs[i] = (srlg_pair4){.inside = 0x0a000001, .peer = 0xc6120000 + i}; /* 10.0.0.1 and 198.18.0.0 onwards */
    check(srlg_detector_ingest_ipv4(detector, pairs, 5000)); /* from any thread */

    srlg_report report;
    check(srlg_detector_close_slice(detector, &report)); /* once per slice; this moves the window */
    srlg_summary summary = {.size = sizeof summary};
    check(srlg_report_summary(report, &summary));
    for (uint64_t i = 0; i < summary.super_points; i++) {
        srlg_super_point point = {.size = sizeof point};
        check(srlg_report_super_point(report, i, &point));
        char host[SRLG_HOST_TEXT];
        check(srlg_host_format(&point.host, host, sizeof host));
        printf("%s %.0f, at least %.0f\n", host, point.cardinality, point.lower);
    }

    check(srlg_report_free(report));
    check(srlg_detector_free(detector));
    return 0;
}
