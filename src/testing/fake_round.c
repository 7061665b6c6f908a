/* fake_round.c: see fake_round.h. */
#include "testing/fake_round.h"

#include <string.h>

const char *epi_fake_op_name(epi_fake_op_t op)
{
    static const char *const names[] = {"min_u8", "min_u64", "broadcast",
                                        "gather", "any"};

    return names[op];
}

static bool same_gathers(const epi_fake_call_t *a, const epi_fake_call_t *b,
                         uint32_t size)
{
    const epi_gather_t *left = a->values;
    const epi_gather_t *right = b->values;
    size_t bytes = size * sizeof(uint64_t);
    size_t i;

    for (i = 0; i < a->count; i++) {
        if (left[i].row_bytes != right[i].row_bytes ||
            memcmp(left[i].starts, right[i].starts, bytes) != 0 ||
            memcmp(left[i].counts, right[i].counts, bytes) != 0) {
            return false;
        }
    }
    return true;
}

bool epi_fake_round_same(const epi_fake_call_t *a, const epi_fake_call_t *b,
                         uint32_t size)
{
    if (a->op != b->op || a->count != b->count || a->root != b->root) {
        return false;
    }
    return a->op != EPI_FAKE_GATHER || same_gathers(a, b, size);
}

static void min_u8_round(const epi_fake_call_t *calls, uint32_t size)
{
    size_t count = calls[0].count;
    size_t i;
    uint32_t r;

    for (i = 0; i < count; i++) {
        uint8_t least = UINT8_MAX;

        for (r = 0; r < size; r++) {
            uint8_t value = ((uint8_t *)calls[r].values)[i];

            least = value < least ? value : least;
        }
        for (r = 0; r < size; r++) {
            ((uint8_t *)calls[r].values)[i] = least;
        }
    }
}

static void min_u64_round(const epi_fake_call_t *calls, uint32_t size)
{
    size_t count = calls[0].count;
    size_t i;
    uint32_t r;

    for (i = 0; i < count; i++) {
        uint64_t least = UINT64_MAX;

        for (r = 0; r < size; r++) {
            uint64_t value = ((uint64_t *)calls[r].values)[i];

            least = value < least ? value : least;
        }
        for (r = 0; r < size; r++) {
            ((uint64_t *)calls[r].values)[i] = least;
        }
    }
}

static void broadcast_round(const epi_fake_call_t *calls, uint32_t size)
{
    const epi_fake_call_t *root = &calls[calls[0].root];
    uint32_t r;

    for (r = 0; r < size; r++) {
        if (calls[r].values != root->values) {
            memcpy(calls[r].values, root->values, root->count);
        }
    }
}

/** Block of rank from, of gather index, to rank to. */
static void copy_block(const epi_fake_call_t *calls, size_t index,
                       uint32_t from, uint32_t to)
{
    const epi_gather_t *source = calls[from].values;
    const epi_gather_t *target = calls[to].values;
    size_t row_bytes = source[index].row_bytes;
    size_t offset = (size_t)source[index].starts[from] * row_bytes;

    memcpy((uint8_t *)target[index].base + offset,
           (const uint8_t *)source[index].base + offset,
           (size_t)source[index].counts[from] * row_bytes);
}

static void gather_round(const epi_fake_call_t *calls, uint32_t size)
{
    size_t count = calls[0].count;
    size_t i;
    uint32_t from, to;

    for (i = 0; i < count; i++) {
        for (from = 0; from < size; from++) {
            for (to = 0; to < size; to++) {
                if (to != from) {
                    copy_block(calls, i, from, to);
                }
            }
        }
    }
}

void epi_fake_round_run(const epi_fake_call_t *calls, uint32_t size)
{
    switch (calls[0].op) {
    case EPI_FAKE_MIN_U8:
        min_u8_round(calls, size);
        break;
    case EPI_FAKE_MIN_U64:
        min_u64_round(calls, size);
        break;
    case EPI_FAKE_BROADCAST:
        broadcast_round(calls, size);
        break;
    case EPI_FAKE_GATHER:
        gather_round(calls, size);
        break;
    case EPI_FAKE_ANY:
        break;
    }
}
