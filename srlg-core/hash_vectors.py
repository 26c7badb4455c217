"""Prints the expected values of the hash tests, from a second implementation of the hashes.

usage: python3 srlg-core/hash_vectors.py

The comment at each print names the file under src/ whose tests have the values. If a hash changes on purpose, this file is
changed first, and its output is copied into the tests. The cells are covered for Murmur and IPv4.

Such a change makes older snapshots and deltas unmergeable: raise the version in `Params::sizes_fingerprint`.
"""

M32, M64 = (1 << 32) - 1, (1 << 64) - 1

def words(seed):                      # splitmix64
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & M64
        x = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & M64
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & M64
        yield x ^ (x >> 31)

def keys(seed):                       # H1/H2, H3, T0, T1, LH_0 to LH_7, lines, tags, owners, peers, places
    w = words(seed)
    while True:
        a, b = next(w), next(w)
        yield a & M32, a >> 32, b & M32

def h(address, key):
    x = (address + key[0]) & M32
    x ^= x >> 16
    x = x * (key[1] | 1) & M32
    x ^= x >> 15
    x = (x + key[2]) & M32
    x = x * 0x846CA68B & M32
    x ^= x >> 13
    x = x * 0xC2B2AE35 & M32
    return x ^ (x >> 16)

peer, position, low, high, *columns, line, tag, owner, cell_peer, place = (k for k, _ in zip(keys(0), range(17)))

def places(aip, z, lines):            # of a touch and of its echo
    seed = h(aip, columns[0])
    twist = 1 + ((seed * 0x9E3779B1 & M32) * 31 >> 32)
    touch = (h(seed + z // 32 & M32, line) * lines >> 32) * 32 + z % 32
    return touch, touch ^ twist

def tags(aip, z, count):              # of a touch and of its echo
    first = h(aip, tag)
    second, factor = h(first, tag), first >> 16 | 1
    x = (z ^ first) * 0x9E6D & 0xFFFF
    x = (x ^ x >> 7) * factor & 0xFFFF
    x = ((x ^ x >> 9) + second) * 0xA2B5 & 0xFFFF
    y = (x ^ x >> 8) * factor & 0xFFFF
    y ^= y >> 7
    return x * count >> 16, y * count >> 16

def own(aip, bip):                    # the hash of a peer in the estimator of a host
    return h(bip + h(aip, columns[0]) & M32, position)

def slot(aip, bip, tau):              # of a pair in cells; None where it is not sampled
    t = h(aip, columns[0]) * 0x9E3779B1 & M32 ^ h(bip, position)
    t = (t ^ t >> 15) * 0x85EBCA6B & M32
    t = (t ^ t >> 13) * 0xC2B2AE35 & M32
    return t >> 12 & 63 if t >> 32 - tau == 0 else None

def cell(aip, bip, slot, bits, age):  # the number of the cell, and the word of the contact
    image = h(aip, owner)
    name = (image & (1 << 32 - bits) - 1) << 6 | slot
    number = image >> 32 - bits ^ h(name, place) >> 32 - bits
    body = 33 + max(38 - bits, 20)    # bits of a word below its age
    veil = ((number + 1) * 0x9E3779B97F4A7C15 & M64) >> 64 - body
    return number, (age << body) + ((name << 32 | h(bip, cell_peer)) ^ veil)

address, q = 0xC0A80101, 17
print(hex(h(address, peer)))                                            # hash.rs
sampled = (0x0A000069, 0x0A0002CB, 0x0A00035F, 0x0A0003DD)
print([h(bip, peer) * 8 >> 32 for bip in sampled])                      # finder/params.rs: H2
print(h(address, position) * 16384 >> 32)                               # counter/rows/params.rs: H3
print([h(address, k) * 131072 >> 32 for k in columns[:5]])              # counter/rows/params.rs: LH_i
base = h(address % 2**q, low) >> 32 - q ^ h(address >> q, high) >> 32 - q
print([base] + [base ^ (address >> 5 * i) % 2**q for i in range(4)])    # finder/rhfg.rs
hosts = [(0x0A000001, 0), (0x0A000001, 1), (0x0A000001, 16383), (0xFFFFFFFF, 777)]
print([tags(aip, z, 109) for aip, z in hosts])                          # counter/tagged/tag.rs
hosts = [(0x0A000001, 0), (0x0A000001, 8064), (0xC0A80101, 227), (0xFFFFFFFF, 5041)]
print([places(aip, z, 412500) for aip, z in hosts])                     # counter/tagged/tests.rs
hosts = [(0x0A000001, 0x08080808), (address, 0x08080808), (M32, 7)]
print([hex(own(aip, bip)) for aip, bip in hosts])                       # counter/tagged/line.rs
pairs = [(0x0A000001, 0), (0x0A000001, 17), (address, 63), (M32, 0), (M32, 63), (0, 17)]
for bits in 18, 12:                                                     # finder/cells/pinned_tests.rs: MURMUR, SMALL
    print([[hex(x) for x in cell(aip, 0x08080808, s, bits, 0)] for aip, s in pairs])
for tau in 5, 1:                                                        # finder/cells/pinned_tests.rs: sampled
    slots = ((low, slot(0x0A000001, 0x08000000 | low, tau)) for low in range(256))
    print([sampled for sampled in slots if sampled[1] is not None][:5])
bip = 0x0A00000E
print(cell(address, bip, slot(address, bip, 5), 18, 0))                 # docs/design.md
print(hex(h(0, columns[7]) << 32 | h(1, columns[7])))                   # fingerprint.rs: seed 0, Murmur
