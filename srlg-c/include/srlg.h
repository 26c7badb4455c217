/* srlg: hosts in contact with many distinct peers, in a sliding window. docs/c.md explains the interface.
 *
 * Every call returns a status, except srlg_abi_version and srlg_last_error. Any thread may make any call.
 * If a struct has a member `size`, set it to the size of the struct before input and before output.
 * Handles are numbers. A call with a freed or invalid handle returns a status and never crashes. 0 is never a handle.
 *
 * cbindgen wrote this file from srlg-c/src. */

#ifndef SRLG_H
#define SRLG_H

#include <stddef.h>
#include <stdint.h>

// Version of this header. It increases by one with every added function, member or status.
#define SRLG_ABI_VERSION 1

// Buffer size, in bytes, that is sufficient for the text of any address, including the terminating 0 byte.
#define SRLG_HOST_TEXT 46

// Maximum number of peers in a sample.
#define SRLG_PEERS 64

// Result of a call. `srlg_last_error` returns the text of an error. Later versions may add statuses with higher
// numbers.
typedef enum {
  // The call succeeded.
  SRLG_STATUS_OK = 0,
  // A pointer is null.
  SRLG_STATUS_NULL_POINTER = 1,
  // A number, length or index is out of range, or a pointer is misaligned.
  SRLG_STATUS_ARGUMENT = 2,
  // The `size` of a struct is too small or too large, or a nonzero member is unknown to this library.
  SRLG_STATUS_STRUCT_SIZE = 3,
  // The handle was freed, or was never a handle of this kind.
  SRLG_STATUS_HANDLE = 4,
  // The library panicked in this call, or in an earlier call with the same handle. This is a bug. Free the handle.
  SRLG_STATUS_PANIC = 5,
  // The configuration is invalid.
  SRLG_STATUS_CONFIG = 6,
  // The system or the GPU does not have enough memory, or too many handles of this kind are open.
  SRLG_STATUS_MEMORY = 7,
  // The device cannot be used, or has failed.
  SRLG_STATUS_DEVICE = 8,
  // The buffer is too short. If the call has a `len` argument, the required length was written to it.
  SRLG_STATUS_BUFFER = 9,
  // The bytes are not a snapshot, a delta or a list of pairs that this library can read.
  SRLG_STATUS_FORMAT = 10,
  // The snapshot or delta is from a detector that has different sizes, a different window or a different hash.
  // The thresholds of both detectors must lie between the same powers of two, such as 1024 to 2047.
  SRLG_STATUS_OTHER_SIZES = 11,
  // The snapshot or delta is from a detector with a different seed.
  SRLG_STATUS_OTHER_SEED = 12,
  // The slice is later than the running slice, or the timestamp is too far in the future.
  SRLG_STATUS_FUTURE = 13,
  // The slice has left the window.
  SRLG_STATUS_TOO_LATE = 14,
  // The slice is already closed, or it has the highest possible number.
  SRLG_STATUS_SLICE = 15,
  // The detector of this feed was freed, or closing a slice panicked. The pairs were not ingested.
  SRLG_STATUS_DETECTOR_FREED = 16,
  // An error that has no status of its own. The error text describes it.
  SRLG_STATUS_OTHER = 17,
  // The pairs were ingested, but they are missing from a report that was created before.
  SRLG_STATUS_LATE = 18,
  // This or another process already uses the folder of checkpoints.
  SRLG_STATUS_IN_USE = 19,
} srlg_status;

// Family of hash functions.
typedef enum {
  // Murmur hash, which is fast. Anyone who knows the seed can choose traffic that misleads the detector.
  SRLG_HASH_MURMUR = 0,
  // HalfSipHash, which is slower but safe for hostile traffic. It needs a secret seed; see srlg_random_seed.
  SRLG_HASH_HALF_SIP13 = 1,
} srlg_hash;

// Device on which a detector runs. Reports are the same on all devices.
typedef enum {
  // The first NVIDIA GPU, or the CPU if that GPU is not usable.
  SRLG_DEVICE_AUTO = 0,
  // The CPU.
  SRLG_DEVICE_CPU = 1,
  // The NVIDIA GPU with the number `cuda_device`.
  SRLG_DEVICE_CUDA = 2,
} srlg_device;

