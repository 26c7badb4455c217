/* Tests of checkpoints, and of the headers of states. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include <unistd.h>

static void check_header(srlg_bytes bytes, srlg_state_kind kind, uint64_t slice, uint32_t slices) {
    size_t len;
    uint8_t *state = take(bytes, &len);
    srlg_state_header header = {.size = sizeof header};
    OK(srlg_state_read_header(state, len, &header));
    CHECK(header.kind == kind && header.slice == slice && header.slices == slices && header.body_bytes > 0);
    EXPECT(FORMAT, srlg_state_read_header(state, len - 1, &header));
    free(state);
}

static void headers(srlg_detector detector) {
    const srlg_pair4 pair = {1, 2};
    srlg_bytes bytes;
    OK(srlg_detector_snapshot(detector, &bytes));
    check_header(bytes, SRLG_STATE_KIND_SNAPSHOT, 7, 0);
    OK(srlg_detector_delta(detector, 3, &bytes));
    check_header(bytes, SRLG_STATE_KIND_DELTA, 7, 3);
    OK(srlg_pairs_write(8, &pair, 1, NULL, 0, &bytes));
    check_header(bytes, SRLG_STATE_KIND_PAIRS, 8, 1);
}

static const char *file(const char *folder, int number, const char *extension) {
    static char path[64];
    snprintf(path, sizeof path, "%s/checkpoint-%020d.%s", folder, number, extension);
    return path;
}

static void damage(const char *path) {
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs("damaged", file) >= 0 && fclose(file) == 0);
}

int main(void) {
    srlg_detector detector = new_detector();
    OK(srlg_detector_skip_to(detector, 7));
    headers(detector);

    char folder[] = "/tmp/srlg-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    srlg_checkpoints checkpoints, again;
    uint32_t restored = 7;
    OK(srlg_checkpoints_open(folder, &checkpoints));
    EXPECT(IN_USE, srlg_checkpoints_open(folder, &again));
    EXPECT(OTHER, srlg_checkpoints_open("/dev/null/folder", &again));
    CHECK(strstr(srlg_last_error(), "(os error ") != NULL); /* the reason of the system follows */
    OK(srlg_checkpoints_restore(checkpoints, detector, &restored));
    CHECK(restored == 0);

    OK(srlg_checkpoints_save(checkpoints, detector));
    OK(srlg_detector_skip_to(detector, 8));
    OK(srlg_checkpoints_save(checkpoints, detector));
    srlg_detector after = new_detector();
    uint64_t slice;
    OK(srlg_checkpoints_restore(checkpoints, after, &restored));
    OK(srlg_detector_slice(after, &slice));
    CHECK(restored == 1 && slice == 8);
    OK(srlg_checkpoints_free(checkpoints));
    OK(srlg_checkpoints_open(folder, &checkpoints));
    damage(file(folder, 2, "srlg"));
    EXPECT(FORMAT, srlg_checkpoints_restore(checkpoints, after, &restored));
    CHECK(strstr(srlg_last_error(), ".damaged is damaged: cannot read") != NULL);
    OK(srlg_checkpoints_restore(checkpoints, after, &restored));
    OK(srlg_detector_slice(after, &slice));
    CHECK(restored == 1 && slice == 7);

    OK(srlg_checkpoints_free(checkpoints));
    EXPECT(HANDLE, srlg_checkpoints_save(checkpoints, detector));
    CHECK(unlink(file(folder, 1, "srlg")) == 0 && unlink(file(folder, 2, "damaged")) == 0);
    char lock[64];
    snprintf(lock, sizeof lock, "%s/lock", folder);
    CHECK(unlink(lock) == 0 && rmdir(folder) == 0);
    OK(srlg_detector_free(detector));
    OK(srlg_detector_free(after));
    return 0;
}
