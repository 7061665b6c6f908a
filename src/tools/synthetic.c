/* synthetic.c: rows made and checked eight bytes at a time. */
#include "tools/synthetic.h"

#include <string.h>

#define WORD 8

/* Each of these bits of the input moves about half of the output's. */
static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static uint64_t row_seed(const epi_synthetic_t *synthetic, uint64_t row)
{
    uint64_t seed = mix(synthetic->room + UINT64_C(0x9e3779b97f4a7c15));

    seed = mix(seed ^ synthetic->part);
    return mix(seed + row);
}

/* One multiplication a word: rows are many, and the seed is well mixed. */
static uint64_t word_at(uint64_t seed, uint64_t index)
{
    uint64_t x = (seed + index) * UINT64_C(0x9e3779b97f4a7c15);

    return x ^ x >> 31;
}

static size_t row_bytes(const epi_synthetic_t *synthetic)
{
    return (size_t)synthetic->columns * synthetic->element_bytes;
}

static void fill_row(uint64_t seed, size_t bytes, uint8_t *out)
{
    size_t words = bytes / WORD;
    uint64_t word;

    for (size_t i = 0; i < words; i++) {
        word = word_at(seed, i);
        memcpy(out + i * WORD, &word, WORD);
    }
    word = word_at(seed, words);
    memcpy(out + words * WORD, &word, bytes % WORD);
}

static bool row_matches(uint64_t seed, size_t bytes, const uint8_t *in)
{
    size_t words = bytes / WORD;
    uint64_t differ = 0;
    uint64_t word;

    for (size_t i = 0; i < words; i++) {
        memcpy(&word, in + i * WORD, WORD);
        differ |= word ^ word_at(seed, i);
    }
    word = word_at(seed, words);
    return differ == 0 && memcmp(in + words * WORD, &word, bytes % WORD) == 0;
}

void epi_synthetic_fill(const epi_synthetic_t *synthetic, epdx_rows_t rows,
                        void *out)
{
    size_t bytes = row_bytes(synthetic);
    uint8_t *at = out;

    for (uint64_t i = 0; i < rows.count; i++) {
        fill_row(row_seed(synthetic, rows.start + i), bytes, at);
        at += bytes;
    }
}

static void note_wrong(const epi_synthetic_t *shape, uint64_t row, size_t at,
                       epi_wrong_t *wrong)
{
    if (wrong->bytes == 0) {
        wrong->first_row = row;
        wrong->first_column = at / shape->element_bytes;
    }
    wrong->bytes++;
}

/* A row of which some byte is wrong. */
static void count_row(const epi_synthetic_t *synthetic, uint64_t row,
                      const uint8_t *in, epi_wrong_t *wrong)
{
    uint64_t seed = row_seed(synthetic, row);
    size_t bytes = row_bytes(synthetic);

    for (size_t i = 0; i < bytes; i++) {
        uint64_t word = word_at(seed, i / WORD);
        uint8_t expected[WORD];

        memcpy(expected, &word, WORD);
        if (in[i] != expected[i % WORD]) {
            note_wrong(synthetic, row, i, wrong);
        }
    }
}

uint64_t epi_synthetic_verify(const epi_synthetic_t *synthetic,
                              epdx_rows_t rows, const void *in,
                              epi_wrong_t *wrong_p)
{
    size_t bytes = row_bytes(synthetic);
    uint64_t before = wrong_p->bytes;
    const uint8_t *at = in;

    for (uint64_t i = 0; i < rows.count; i++) {
        uint64_t row = rows.start + i;

        if (!row_matches(row_seed(synthetic, row), bytes, at)) {
            count_row(synthetic, row, at, wrong_p);
        }
        at += bytes;
    }
    return wrong_p->bytes - before;
}

uint64_t epi_bytes_verify(const epi_synthetic_t *shape, epdx_rows_t rows,
                          const void *expected, const void *in,
                          epi_wrong_t *wrong_p)
{
    size_t bytes = row_bytes(shape);
    uint64_t before = wrong_p->bytes;
    const uint8_t *want = expected;
    const uint8_t *have = in;

    for (uint64_t i = 0; i < rows.count; i++) {
        if (memcmp(want, have, bytes) != 0) {
            for (size_t j = 0; j < bytes; j++) {
                if (want[j] != have[j]) {
                    note_wrong(shape, rows.start + i, j, wrong_p);
                }
            }
        }
        want += bytes;
        have += bytes;
    }
    return wrong_p->bytes - before;
}