// Meaning of a cardinality.
typedef enum {
  // An estimate with a standard error.
  SRLG_RANGE_WITHIN = 0,
  // An estimate of 0, because the expected touches of other hosts exceed the observed touches.
  SRLG_RANGE_CLAMPED_TO_ZERO = 1,
  // A lower bound, because the estimator is full.
  SRLG_RANGE_BEYOND = 2,
  // A range for which this version has no name.
  SRLG_RANGE_OTHER = 255,
} srlg_range;

// Overload of a detector. If a detector is overloaded, super points may be missing.
typedef enum {
  // The detector is not overloaded.
  SRLG_OVERLOAD_NONE = 0,
  // There are too many pairs for the memory. Small super points may be missing.
  SRLG_OVERLOAD_CROWDED = 1,
  // The number of candidates exceeds the limit. Small super points may be missing.
  SRLG_OVERLOAD_RAISED = 2,
  // There are too many pairs to find any super point.
  SRLG_OVERLOAD_SATURATED = 3,
  // An overload for which this version has no name.
  SRLG_OVERLOAD_OTHER = 255,
} srlg_overload;

// Kind of a state.
typedef enum {
  // A snapshot.
  SRLG_STATE_KIND_SNAPSHOT = 1,
  // A delta.
  SRLG_STATE_KIND_DELTA = 2,
  // A list of pairs.
  SRLG_STATE_KIND_PAIRS = 3,
  // A kind for which this version has no name.
  SRLG_STATE_KIND_OTHER = 255,
} srlg_state_kind;

// Handle to a folder of checkpoints, which survive a crash of the process or the machine.
typedef struct {
  // Number of the handle. It is never 0.
  uint64_t id;
} srlg_checkpoints;

// Handle to a detector, which finds super points in a sliding window.
typedef struct {
  // Number of the handle. It is never 0.
  uint64_t id;
} srlg_detector;

// Configuration of a detector. If a member other than `size` is 0, its default applies.
typedef struct {
  // Size of this struct, in bytes.
  size_t size;
  // Memory limit for which the sizes of the detector are planned, in bytes. If `memory` and `pairs` are both 0, the
  // detector uses 31.6 MB.
  uint64_t memory;
  // Number of distinct pairs per window for which the sizes of the detector are planned. Set both `memory` and
  // `pairs`, or neither.
  uint64_t pairs;
  // Seed of every hash. Detectors whose states are merged need the same seed.
  uint64_t seed;
  // Minimum number of peers of a reported host. The default is 1024.
  uint32_t threshold;
  // Length of the window, in slices. The default is 300.
  uint32_t window;
  // Family of hash functions (a value of srlg_hash).
  uint32_t hash;
  // Device (a value of srlg_device).
  uint32_t device;
  // Number of the GPU, starting at 0, if `device` is SRLG_DEVICE_CUDA.
  uint32_t cuda_device;
  // Maximum number of threads that close a slice. The default is 1.
  uint32_t close_threads;
} srlg_config;

// A pair of IPv4 addresses in host byte order: 10.0.0.1 is 0x0a000001.
typedef struct {
  // The inside host.
  uint32_t inside;
  // Its peer.
  uint32_t peer;
} srlg_pair4;

// Address of a host: 16 bytes in network byte order, as inet_pton writes it for AF_INET6. The address 10.0.0.1 is
// stored as ::ffff:10.0.0.1.
typedef struct {
  // Bytes of the address.
  uint8_t bytes[16];
} srlg_host;

// A pair of IPv6 addresses. An IPv4-mapped address is the same host as the IPv4 address.
typedef struct {
  // The inside host.
  srlg_host inside;
  // Its peer.
  srlg_host peer;
} srlg_pair6;

// Handle to a report on a closed slice.
typedef struct {
  // Number of the handle. It is never 0.
  uint64_t id;
} srlg_report;

// A window that ends with a closing slice.
typedef struct {
  // Length of the window, in slices, at most the window of the detector.
  uint32_t slices;
  // Minimum number of peers of a reported host. A number below the threshold of the detector finds no more hosts.
  uint32_t threshold;
} srlg_window;

// Estimated number of distinct peers of a host.
typedef struct {
  // Size of this struct, in bytes.
  size_t size;
  // Estimated number of distinct peers.
  double cardinality;
  // Standard error of `cardinality`.
  double std_error;
  // Lower end of the 95 % interval.
  double lower;
  // Upper end of the 95 % interval. It is infinite if `range` is SRLG_RANGE_BEYOND.
  double upper;
  // Meaning of `cardinality` (a value of srlg_range).
  uint32_t range;
  // Reserved member. It is always 0.
  uint32_t reserved;
} srlg_estimate;

