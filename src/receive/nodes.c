/* nodes.c: the tables of nodes.h, and which item waits where. */
#include "receive/nodes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"

void epi_list_append(epi_nodes_t *nodes, epi_find_t *list, uint32_t slot)
{
    epi_item_slot_t *slots = nodes->shared->slots;

    slots[slot].next = EPI_NONE;
    slots[slot].previous = list->last_item;
    if (list->last_item == EPI_NONE) {
        list->first_item = slot;
    } else {
        slots[list->last_item].next = slot;
    }
    list->last_item = slot;
}

void epi_list_remove(epi_nodes_t *nodes, epi_find_t *list, uint32_t slot)
{
    epi_item_slot_t *slots = nodes->shared->slots;
    uint32_t next = slots[slot].next;
    uint32_t previous = slots[slot].previous;

    if (previous == EPI_NONE) {
        list->first_item = next;
    } else {
        slots[previous].next = next;
    }
    if (next == EPI_NONE) {
        list->last_item = previous;
    } else {
        slots[next].previous = previous;
    }
}

epdx_status_t epi_nodes_init(epi_nodes_t *nodes, epi_receive_shared_t *shared,
                             epi_control_t *control, epi_http_t *http)
{
    uint32_t max = (uint32_t)shared->config.max_peers;
    epdx_status_t status;

    *nodes = (epi_nodes_t){
        .shared = shared, .control = control, .http = http, .max = max};
    epi_text_format(nodes->instance, sizeof(nodes->instance), "%016" PRIx64,
                    epi_random_u64());
    nodes->nodes = calloc(max, sizeof(*nodes->nodes));
    nodes->peers = calloc(max, sizeof(*nodes->peers));
    nodes->peer_by_control = calloc(max, sizeof(*nodes->peer_by_control));
    if (nodes->nodes == NULL || nodes->peers == NULL ||
        nodes->peer_by_control == NULL) {
        status = epi_fail(EPDX_ERR_NO_MEMORY,
                          "no memory for %" PRIu32 " encode nodes; lower "
                          "EPDX_MAX_PEERS",
                          max);
        goto err_fini;
    }
    status = epi_table_init(&nodes->node_by_address, max, epi_random_u64());
    if (status != EPDX_OK) {
        goto err_fini;
    }
    status = epi_table_init(&nodes->peer_by_group, max, epi_random_u64());
    if (status != EPDX_OK) {
        goto err_fini;
    }
    status = epi_timers_init(&nodes->timers, (size_t)max * 2);
    if (status != EPDX_OK) {
        goto err_fini;
    }
    return EPDX_OK;

err_fini:
    epi_nodes_fini(nodes);
    return status;
}

/* Move an item from its node's list to its encode rank's. */
static void item_seat(epi_nodes_t *nodes, uint32_t slot, uint64_t now)
{
    epi_item_slot_t *item = &nodes->shared->slots[slot];
    epi_node_t *node = &nodes->nodes[item->node];
    uint32_t encode_tp = node->world.world_size / node->world.dp_size;
    uint32_t group = (uint32_t)(item->room % node->world.dp_size);
    uint32_t peer = epi_peer_get(nodes, item->node, group);

    if (peer == EPI_NONE) {
        nodes->events.item_refused(nodes->events.self, slot, EPDX_ERR_FULL,
                                   "too many encode ranks; raise "
                                   "EPDX_MAX_PEERS");
        return;
    }
    epi_list_remove(nodes, &node->find, slot);
    item->peer = peer;
    epi_list_append(nodes, &nodes->peers[peer].find, slot);
    if (nodes->peers[peer].find.state == EPI_FIND_IDLE) {
        nodes->peers[peer].fanout = nodes->shared->config.tp_size / encode_tp;
        epi_find_peer(nodes, peer, now);
    } else if (nodes->peers[peer].find.state == EPI_FIND_DONE) {
        nodes->events.item_up(nodes->events.self, slot);
    }
}

/* Refuse every item that waits at a node whose ranks do not divide ours. */
static void node_refuse(epi_nodes_t *nodes, epi_node_t *node)
{
    char words[160];

    epi_text_format(words, sizeof(words),
                    "prefill_tp must be a multiple of encode_tp (encode_tp=%u, "
                    "prefill_tp=%u)",
                    node->world.world_size / node->world.dp_size,
                    nodes->shared->config.tp_size);
    node->find.state = EPI_FIND_IDLE;
    while (node->find.first_item != EPI_NONE) {
        nodes->events.item_refused(nodes->events.self, node->find.first_item,
                                   EPDX_ERR_MISMATCH, words);
    }
}

