/* srlg: hosts in contact with many distinct others, in a sliding window. docs/c.md explains the interface.
 *
 * Every call returns a status, except srlg_abi_version and srlg_last_error. Any thread may make any call.
 * A struct with a member `size` must have it set to the size of the struct, for both input and output.
 * Handles are numbers. A handle that was freed, or never was one, is a status and no crash. 0 is never a handle.
 *
 * cbindgen wrote this file from srlg-c/src. */

#ifndef SRLG_H
#define SRLG_H

#include <stddef.h>
#include <stdint.h>

// Version of this header. It grows by one with every function, member or status that is added.
#define SRLG_ABI_VERSION 1

// Bytes that the text of any address takes, with the 0 at its end.
#define SRLG_HOST_TEXT 46

// Most peers in a sample.
#define SRLG_PEERS 64

// Result of a call. `srlg_last_error` has the text. New statuses may be added at the end.
typedef enum {
  // The call did its work.
  SRLG_STATUS_OK = 0,
  // A pointer is null.
  SRLG_STATUS_NULL_POINTER = 1,
  // A number, length, index or alignment is out of range.
  SRLG_STATUS_ARGUMENT = 2,
  // The `size` of a struct is less than in the first version, or the struct has members that this library lacks.
  SRLG_STATUS_STRUCT_SIZE = 3,
  // The handle was freed, or never was a handle of this kind.
  SRLG_STATUS_HANDLE = 4,
  // The library has an error of its own, in this call or in an earlier one of the handle: free it.
  SRLG_STATUS_PANIC = 5,
  // The configuration breaks a rule.
  SRLG_STATUS_CONFIG = 6,
  // The system has no memory for recorders, or for the buffer of a feed.
  SRLG_STATUS_MEMORY = 7,
  // The device cannot be used, or has failed.
  SRLG_STATUS_DEVICE = 8,
  // The buffer is too short; the length that it needs was written.
  SRLG_STATUS_BUFFER = 9,
  // The bytes are not a snapshot or delta that this library reads.
  SRLG_STATUS_FORMAT = 10,
  // The snapshot or delta is of a detector of other sizes.
  SRLG_STATUS_OTHER_SIZES = 11,
  // The snapshot or delta is of a detector with another seed.
  SRLG_STATUS_OTHER_SEED = 12,
  // The snapshot or delta is of a later slice than the running one.
  SRLG_STATUS_FROM_FUTURE = 13,
  // The delta is of a slice that has left the window.
  SRLG_STATUS_OLDER_THAN_WINDOW = 14,
  // The slice is closed already, or is the last that has a number.
  SRLG_STATUS_SLICE = 15,
  // The detector of this feed was freed, or its close panicked; the pairs were not ingested.
  SRLG_STATUS_DETECTOR_FREED = 16,
  // Another error, named by its text.
  SRLG_STATUS_OTHER = 17,
} srlg_status;

// Family of hashes.
typedef enum {
  // Fast. Anyone who knows the seed can choose traffic that misleads the detector.
  SRLG_HASH_MURMUR = 0,
  // Slower, for hostile traffic. It needs a secret seed, see srlg_random_seed.
  SRLG_HASH_HALF_SIP13 = 1,
} srlg_hash;

// Device that a detector runs on. Reports are the same on all.
typedef enum {
  // The first NVIDIA GPU, or the CPU where no GPU can be used.
  SRLG_DEVICE_AUTO = 0,
  // This process.
  SRLG_DEVICE_CPU = 1,
  // The NVIDIA GPU whose number is `cuda_device`.
  SRLG_DEVICE_CUDA = 2,
} srlg_device;

// Meaning of a cardinality.
typedef enum {
  // An estimate with a standard error.
  SRLG_RANGE_WITHIN = 0,
  // An estimate that is 0, because other hosts explain more than was seen.
  SRLG_RANGE_CLAMPED_TO_ZERO = 1,
  // A lower bound: the estimator is full.
  SRLG_RANGE_BEYOND = 2,
  // A range that has no name in this version.
  SRLG_RANGE_OTHER = 255,
} srlg_range;