// A sampled peer of a host.
typedef struct {
  // The peer.
  srlg_host host;
  // Slice of the last contact. In long windows, this is the last slice of the epoch that contains the contact, or
  // the last slice of the window if that is earlier.
  uint64_t last_seen;
} srlg_peer;

// A sample of the peers of a host, sorted by their last contact, most recent first. The sample of an IPv6 host is
// empty.
typedef struct {
  // Size of this struct, in bytes.
  size_t size;
  // Number of elements of `peers` that are in use.
  uint64_t count;
  // The peers.
  srlg_peer peers[SRLG_PEERS];
} srlg_peers;

// Health of a detector at the close of a slice.
typedef struct {
  // Size of this struct, in bytes.
  size_t size;
  // Number of distinct pairs in the window, divided by the number of recorders of the counter. Errors of estimates
  // grow with this load.
  double load;
  // Share of the cells that were touched in the window.
  double cells_in_use;
  // Share of the cells that were touched in the window and are held by IPv6 hosts.
  double cells_in_use_v6;
  // Probability of missing an IPv4 host whose number of peers equals the threshold and whose contacts are evenly
  // spread.
  double miss_probability;
  // The same probability as `miss_probability`, but for an IPv6 host.
  double miss_probability_v6;
  // Probability of missing an IPv4 host whose number of peers equals the threshold and whose contacts are all in the
  // oldest epoch of the window.
  double burst_miss_probability;
  // The same probability as `burst_miss_probability`, but for an IPv6 host.
  double burst_miss_probability_v6;
  // Minimum number of peers at which 99 % of IPv4 hosts are found. It is infinite if no number is sufficient.
  double found_from;
  // Minimum number of peers at which 99 % of IPv6 hosts are found. It is infinite if no number is sufficient.
  double found_from_v6;
  // Expected standard error, in peers, of the estimate for a host at the threshold, at this load.
  double std_error;
  // Whether 95 % intervals cover the true value in 88 to 97 % of cases, for hosts with 100 peers or more (1 or 0).
  uint32_t errors_hold;
  // Overload of the finder (a value of srlg_overload).
  uint32_t overload;
  // Minimum number of cells that a host must hold to be a candidate.
  uint32_t least_cells;
  // Number of pairs of which one was counted, the largest in the window.
  uint32_t share;
} srlg_health;

// Handle to a feed, through which a receiving thread ingests while another thread closes slices.
typedef struct {
  // Number of the handle. It is never 0.
  uint64_t id;
} srlg_feed;

// Summary of a report.
typedef struct {
  // Size of this struct, in bytes.
  size_t size;
  // Number of the closed slice. The window ends with this slice.
  uint64_t slice;
  // Number of super points.
  uint64_t super_points;
  // Number of distinct candidates: the hosts that the finder returned, and the super points of the previous report
  // and of merged snapshots.
  uint64_t candidates;
  // Duration of the close, in nanoseconds.
  uint64_t nanoseconds;
} srlg_summary;

// A host whose estimated number of distinct peers in the window is at least the threshold.
typedef struct {
  // Size of this struct, in bytes.
  size_t size;
  // The inside host.
  srlg_host host;
  // Estimated number of distinct peers.
  double cardinality;
  // Standard error of `cardinality`.
  double std_error;
  // Lower end of the 95 % interval.
  double lower;
  // Upper end of the 95 % interval. It is infinite if `range` is SRLG_RANGE_BEYOND.
  double upper;
  // Meaning of `cardinality` (a value of srlg_range).
  uint32_t range;
  // Reserved member. It is always 0.
  uint32_t reserved;
} srlg_super_point;

// Options of a slicer. If `grace_ns` or `skew_ns` is 0, its default applies.
typedef struct {
  // Size of this struct, in bytes.
  size_t size;
  // Length of a slice, in nanoseconds. Slice n starts n slice lengths after the Unix epoch.
  uint64_t slice_ns;
  // Time for which a slice stays running after its end, in nanoseconds, so that late pairs still reach its report.
  // The default is 0.
  uint64_t grace_ns;
  // Maximum time by which a timestamp may be ahead of the system clock, in nanoseconds. The default is `grace_ns`,
  // but at least one second. With a larger value, a wrong clock may close slices before their pairs arrive.
  uint64_t skew_ns;
} srlg_slicer_options;