/* Seat every item that waits at a node which is known now. */
void epi_nodes_seat(epi_nodes_t *nodes, uint32_t index, uint64_t now)
{
    epi_node_t *node = &nodes->nodes[index];
    uint32_t encode_tp = node->world.world_size / node->world.dp_size;

    if (nodes->shared->config.tp_size % encode_tp != 0) {
        node_refuse(nodes, node);
        return;
    }
    while (node->find.first_item != EPI_NONE) {
        item_seat(nodes, node->find.first_item, now);
    }
}

/* A peer was lost: who still waits for it waits at its node again, and the
 * node is looked up anew, since what it said may have changed. */
void epi_nodes_unseat(epi_nodes_t *nodes, uint32_t index, uint64_t now)
{
    epi_peer_t *peer = &nodes->peers[index];
    epi_node_t *node = &nodes->nodes[peer->node];

    while (peer->find.first_item != EPI_NONE) {
        uint32_t slot = peer->find.first_item;
        epi_item_slot_t *item = &nodes->shared->slots[slot];

        epi_list_remove(nodes, &peer->find, slot);
        item->peer = EPI_NONE;
        item->phase = EPI_ITEM_FINDING;
        epi_list_append(nodes, &node->find, slot);
    }
    if (node->find.state == EPI_FIND_DONE) {
        node->find.state = EPI_FIND_IDLE;
        (void)epi_text_copy(node->find.error, sizeof(node->find.error),
                            peer->find.error);
    }
    if (node->find.state == EPI_FIND_IDLE &&
        node->find.first_item != EPI_NONE) {
        /* Not at once: a peer that just died would be found again as it was. */
        epi_timers_set(&nodes->timers, peer->node, epi_after(now, 50 * EPI_MS));
    }
}

bool epi_nodes_join(epi_nodes_t *nodes, uint32_t slot, uint64_t now)
{
    epi_item_slot_t *item = &nodes->shared->slots[slot];
    uint32_t index = epi_node_get(nodes, item->encode);

    if (index == EPI_NONE) {
        return false;
    }
    item->node = index;
    item->peer = EPI_NONE;
    epi_list_append(nodes, &nodes->nodes[index].find, slot);
    if (nodes->nodes[index].find.state == EPI_FIND_DONE) {
        epi_nodes_seat(nodes, index, now);
    } else {
        epi_find_node(nodes, index, now);
    }
    return true;
}

void epi_nodes_leave(epi_nodes_t *nodes, uint32_t slot)
{
    epi_item_slot_t *item = &nodes->shared->slots[slot];

    if (item->peer != EPI_NONE) {
        epi_list_remove(nodes, &nodes->peers[item->peer].find, slot);
    } else if (item->node != EPI_NONE) {
        epi_list_remove(nodes, &nodes->nodes[item->node].find, slot);
    }
    item->node = EPI_NONE;
    item->peer = EPI_NONE;
}

bool epi_nodes_up(const epi_nodes_t *nodes, uint32_t slot)
{
    uint32_t peer = nodes->shared->slots[slot].peer;

    return peer != EPI_NONE && nodes->peers[peer].find.state == EPI_FIND_DONE;
}

static const epi_find_t *item_find(const epi_nodes_t *nodes, uint32_t slot)
{
    const epi_item_slot_t *item = &nodes->shared->slots[slot];

    if (item->node == EPI_NONE) {
        return NULL;
    }
    return item->peer == EPI_NONE ? &nodes->nodes[item->node].find
                                  : &nodes->peers[item->peer].find;
}

uint64_t epi_nodes_failing(const epi_nodes_t *nodes, uint32_t slot)
{
    const epi_find_t *find = item_find(nodes, slot);

    return find == NULL || find->tries == 0 ? EPI_NEVER : find->failing_ns;
}

void epi_nodes_explain(const epi_nodes_t *nodes, uint32_t slot, char *words,
                       size_t size)
{
    const epi_find_t *find = item_find(nodes, slot);

    if (find == NULL) {
        (void)epi_text_copy(words, size, "its encode node is not looked up");
        return;
    }
    epi_text_format(
        words, size, "its encode rank was not reached in %" PRIu32 " tries: %s",
        find->tries, find->error[0] == '\0' ? "none has ended" : find->error);
}

void epi_nodes_fini(epi_nodes_t *nodes)
{
    epi_timers_fini(&nodes->timers);
    epi_table_fini(&nodes->peer_by_group);
    epi_table_fini(&nodes->node_by_address);
    free(nodes->peer_by_control);
    free(nodes->peers);
    free(nodes->nodes);
    *nodes = (epi_nodes_t){0};
}
