/*
 * table.c: open addressing with linear probing. At most half of the entries
 * are used, so every probe ends at a free one; removal closes the gap, so no
 * marks of past entries pile up.
 */
#include "base/table.h"

#include <stdlib.h>

#include "base/error.h"

#define MAX_CAPACITY ((size_t)1 << 28)

static uint64_t mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    return x;
}

/* Two rounds around the seed: keys that differ by a constant must not keep
 * their distance, whatever the seed is. */
static size_t home(const epi_table_t *table, uint64_t key)
{
    return (size_t)mix(mix(key ^ table->seed) + table->seed) & table->mask;
}

/* The entry of key, or the free one where it would go. */
static size_t probe(const epi_table_t *table, uint64_t key)
{
    size_t at = home(table, key);

    while (table->entries[at].used && table->entries[at].key != key) {
        at = (at + 1) & table->mask;
    }
    return at;
}

epdx_status_t epi_table_init(epi_table_t *table, size_t capacity, uint64_t seed)
{
    epi_table_entry_t *entries;
    size_t size = 2;

    if (capacity == 0 || capacity > MAX_CAPACITY) {
        return epi_fail(EPDX_ERR_INVALID, "table of %zu entries", capacity);
    }
    while (size < 2 * capacity) {
        size *= 2;
    }
    entries = calloc(size, sizeof(*entries));
    if (entries == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a table of %zu",
                        capacity);
    }
    table->entries = entries;
    table->mask = size - 1;
    table->capacity = capacity;
    table->count = 0;
    table->seed = seed;
    return EPDX_OK;
}

epdx_status_t epi_table_add(epi_table_t *table, uint64_t key, uint32_t value)
{
    size_t at = probe(table, key);

    if (table->entries[at].used) {
        return epi_fail(EPDX_ERR_DUPLICATE, "key %llu is in the table",
                        (unsigned long long)key);
    }
    if (table->count == table->capacity) {
        return epi_fail(EPDX_ERR_FULL, "table of %zu entries is full",
                        table->capacity);
    }
    table->entries[at] = (epi_table_entry_t){key, value, true};
    table->count++;
    return EPDX_OK;
}

bool epi_table_find(const epi_table_t *table, uint64_t key, uint32_t *value_p)
{
    size_t at = probe(table, key);

    if (!table->entries[at].used) {
        return false;
    }
    *value_p = table->entries[at].value;
    return true;
}

bool epi_table_remove(epi_table_t *table, uint64_t key)
{
    size_t gap = probe(table, key);
    size_t next = gap;

    if (!table->entries[gap].used) {
        return false;
    }
    table->entries[gap].used = false;
    table->count--;
    for (;;) {
        size_t wanted;

        next = (next + 1) & table->mask;
        if (!table->entries[next].used) {
            return true;
        }
        wanted = home(table, table->entries[next].key);
        /* An entry may move back to the gap only if that is not before its
         * home; distances are counted around the ring. */
        if (((next - wanted) & table->mask) >= ((next - gap) & table->mask)) {
            table->entries[gap] = table->entries[next];
            table->entries[next].used = false;
            gap = next;
        }
    }
}

void epi_table_fini(epi_table_t *table)
{
    free(table->entries);
    *table = (epi_table_t){0};
}

uint64_t epi_hash(const void *bytes, size_t length)
{
    const unsigned char *byte = bytes;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    return mix(hash);
}