// Handle to a slicer, which assigns pairs to slices by their timestamps and closes the slices of its detector.
typedef struct {
  // Number of the handle. It is never 0.
  uint64_t id;
} srlg_slicer;

// Handle to the bytes of a snapshot, a delta or a list of pairs.
typedef struct {
  // Number of the handle. It is never 0.
  uint64_t id;
} srlg_bytes;

// Header of a state: a snapshot, a delta or a list of pairs.
typedef struct {
  // Size of this struct, in bytes.
  size_t size;
  // The running slice of a snapshot, the last slice of a delta, or the slice of the pairs.
  uint64_t slice;
  // Size of the body after decompression, in bytes.
  uint64_t body_bytes;
  // Number of slices of a delta, 1 for pairs, or 0 for a snapshot.
  uint32_t slices;
  // Kind of the state (a value of srlg_state_kind).
  uint32_t kind;
} srlg_state_header;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens `folder` for checkpoints and creates it if necessary. The folder cannot be opened again until the handle is
// freed or the process ends.
srlg_status srlg_checkpoints_open(const char *folder,
                                  srlg_checkpoints *checkpoints);

// Saves the state of the detector. When the call returns, the checkpoint is durable. The newest two checkpoints are
// kept.
srlg_status srlg_checkpoints_save(srlg_checkpoints checkpoints,
                                  srlg_detector detector);

// Restores the newest checkpoint. Writes 1 to `restored`, or 0 if there is no checkpoint. If the newest checkpoint is
// damaged, it is renamed, and the status is SRLG_STATUS_FORMAT. The next call then restores an older checkpoint.
srlg_status srlg_checkpoints_restore(srlg_checkpoints checkpoints,
                                     srlg_detector detector,
                                     uint32_t *restored);

// Frees checkpoints as soon as no call uses them.
srlg_status srlg_checkpoints_free(srlg_checkpoints checkpoints);

// Creates a detector from `config`. Slice 0 is running.
srlg_status srlg_detector_new(const srlg_config *config, srlg_detector *detector);

// Frees a detector as soon as no call uses it. Its feeds stay open, but ingesting into them returns
// SRLG_STATUS_DETECTOR_FREED.
srlg_status srlg_detector_free(srlg_detector detector);

// Records `count` pairs in the running slice. Any number of threads may ingest concurrently. All these threads wait
// while a slice is being closed.
srlg_status srlg_detector_ingest_ipv4(srlg_detector detector,
                                      const srlg_pair4 *pairs,
                                      size_t count);

// Records `count` pairs in the same way as srlg_detector_ingest_ipv4.
srlg_status srlg_detector_ingest_ipv6(srlg_detector detector, const srlg_pair6 *pairs, size_t count);

// Closes the running slice and moves the window by one slice. Writes a handle to the report on the window that ends
// with the closed slice.
srlg_status srlg_detector_close_slice(srlg_detector detector,
                                      srlg_report *report);

// Closes the running slice in the same way as srlg_detector_close_slice. Writes handles to the reports on `count`
// windows that end with the closed slice.
srlg_status srlg_detector_close_slice_within(srlg_detector detector,
                                             const srlg_window *windows,
                                             size_t count,
                                             srlg_report *reports);

// Writes the number of the running slice.
srlg_status srlg_detector_slice(srlg_detector detector, uint64_t *slice);

// Moves the window forward until `slice` is running. No report is created. `slice` must not be before the running
// slice, and may be any number of slices after it.
srlg_status srlg_detector_skip_to(srlg_detector detector,
                                  uint64_t slice);

// Writes the estimated number of distinct peers of a host in the window that ends with the running slice.
srlg_status srlg_detector_cardinality(srlg_detector detector, const srlg_host *host, srlg_estimate *estimate);

// Writes the estimated number of distinct peers of a host in the last `window` slices, including the running slice.
// After a close, the running slice is empty. To get an estimate for the window of the report, call this function
// before the close.
srlg_status srlg_detector_cardinality_within(srlg_detector detector,
                                             const srlg_host *host,
                                             uint32_t window,
                                             srlg_estimate *estimate);

