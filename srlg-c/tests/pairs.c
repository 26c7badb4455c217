/* Writes the pairs of a slice as docs/format.md describes them, and merges them. The frame of zstd is not compressed. */
#include "check.h"

enum { PEERS = 300, MOST = 1 << 22 };

static uint8_t message[8192];

static uint8_t *put(uint8_t *at, uint64_t number, int bytes) {
    for (int i = 0; i < bytes; i++) {
        *at++ = number & 0xff;
        number >>= 8;
    }
    return at;
}

static uint32_t crc32(const uint8_t *data, size_t len) {
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < len; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    }
    return ~crc;
}

/* Writes the pairs of 10.0.0.1 with PEERS peers, and claims that there are `claimed` pairs. Returns the length. */
static size_t write_pairs(uint64_t slice, uint32_t claimed) {
    static uint8_t body[4096];
    uint8_t *end = body;
    end = put(end, 1, 4); /* hosts */
    end = put(end, claimed, 4);
    end = put(end, (PEERS & 0x7f) | 0x80, 1); /* LEB128 */
    end = put(end, PEERS >> 7, 1);
    end = put(end, 0x0a000001, 4);
    for (int plane = 0; plane < 4; plane++)
        for (uint32_t i = 0; i < PEERS; i++)
            end = put(end, (i == 0 ? 0xc6120000 : 0) >> 8 * plane, 1);
    end = put(end, 0, 8); /* no pairs with IPv6 addresses */
    uint64_t len = end - body;

    uint8_t *at = message;
    memcpy(at, "SRLG", 4);
    at = put(at + 4, 3, 2); /* version */
    at = put(at, 3, 2);     /* kind */
    at = put(at, 0, 16);    /* fingerprints */
    at = put(at, slice, 8);
    at = put(at, 1, 8); /* slices */
    at = put(at, len, 8);
    at = put(at, len + 12, 8);
    at = put(at, 0, 8); /* attachment */
    at = put(at, 0xfd2fb528, 4);
    at = put(at, 0xa0, 1); /* a single segment, whose length follows */
    at = put(at, len, 4);
    at = put(at, len << 3 | 1, 3); /* the last block, not compressed */
    memcpy(at, body, len);
    at += len;
    at = put(at, crc32(message, at - message), 4);
    return at - message;
}

int main(void) {
    srlg_detector detector = new_detector(), direct = new_detector();
    OK(srlg_detector_skip_to(detector, 7));
    OK(srlg_detector_skip_to(direct, 7));

    size_t len = write_pairs(8, PEERS);
    EXPECT(FUTURE, srlg_detector_merge_pairs(detector, message, len));
    len = write_pairs(2, PEERS);
    EXPECT(TOO_LATE, srlg_detector_merge_pairs(detector, message, len));
    len = write_pairs(7, MOST + 1);
    EXPECT(FORMAT, srlg_detector_merge_pairs(detector, message, len));
    CHECK(strstr(srlg_last_error(), "more than 4194304 pairs") != NULL);
    len = write_pairs(7, PEERS);
    EXPECT(FORMAT, srlg_detector_merge_pairs(detector, message, len - 1));
    EXPECT(FORMAT, srlg_detector_merge_delta(detector, message, len));
    EXPECT(NULL_POINTER, srlg_detector_merge_pairs(detector, NULL, len));
    CHECK(cardinality(detector, 0x0a000001) == 0);

    OK(srlg_detector_merge_pairs(detector, message, len));
    OK(srlg_detector_merge_pairs(detector, message, len));
    static srlg_pair4 pairs[PEERS];
    for (uint32_t i = 0; i < PEERS; i++)
        pairs[i] = (srlg_pair4){0x0a000001, 0xc6120000 + i};
    OK(srlg_detector_ingest_ipv4(direct, pairs, PEERS));
    CHECK(cardinality(detector, 0x0a000001) > 250);
    CHECK(cardinality(detector, 0x0a000001) == cardinality(direct, 0x0a000001));

    OK(srlg_detector_free(detector));
    OK(srlg_detector_free(direct));
    EXPECT(HANDLE, srlg_detector_merge_pairs(detector, message, len));
    return 0;
}
