/* Prints the size of every struct, the offset of every member and the value of every constant, as the C compiler sees
 * them. */
#include "check.h"

#define STRUCT(type) printf("%s %zu\n", #type, sizeof(type))
#define MEMBER(type, member) printf("  %s %zu + %zu\n", #member, offsetof(type, member), sizeof(((type *)0)->member))
#define VALUE(name) printf("%s %d\n", #name, (int)(name))

int main(void) {
    STRUCT(srlg_config);
    MEMBER(srlg_config, size);
    MEMBER(srlg_config, memory);
    MEMBER(srlg_config, pairs);
    MEMBER(srlg_config, seed);
    MEMBER(srlg_config, threshold);
    MEMBER(srlg_config, window);
    MEMBER(srlg_config, hash);
    MEMBER(srlg_config, device);
    MEMBER(srlg_config, cuda_device);
    MEMBER(srlg_config, close_threads);
    STRUCT(srlg_detector);
    STRUCT(srlg_feed);
    STRUCT(srlg_report);
    STRUCT(srlg_bytes);
    STRUCT(srlg_slicer);
    STRUCT(srlg_slicer_options);
    MEMBER(srlg_slicer_options, size);
    MEMBER(srlg_slicer_options, slice_ns);
    MEMBER(srlg_slicer_options, grace_ns);
    MEMBER(srlg_slicer_options, skew_ns);
    STRUCT(srlg_checkpoints);
    STRUCT(srlg_host);
    STRUCT(srlg_pair4);
    MEMBER(srlg_pair4, inside);
    MEMBER(srlg_pair4, peer);
    STRUCT(srlg_pair6);
    MEMBER(srlg_pair6, inside);
    MEMBER(srlg_pair6, peer);
    STRUCT(srlg_estimate);
    MEMBER(srlg_estimate, size);
    MEMBER(srlg_estimate, cardinality);
    MEMBER(srlg_estimate, std_error);
    MEMBER(srlg_estimate, lower);
    MEMBER(srlg_estimate, upper);
    MEMBER(srlg_estimate, range);
    STRUCT(srlg_super_point);
    MEMBER(srlg_super_point, size);
    MEMBER(srlg_super_point, host);
    MEMBER(srlg_super_point, cardinality);
    MEMBER(srlg_super_point, std_error);
    MEMBER(srlg_super_point, lower);
    MEMBER(srlg_super_point, upper);
    MEMBER(srlg_super_point, range);
    STRUCT(srlg_peer);
    MEMBER(srlg_peer, host);
    MEMBER(srlg_peer, last_seen);
    STRUCT(srlg_peers);
    MEMBER(srlg_peers, size);
    MEMBER(srlg_peers, count);
    MEMBER(srlg_peers, peers);
    STRUCT(srlg_summary);
    MEMBER(srlg_summary, size);
    MEMBER(srlg_summary, slice);
    MEMBER(srlg_summary, super_points);
    MEMBER(srlg_summary, candidates);
    MEMBER(srlg_summary, nanoseconds);
    STRUCT(srlg_health);
    MEMBER(srlg_health, size);
    MEMBER(srlg_health, load);
    MEMBER(srlg_health, cells_in_use);
    MEMBER(srlg_health, cells_in_use_v6);
    MEMBER(srlg_health, miss_probability);
    MEMBER(srlg_health, miss_probability_v6);
    MEMBER(srlg_health, burst_miss_probability);
    MEMBER(srlg_health, burst_miss_probability_v6);
    MEMBER(srlg_health, found_from);
    MEMBER(srlg_health, found_from_v6);
    MEMBER(srlg_health, std_error);
    MEMBER(srlg_health, errors_hold);
    MEMBER(srlg_health, overload);
    MEMBER(srlg_health, least_cells);
    MEMBER(srlg_health, share);
    STRUCT(srlg_window);
    MEMBER(srlg_window, slices);
    MEMBER(srlg_window, threshold);
    STRUCT(srlg_state_header);
    MEMBER(srlg_state_header, size);
    MEMBER(srlg_state_header, slice);
    MEMBER(srlg_state_header, body_bytes);
    MEMBER(srlg_state_header, slices);
    MEMBER(srlg_state_header, kind);
    VALUE(SRLG_ABI_VERSION);
    VALUE(SRLG_HOST_TEXT);
    VALUE(SRLG_PEERS);
    return 0;
}