// Writes a sample of a host's peers in the window that ends with the running slice. The host need not be a super
// point.
srlg_status srlg_detector_sample_peers(srlg_detector detector,
                                       const srlg_host *host,
                                       srlg_peers *peers);

// Writes the health of the detector at its most recent close.
srlg_status srlg_detector_health(srlg_detector detector, srlg_health *health);

// Creates a feed for one receiving thread. While another thread closes a slice, the feed buffers up to `capacity`
// pairs of each address family for the next slice.
srlg_status srlg_feed_new(srlg_detector detector,
                          size_t capacity,
                          srlg_feed *feed);

// Frees a feed as soon as no call uses it. Buffered pairs are not lost.
srlg_status srlg_feed_free(srlg_feed feed);

// Records `count` pairs in the same way as srlg_detector_ingest_ipv4. The call waits if the buffer is full during a
// close.
srlg_status srlg_feed_ingest_ipv4(srlg_feed feed,
                                  const srlg_pair4 *pairs,
                                  size_t count);

// Records `count` pairs in the same way as srlg_detector_ingest_ipv6. The call waits if the buffer is full during a
// close.
srlg_status srlg_feed_ingest_ipv6(srlg_feed feed,
                                  const srlg_pair6 *pairs,
                                  size_t count);

// Records `count` pairs in slice number `slice`, in the same way as srlg_feed_ingest_ipv4. The number is absolute: a
// close during the call does not move the pairs to another slice. If the slice has left the window, the status is
// SRLG_STATUS_TOO_LATE. If it is not yet running, the status is SRLG_STATUS_FUTURE, and the caller can pass the pairs
// again later.
srlg_status srlg_feed_ingest_at_ipv4(srlg_feed feed,
                                     uint64_t slice,
                                     const srlg_pair4 *pairs,
                                     size_t count);

// Records `count` pairs in the same way as srlg_feed_ingest_at_ipv4.
srlg_status srlg_feed_ingest_at_ipv6(srlg_feed feed, uint64_t slice, const srlg_pair6 *pairs, size_t count);

// Records as many of `count` pairs as possible without waiting, and writes their number to `taken`. During a close,
// pairs are left over if the buffer is full or another thread is ingesting from it. The caller can pass the remaining
// pairs again or count them as lost.
srlg_status srlg_feed_try_ingest_ipv4(srlg_feed feed,
                                      const srlg_pair4 *pairs,
                                      size_t count,
                                      size_t *taken);

// Records pairs of IPv6 addresses in the same way as srlg_feed_try_ingest_ipv4.
srlg_status srlg_feed_try_ingest_ipv6(srlg_feed feed, const srlg_pair6 *pairs, size_t count, size_t *taken);

// Returns the SRLG_ABI_VERSION of the library, which can differ from that of the header.
uint32_t srlg_abi_version(void);

// Returns the error text of the last call that failed in this thread. The pointer is never null. It is valid until the
// next call fails in this thread, or until the thread ends.
const char *srlg_last_error(void);

// Writes a random seed. A detector that may receive hostile traffic needs a random, secret seed.
srlg_status srlg_random_seed(uint64_t *seed);

// Converts an IPv4 address to a host. The address is in host byte order: 10.0.0.1 is 0x0a000001.
srlg_status srlg_host_from_ipv4(uint32_t address, srlg_host *host);

// Writes the address of a host as text. A buffer of SRLG_HOST_TEXT bytes is always large enough.
srlg_status srlg_host_format(const srlg_host *host, char *text, size_t capacity);

// Writes the summary of a report: its slice, the numbers of super points and candidates, and the duration of the
// close.
srlg_status srlg_report_summary(srlg_report report,
                                srlg_summary *summary);

// Writes the super point at `index`, which starts at 0. Super points are sorted by cardinality, largest first.
srlg_status srlg_report_super_point(srlg_report report,
                                    uint64_t index,
                                    srlg_super_point *super_point);

// Writes the sampled peers of the super point at `index`.
srlg_status srlg_report_peers(srlg_report report, uint64_t index, srlg_peers *peers);

// Writes the health of the detector at the close of the report's slice.
srlg_status srlg_report_health(srlg_report report, srlg_health *health);

// Frees a report as soon as no call uses it.
srlg_status srlg_report_free(srlg_report report);