// Failure of the finder of a detector to find all super points, because there were too many pairs.
typedef enum {
  // Nothing.
  SRLG_OVERLOAD_NONE = 0,
  // More pairs than the cells can hold: small super points may be missing.
  SRLG_OVERLOAD_CROWDED = 1,
  // More candidates than the limit: small super points may be missing.
  SRLG_OVERLOAD_RAISED = 2,
  // Too many pairs to find any super point.
  SRLG_OVERLOAD_SATURATED = 3,
  // An overload that has no name in this version.
  SRLG_OVERLOAD_OTHER = 255,
} srlg_overload;

// An address of a host: 16 bytes in network order, as of inet_pton and AF_INET6. 10.0.0.1 is ::ffff:10.0.0.1.
typedef struct {
  // Bytes of the address.
  uint8_t bytes[16];
} srlg_host;

// Sizes of a detector. A member that is 0 has its default.
typedef struct {
  // Size of this struct.
  size_t size;
  // Most bytes that the sizes planned for `pairs` may take; 31.6 MB if `pairs` is 0, too.
  uint64_t memory;
  // Distinct pairs per window to plan for. Give both this and `memory`, or neither.
  uint64_t pairs;
  // Seed of every hash. Detectors whose states are merged need the same one.
  uint64_t seed;
  // Least number of peers of a reported host; 1024 by default.
  uint32_t threshold;
  // Length of the window, in slices; 300 by default.
  uint32_t window;
  // An srlg_hash.
  uint32_t hash;
  // An srlg_device.
  uint32_t device;
  // Number of the GPU, from 0, if `device` is SRLG_DEVICE_CUDA.
  uint32_t cuda_device;
  // Most threads that close a slice; 1 by default.
  uint32_t close_threads;
} srlg_config;

// Handle of a detector, the sliding window over all pairs.
typedef struct {
  // Number of the handle; 0 is never a handle.
  uint64_t id;
} srlg_detector;

// Handle of the report of a closed slice.
typedef struct {
  // Number of the handle; 0 is never a handle.
  uint64_t id;
} srlg_report;

// Estimated number of distinct peers of a host.
typedef struct {
  // Size of this struct.
  size_t size;
  // Distinct peers.
  double cardinality;
  // Standard error of `cardinality`.
  double std_error;
  // Lower end of the 95 % interval.
  double lower;
  // Upper end of the 95 % interval; infinite if `range` is SRLG_RANGE_BEYOND.
  double upper;
  // An srlg_range.
  uint32_t range;
  // Always 0.
  uint32_t reserved;
} srlg_estimate;

// A sampled peer of a host.
typedef struct {
  // The peer.
  srlg_host host;
  // Slice of the last contact.
  uint64_t last_seen;
} srlg_peer;

// A sample of the peers of an IPv4 host, the most recent contacts first. IPv6 hosts have none.
typedef struct {
  // Size of this struct.
  size_t size;
  // Number of peers in `peers`.
  uint64_t count;
  // The peers.
  srlg_peer peers[SRLG_PEERS];
} srlg_peers;

// How well a detector fared in a slice.
typedef struct {
  // Size of this struct.
  size_t size;
  // Distinct pairs of the window per recorder of the counter. Errors grow with it.
  double load;
  // Share of the cells that were touched in the window.
  double cells_in_use;
  // Share of the cells that IPv6 hosts hold.
  double cells_in_use_v6;
  // Probability that an IPv4 host with exactly the threshold of peers, in contact evenly, is missed.
  double miss_probability;
  // The same probability for an IPv6 host.
  double miss_probability_v6;
  // The same probability for an IPv4 host whose contacts were all in the oldest epoch of the window.
  double burst_miss_probability;
  // The same probability for an IPv6 host whose contacts were all in the oldest epoch of the window.
  double burst_miss_probability_v6;
  // Number of peers from which 99 % of IPv4 hosts are found; infinite if none are found so often.
  double found_from;
  // Number of peers from which 99 % of IPv6 hosts are found; infinite if none are found so often.
  double found_from_v6;
  // 1 if intervals of 95 % hold the truth in 88 to 97 % of cases, otherwise 0.
  uint32_t errors_hold;
  // An srlg_overload.
  uint32_t overload;
  // Least number of cells of a candidate.
  uint32_t least_cells;
  // Always 0.
  uint32_t reserved;
} srlg_health;

