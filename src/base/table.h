/*
 * table.h: a map from 64-bit keys to 32-bit values of a fixed capacity: open
 * addressing with back-shifting removal, so it never degrades and never
 * allocates after init. Keys come from the network: the hash is seeded.
 * One thread.
 */
#ifndef EPI_BASE_TABLE_H
#define EPI_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "epdx/status.h"

typedef struct epi_table_entry {
    uint64_t key;
    uint32_t value;
    bool used;
} epi_table_entry_t;

typedef struct epi_table {
    epi_table_entry_t *entries; /* a power of two of them, >= 2 * capacity */
    size_t mask;
    size_t capacity;
    size_t count;
    uint64_t seed;
} epi_table_t;

/** Errors: EPDX_ERR_INVALID (capacity 0 or absurd), EPDX_ERR_NO_MEMORY. */
EPDX_MUST_CHECK epdx_status_t epi_table_init(epi_table_t *table,
                                             size_t capacity, uint64_t seed);

/** EPDX_ERR_DUPLICATE when the key is there, EPDX_ERR_FULL at capacity. */
EPDX_MUST_CHECK epdx_status_t epi_table_add(epi_table_t *table, uint64_t key,
                                            uint32_t value);

/** False when the key is not there; *value_p is then unchanged. */
bool epi_table_find(const epi_table_t *table, uint64_t key, uint32_t *value_p);

/** False when the key was not there. */
bool epi_table_remove(epi_table_t *table, uint64_t key);

/** Frees the entries; a zeroed table is allowed. */
void epi_table_fini(epi_table_t *table);

/** FNV-1a of bytes, finished with a mixer: a key for a text. */
uint64_t epi_hash(const void *bytes, size_t length);

#endif