// Creates a slicer for a detector. Only the slicer may close slices of the detector. The detector continues with its
// running slice or, if this is slice 0, with the slice of the first timestamp, whose window no longer includes pairs
// that were ingested before.
srlg_status srlg_slicer_new(srlg_detector detector,
                            const srlg_slicer_options *options,
                            srlg_slicer *slicer);

// Records `count` pairs that were in contact at `time_ns`, in nanoseconds since the Unix epoch. Before that, closes
// all slices whose grace has ended by this time. If the pairs are counted in their slice but missing from a report
// that was created before, the status is SRLG_STATUS_LATE. Pairs are dropped if their slice has left the window
// (SRLG_STATUS_TOO_LATE), or if they are ahead of the system clock by more than the skew (SRLG_STATUS_FUTURE).
srlg_status srlg_slicer_ingest_ipv4(srlg_slicer slicer,
                                    uint64_t time_ns,
                                    const srlg_pair4 *pairs,
                                    size_t count);

// Records `count` pairs in the same way as srlg_slicer_ingest_ipv4.
srlg_status srlg_slicer_ingest_ipv6(srlg_slicer slicer,
                                    uint64_t time_ns,
                                    const srlg_pair6 *pairs,
                                    size_t count);

// Closes all slices whose grace has ended by `now_ns`, in nanoseconds since the Unix epoch. Then passes the waiting
// pairs of the running slice and of earlier slices to the detector, so that queries, deltas and snapshots include
// them. Pairs of later slices wait until their slice is running.
srlg_status srlg_slicer_advance(srlg_slicer slicer,
                                uint64_t now_ns);

// Writes a handle to the oldest report that has not been taken, or a handle with number 0 if there is none. Call this
// after each ingest or advance until there is none. Silent slices may have no report.
srlg_status srlg_slicer_take_report(srlg_slicer slicer,
                                    srlg_report *report);

// Frees a slicer as soon as no call uses it. Pairs that have not reached the detector are lost.
srlg_status srlg_slicer_free(srlg_slicer slicer);

// Creates a snapshot of the whole state of the detector. The snapshot contains a fingerprint of the seed, but never
// the seed itself.
srlg_status srlg_detector_snapshot(srlg_detector detector,
                                   srlg_bytes *bytes);

// Replaces the whole state of the detector, including the number of the running slice, with a snapshot of `len` bytes.
srlg_status srlg_detector_restore(srlg_detector detector,
                                  const uint8_t *snapshot,
                                  size_t len);

// Merges a snapshot of `len` bytes from another detector. Snapshots may be merged late, repeatedly and in any order,
// without changing the result.
srlg_status srlg_detector_merge_snapshot(srlg_detector detector,
                                         const uint8_t *snapshot,
                                         size_t len);

// Creates a delta of the last `slices` slices, including the running slice. A delta of a few slices is much smaller
// than a snapshot.
srlg_status srlg_detector_delta(srlg_detector detector,
                                uint32_t slices,
                                srlg_bytes *bytes);

// Merges a delta of `len` bytes from another detector.
srlg_status srlg_detector_merge_delta(srlg_detector detector, const uint8_t *delta, size_t len);

// Merges the pairs of one slice, at most 2^22, that srlg_pairs_write has written. The sizes and the seed of the
// detector do not matter. Any number of threads may merge pairs concurrently.
srlg_status srlg_detector_merge_pairs(srlg_detector detector,
                                      const uint8_t *pairs,
                                      size_t len);

// Creates a list of the pairs of slice number `slice`, at most 2^22, for srlg_detector_merge_pairs.
srlg_status srlg_pairs_write(uint64_t slice,
                             const srlg_pair4 *pairs4,
                             size_t count4,
                             const srlg_pair6 *pairs6,
                             size_t count6,
                             srlg_bytes *bytes);

// Writes the header of a state of `len` bytes, whose checksum must be correct. The state may be from any detector.
srlg_status srlg_state_read_header(const uint8_t *state,
                                   size_t len,
                                   srlg_state_header *header);

// Writes the number of bytes to `len` and the bytes to `data`. If `capacity` is too small, only `len` is written, and
// the status is SRLG_STATUS_BUFFER. `data` may be null if `capacity` is 0.
srlg_status srlg_bytes_copy(srlg_bytes bytes,
                            uint8_t *data,
                            size_t capacity,
                            size_t *len);

// Frees bytes as soon as no call uses them.
srlg_status srlg_bytes_free(srlg_bytes bytes);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SRLG_H */
