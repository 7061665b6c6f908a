/*
 * directory.c: which nodes and encode ranks are known, in tables of a fixed
 * size. Addresses come with requests, as many as the gateway likes: where a
 * table is full, an entry that nothing waits at makes way.
 */
#include <string.h>

#include "receive/nodes.h"

static void find_init(epi_find_t *find)
{
    *find = (epi_find_t){.first_item = EPI_NONE, .last_item = EPI_NONE};
}

/* Nothing waits here, and nothing is under way. */
static bool idle(const epi_find_t *find)
{
    return find->first_item == EPI_NONE &&
           (find->state == EPI_FIND_IDLE || find->state == EPI_FIND_DONE);
}

static uint64_t node_key(const char *address)
{
    return epi_hash(address, strlen(address));
}

static uint64_t peer_key(uint32_t node, uint32_t group)
{
    return ((uint64_t)node << 32) | group;
}

static void peer_free(epi_nodes_t *nodes, uint32_t index)
{
    epi_peer_t *peer = &nodes->peers[index];

    if (peer->control != EPI_NONE) {
        epi_control_disconnect(nodes->control, peer->control);
        peer->control = EPI_NONE;
    }
    epi_timers_clear(&nodes->timers, nodes->max + index);
    (void)epi_table_remove(&nodes->peer_by_group,
                           peer_key(peer->node, peer->group));
    peer->used = false;
}

static bool node_idle(const epi_nodes_t *nodes, uint32_t index)
{
    bool all = nodes->nodes[index].used && idle(&nodes->nodes[index].find);

    for (uint32_t i = 0; all && i < nodes->max; i++) {
        const epi_peer_t *peer = &nodes->peers[i];

        all = !peer->used || peer->node != index || idle(&peer->find);
    }
    return all;
}

static void node_free(epi_nodes_t *nodes, uint32_t index)
{
    for (uint32_t i = 0; i < nodes->max; i++) {
        if (nodes->peers[i].used && nodes->peers[i].node == index) {
            peer_free(nodes, i);
        }
    }
    epi_timers_clear(&nodes->timers, index);
    (void)epi_table_remove(&nodes->node_by_address,
                           node_key(nodes->nodes[index].address));
    nodes->nodes[index].used = false;
}

/* A free entry, if need be of a node that nothing needs; EPI_NONE. */
static uint32_t node_slot(epi_nodes_t *nodes)
{
    for (uint32_t i = 0; i < nodes->max; i++) {
        if (!nodes->nodes[i].used) {
            return i;
        }
    }
    for (uint32_t i = 0; i < nodes->max; i++) {
        if (node_idle(nodes, i)) {
            node_free(nodes, i);
            return i;
        }
    }
    return EPI_NONE;
}

static uint32_t peer_slot(epi_nodes_t *nodes)
{
    for (uint32_t i = 0; i < nodes->max; i++) {
        if (!nodes->peers[i].used) {
            return i;
        }
    }
    for (uint32_t i = 0; i < nodes->max; i++) {
        if (idle(&nodes->peers[i].find)) {
            peer_free(nodes, i);
            return i;
        }
    }
    return EPI_NONE;
}

uint32_t epi_node_get(epi_nodes_t *nodes, const char *address)
{
    uint32_t index;

    if (epi_table_find(&nodes->node_by_address, node_key(address), &index)) {
        return strcmp(nodes->nodes[index].address, address) == 0 ? index
                                                                 : EPI_NONE;
    }
    index = node_slot(nodes);
    if (index == EPI_NONE ||
        epi_table_add(&nodes->node_by_address, node_key(address), index) !=
            EPDX_OK) {
        return EPI_NONE;
    }
    find_init(&nodes->nodes[index].find);
    nodes->nodes[index].used = true;
    (void)epi_text_copy(nodes->nodes[index].address,
                        sizeof(nodes->nodes[index].address), address);
    return index;
}

uint32_t epi_peer_get(epi_nodes_t *nodes, uint32_t node, uint32_t group)
{
    uint32_t index;

    if (epi_table_find(&nodes->peer_by_group, peer_key(node, group), &index)) {
        return index;
    }
    index = peer_slot(nodes);
    if (index == EPI_NONE ||
        epi_table_add(&nodes->peer_by_group, peer_key(node, group), index) !=
            EPDX_OK) {
        return EPI_NONE;
    }
    nodes->peers[index] = (epi_peer_t){
        .used = true, .node = node, .group = group, .control = EPI_NONE};
    find_init(&nodes->peers[index].find);
    return index;
}
