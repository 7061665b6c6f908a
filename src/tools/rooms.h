/*
 * rooms.h: the room of an item, and the encode node that serves it. Both
 * programs derive them from the place of the item in the workload.
 */
#ifndef EPI_TOOLS_ROOMS_H
#define EPI_TOOLS_ROOMS_H

#include <stdint.h>

#define EPI_ROOM_ITEM_BITS   16
#define EPI_ROOM_REQUEST_MAX ((UINT64_C(1) << 47) - 1)

/** Of item `item` (below 2^16) of request `request` (at most
 *  EPI_ROOM_REQUEST_MAX), both from 0. Never 0, and never twice the same. */
static inline uint64_t epi_room(uint64_t request, uint64_t item)
{
    return (request + 1) << EPI_ROOM_ITEM_BITS | item;
}

static inline uint64_t epi_room_request(uint64_t room)
{
    return (room >> EPI_ROOM_ITEM_BITS) - 1;
}

static inline uint64_t epi_room_item(uint64_t room)
{
    return room & ((UINT64_C(1) << EPI_ROOM_ITEM_BITS) - 1);
}

/** Items of one request lie on different nodes. */
static inline uint32_t epi_room_node(uint64_t request, uint64_t item,
                                     uint32_t nodes)
{
    return (uint32_t)((request + item) % nodes);
}

#endif
