/*
 * registry.c: one slot a rank of the largest world there may be, so that a
 * hostile registration can use up nothing.
 *
 *     empty --put--> filling --last rank's put--> complete
 *       ^--last rank's remove--/ ^------remove------/
 *
 * The first rank in gives the world its shape; an empty table has none.
 */
#include "bootstrap/registry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

typedef struct slot {
    bool in;
    epi_route_rank_t rank;
} slot_t;

struct epi_registry {
    epi_route_world_t world; /* meaningful while count > 0 */
    uint32_t count;          /* slots that are in */
    slot_t slots[EPI_REGISTRY_RANK_MAX];
};

epdx_status_t epi_registry_open(epi_registry_t **registry_p)
{
    epi_registry_t *registry = calloc(1, sizeof(*registry));

    if (registry == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a route registry");
    }
    *registry_p = registry;
    return EPDX_OK;
}

static void clear(epi_registry_t *registry)
{
    memset(registry, 0, sizeof(*registry));
}

static epdx_status_t check(const epi_route_registration_t *entry)
{
    if (entry->world_size > EPI_REGISTRY_RANK_MAX) {
        return epi_fail(EPDX_ERR_TOO_LARGE, "world_size %" PRIu32 " is over %d",
                        entry->world_size, EPI_REGISTRY_RANK_MAX);
    }
    if (entry->dp_size == 0 || entry->engine_rank >= entry->world_size ||
        entry->world_size % entry->dp_size != 0) {
        return epi_fail(EPDX_ERR_INVALID,
                        "engine_rank %" PRIu32 " of world_size %" PRIu32
                        " in dp_size %" PRIu32 " is no rank",
                        entry->engine_rank, entry->world_size, entry->dp_size);
    }
    return EPDX_OK;
}

/* Whether entry belongs to the world that is in; EPDX_ERR_MISMATCH. */
static epdx_status_t fit(epi_registry_t *registry,
                         const epi_route_registration_t *entry)
{
    const slot_t *slot = &registry->slots[entry->engine_rank];

    if (registry->count == 0 ||
        (registry->world.world_size == entry->world_size &&
         registry->world.dp_size == entry->dp_size)) {
        return EPDX_OK;
    }
    if (slot->in && strcmp(slot->rank.instance, entry->instance) != 0) {
        /* The rank was started anew, in another world: the old one ended. */
        clear(registry);
        return EPDX_OK;
    }
    return epi_fail(EPDX_ERR_MISMATCH,
                    "world_size %" PRIu32 " and dp_size %" PRIu32
                    " are %" PRIu32 " and %" PRIu32
                    " for the ranks already registered",
                    entry->world_size, entry->dp_size,
                    registry->world.world_size, registry->world.dp_size);
}

epdx_status_t epi_registry_put(epi_registry_t *registry,
                               const epi_route_registration_t *entry)
{
    epdx_status_t status = check(entry);
    slot_t *slot;

    if (status == EPDX_OK) {
        status = fit(registry, entry);
    }
    if (status != EPDX_OK) {
        return status;
    }
    registry->world.world_size = entry->world_size;
    registry->world.dp_size = entry->dp_size;
    slot = &registry->slots[entry->engine_rank];
    registry->count += slot->in ? 0 : 1;
    slot->in = true;
    slot->rank.address = entry->address;
    memcpy(slot->rank.instance, entry->instance, sizeof(slot->rank.instance));
    memcpy(slot->rank.curve_key, entry->curve_key,
           sizeof(slot->rank.curve_key));
    return EPDX_OK;
}

epdx_status_t epi_registry_remove(epi_registry_t *registry,
                                  uint32_t engine_rank, const char *instance)
{
    slot_t *slot;

    if (engine_rank >= EPI_REGISTRY_RANK_MAX ||
        !registry->slots[engine_rank].in) {
        return epi_fail(EPDX_ERR_NOT_FOUND,
                        "engine_rank %" PRIu32 " is not registered",
                        engine_rank);
    }
    slot = &registry->slots[engine_rank];
    if (instance[0] != '\0' && strcmp(slot->rank.instance, instance) != 0) {
        return epi_fail(EPDX_ERR_NOT_FOUND,
                        "engine_rank %" PRIu32
                        " is registered by another instance",
                        engine_rank);
    }
    memset(slot, 0, sizeof(*slot));
    registry->count--;
    return EPDX_OK;
}

epdx_status_t epi_registry_world(const epi_registry_t *registry,
                                 epi_route_world_t *world_p)
{
    if (registry->count == 0) {
        return epi_fail(EPDX_IN_PROGRESS, "no encode rank has registered yet");
    }
    if (registry->count < registry->world.world_size) {
        return epi_fail(EPDX_IN_PROGRESS,
                        "%" PRIu32 " of %" PRIu32
                        " encode ranks have registered",
                        registry->count, registry->world.world_size);
    }
    *world_p = registry->world;
    return EPDX_OK;
}

epdx_status_t epi_registry_rank(const epi_registry_t *registry, uint32_t rank,
                                uint32_t group, epi_route_rank_t *rank_p)
{
    epi_route_world_t world = {0};
    epdx_status_t status = epi_registry_world(registry, &world);
    uint32_t group_size;

    if (status != EPDX_OK) {
        return status;
    }
    group_size = world.world_size / world.dp_size;
    if (group >= world.dp_size) {
        return epi_fail(EPDX_ERR_NOT_FOUND,
                        "target_dp_group %" PRIu32
                        " is not below dp_size %" PRIu32,
                        group, world.dp_size);
    }
    if (rank >= group_size) {
        return epi_fail(EPDX_ERR_NOT_FOUND,
                        "engine_rank %" PRIu32 " is not below the %" PRIu32
                        " ranks of a DP group",
                        rank, group_size);
    }
    *rank_p = registry->slots[group * group_size + rank].rank;
    return EPDX_OK;
}

void epi_registry_close(epi_registry_t *registry)
{
    free(registry);
}