// Handle of the bytes of a snapshot or delta.
typedef struct {
  // Number of the handle; 0 is never a handle.
  uint64_t id;
} srlg_bytes;

// Handle of a feed, by which a receiving thread ingests while another thread closes slices.
typedef struct {
  // Number of the handle; 0 is never a handle.
  uint64_t id;
} srlg_feed;

// Summary of a report.
typedef struct {
  // Size of this struct.
  size_t size;
  // Number of the slice that closed; the window ends with it.
  uint64_t slice;
  // Number of super points.
  uint64_t super_points;
  // Number of hosts whose peers were estimated.
  uint64_t candidates;
  // Duration of the close, in nanoseconds.
  uint64_t nanoseconds;
} srlg_summary;

// A host with at least the threshold of distinct peers in the window.
typedef struct {
  // Size of this struct.
  size_t size;
  // The inside host.
  srlg_host host;
  // Distinct peers.
  double cardinality;
  // Standard error of `cardinality`.
  double std_error;
  // Lower end of the 95 % interval.
  double lower;
  // Upper end of the 95 % interval; infinite if `range` is SRLG_RANGE_BEYOND.
  double upper;
  // An srlg_range.
  uint32_t range;
  // Always 0.
  uint32_t reserved;
} srlg_super_point;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the SRLG_ABI_VERSION of the library.
uint32_t srlg_abi_version(void);

// Returns the text of the last call of this thread that failed. It is never null, and valid until the next call of
// this thread that fails, or the end of the thread.
const char *srlg_last_error(void);

// Writes a random seed for a detector that hostile traffic reaches.
srlg_status srlg_random_seed(uint64_t *seed);

// Writes the host with an IPv4 address in host order: 10.0.0.1 is 0x0a000001.
srlg_status srlg_host_from_ipv4(uint32_t address, srlg_host *host);

// Writes the address of a host as text. SRLG_HOST_TEXT bytes are always enough.
srlg_status srlg_host_format(const srlg_host *host, char *text, size_t capacity);

// Opens a detector with the sizes of `config`. Slice 0 is running.
srlg_status srlg_detector_new(const srlg_config *config, srlg_detector *detector);

// Frees a detector, once no call uses it. Its feeds stay open, and their calls return SRLG_STATUS_DETECTOR_FREED.
srlg_status srlg_detector_free(srlg_detector detector);

// Records that each of `count` pairs of an inside host and its peer was in contact in the running slice. Addresses are
// in host order: 10.0.0.1 is 0x0a000001. Any number of threads may ingest at once; all wait while a slice is closed.
srlg_status srlg_detector_ingest_ipv4(srlg_detector detector,
                                      const uint32_t (*pairs)[2],
                                      size_t count);

// Records the same of pairs of IPv6 addresses, 16 bytes of the inside host and 16 of its peer in network order.
// An IPv4-mapped address is the IPv4 host.
srlg_status srlg_detector_ingest_ipv6(srlg_detector detector,
                                      const uint8_t (*pairs)[32],
                                      size_t count);

// Closes the running slice: writes the report of the window that ends with it, and moves the window by one slice.
srlg_status srlg_detector_close_slice(srlg_detector detector,
                                      srlg_report *report);

// Writes the number of the running slice.
srlg_status srlg_detector_slice(srlg_detector detector, uint64_t *slice);

// Moves the window until `slice` is running, without a report, however far.
srlg_status srlg_detector_skip_to(srlg_detector detector, uint64_t slice);

// Writes the estimated number of distinct peers of a host in the window that ends with the running slice.
srlg_status srlg_detector_cardinality(srlg_detector detector, const srlg_host *host, srlg_estimate *estimate);

// Writes the same estimate of the last `window` slices, the running one included. After a close the running slice is
// empty: ask before the close for the window of the report.
srlg_status srlg_detector_cardinality_within(srlg_detector detector,
                                             const srlg_host *host,
                                             uint32_t window,
                                             srlg_estimate *estimate);

// Writes a sample of the peers of a host, reported or not, in the window that ends with the running slice.
srlg_status srlg_detector_sample_peers(srlg_detector detector, const srlg_host *host, srlg_peers *peers);

// Writes how well the detector fared in the last slice that closed.
srlg_status srlg_detector_health(srlg_detector detector, srlg_health *health);

// Opens the bytes of all that the detector has seen. They hold a fingerprint of the seed, and never the seed.
srlg_status srlg_detector_snapshot(srlg_detector detector, srlg_bytes *bytes);

// Replaces all that the detector has seen, its slice included, by the `len` bytes of a snapshot.
srlg_status srlg_detector_restore(srlg_detector detector, const uint8_t *snapshot, size_t len);

// Merges what another detector has seen, the `len` bytes of its snapshot. Late, repeated and in any order is the same.
srlg_status srlg_detector_merge_snapshot(srlg_detector detector,
                                         const uint8_t *snapshot,
                                         size_t len);

// Opens the bytes of what the last `slices` touched, the running one included: a small part of a snapshot.
srlg_status srlg_detector_delta(srlg_detector detector, uint32_t slices, srlg_bytes *bytes);

// Merges what the last slices of another detector touched, the `len` bytes of its delta.
srlg_status srlg_detector_merge_delta(srlg_detector detector, const uint8_t *delta, size_t len);

// Opens a feed for one receiving thread. While another thread closes a slice, the feed buffers up to `capacity` pairs
// of each address family for the next slice.
srlg_status srlg_feed_new(srlg_detector detector,
                          size_t capacity,
                          srlg_feed *feed);

// Frees a feed, once no call uses it. No pair is lost.
srlg_status srlg_feed_free(srlg_feed feed);

// Records `count` pairs as srlg_detector_ingest_ipv4 does. The call waits if the buffer is full during a close.
srlg_status srlg_feed_ingest_ipv4(srlg_feed feed,
                                  const uint32_t (*pairs)[2],
                                  size_t count);

// Records `count` pairs as srlg_detector_ingest_ipv6 does. The call waits if the buffer is full during a close.
srlg_status srlg_feed_ingest_ipv6(srlg_feed feed,
                                  const uint8_t (*pairs)[32],
                                  size_t count);

// Records as many of `count` pairs as it can without waiting, and writes how many: all of them, unless the buffer is full
// during a close, or another thread empties it at that moment. The rest can be given again, or be counted as lost.
srlg_status srlg_feed_try_ingest_ipv4(srlg_feed feed,
                                      const uint32_t (*pairs)[2],
                                      size_t count,
                                      size_t *taken);

// Does the same for pairs of IPv6 addresses.
srlg_status srlg_feed_try_ingest_ipv6(srlg_feed feed,
                                      const uint8_t (*pairs)[32],
                                      size_t count,
                                      size_t *taken);

// Writes the summary of a report: its slice, and the number of its super points.
srlg_status srlg_report_summary(srlg_report report, srlg_summary *summary);

// Writes super point number `index`, from 0: the largest cardinality first.
srlg_status srlg_report_super_point(srlg_report report, uint64_t index, srlg_super_point *super_point);

// Writes the sample of the peers of super point number `index`.
srlg_status srlg_report_peers(srlg_report report, uint64_t index, srlg_peers *peers);

// Writes how well the detector fared in the slice of a report.
srlg_status srlg_report_health(srlg_report report, srlg_health *health);

// Frees a report, once no call uses it.
srlg_status srlg_report_free(srlg_report report);

// Writes the number of bytes to `len`, and the bytes to `data`. If `capacity` is less, only `len` is written, and the
// status is SRLG_STATUS_BUFFER. `data` may be null if `capacity` is 0.
srlg_status srlg_bytes_copy(srlg_bytes bytes,
                            uint8_t *data,
                            size_t capacity,
                            size_t *len);

// Frees bytes, once no call uses them.
srlg_status srlg_bytes_free(srlg_bytes bytes);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SRLG_H */
