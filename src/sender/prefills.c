/* prefills.c: see prefills.h. */
#include "sender/prefills.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"

epdx_status_t epi_prefills_init(epi_prefills_t *prefills,
                                epi_control_t *control, epi_dataplane_t *dp,
                                size_t capacity)
{
    epdx_status_t status;

    *prefills = (epi_prefills_t){
        .control = control,
        .dp = dp,
        .capacity = capacity,
        .seed = epi_random_u64(),
        .oldest = EPI_NO_INDEX,
        .newest = EPI_NO_INDEX,
    };
    prefills->prefills = calloc(capacity, sizeof(*prefills->prefills));
    prefills->by_control = calloc(capacity, sizeof(*prefills->by_control));
    if (prefills->prefills == NULL || prefills->by_control == NULL) {
        epi_prefills_fini(prefills);
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "no memory for %zu prefill ranks (EPDX_MAX_PEERS)",
                        capacity);
    }
    for (size_t i = 0; i < capacity; i++) {
        prefills->by_control[i] = EPI_NO_INDEX;
        prefills->prefills[i].newer =
            i + 1 < capacity ? (uint32_t)(i + 1) : EPI_NO_INDEX;
    }
    status = epi_table_init(&prefills->by_session, capacity, epi_random_u64());
    if (status != EPDX_OK) {
        epi_prefills_fini(prefills);
    }
    return status;
}

void epi_prefills_fini(epi_prefills_t *prefills)
{
    if (prefills->prefills != NULL) {
        for (size_t i = 0; i < prefills->capacity; i++) {
            if (prefills->prefills[i].used) {
                epi_prefills_drop(prefills, &prefills->prefills[i]);
            }
        }
    }
    free(prefills->prefills);
    free(prefills->by_control);
    epi_table_fini(&prefills->by_session);
    *prefills = (epi_prefills_t){0};
}

uint32_t epi_prefills_index(const epi_prefills_t *prefills,
                            const epi_prefill_t *prefill)
{
    return (uint32_t)(prefill - prefills->prefills);
}

/* The key is seeded, so that nobody can make two session ids meet on
 * purpose; those that meet by chance are told apart by the text. */
static uint64_t session_key(const epi_prefills_t *prefills, const char *session)
{
    char text[sizeof(uint64_t) + EPDX_ADDRESS_MAX + 1];
    size_t length = strnlen(session, EPDX_ADDRESS_MAX);

    memcpy(text, &prefills->seed, sizeof(uint64_t));
    memcpy(text + sizeof(uint64_t), session, length);
    return epi_hash(text, sizeof(uint64_t) + length);
}

epi_prefill_t *epi_prefills_find(epi_prefills_t *prefills, const char *session)
{
    uint32_t index;

    if (!epi_table_find(&prefills->by_session, session_key(prefills, session),
                        &index) ||
        strcmp(prefills->prefills[index].session, session) != 0) {
        return NULL;
    }
    return &prefills->prefills[index];
}

epi_prefill_t *epi_prefills_of_control(epi_prefills_t *prefills, uint32_t peer)
{
    if (peer >= prefills->capacity ||
        prefills->by_control[peer] == EPI_NO_INDEX) {
        return NULL;
    }
    return &prefills->prefills[prefills->by_control[peer]];
}

static uint64_t cookie_of(const epi_prefills_t *prefills,
                          const epi_prefill_t *prefill)
{
    return ((uint64_t)prefill->life << 32) |
           epi_prefills_index(prefills, prefill);
}

epi_prefill_t *epi_prefills_of_cookie(epi_prefills_t *prefills, uint64_t cookie)
{
    uint64_t index = cookie & UINT32_MAX;
    epi_prefill_t *prefill;

    if (index >= prefills->capacity) {
        return NULL;
    }
    prefill = &prefills->prefills[index];
    return prefill->used && cookie_of(prefills, prefill) == cookie ? prefill
                                                                   : NULL;
}

bool epi_prefills_changed(const epi_prefill_t *prefill,
                          const epi_prefill_name_t *name)
{
    return prefill->status_port != name->status_port ||
           strcmp(prefill->endpoint, name->endpoint) != 0 ||
           strcmp(prefill->curve_key, name->key) != 0 ||
           (prefill->instance[0] != '\0' && name->instance[0] != '\0' &&
            strcmp(prefill->instance, name->instance) != 0);
}

/* Those without open asks stand in a list, longest silent first. */
static void idle_append(epi_prefills_t *prefills, epi_prefill_t *prefill)
{
    uint32_t index = epi_prefills_index(prefills, prefill);

    prefill->newer = EPI_NO_INDEX;
    prefill->older = prefills->newest;
    if (prefills->newest != EPI_NO_INDEX) {
        prefills->prefills[prefills->newest].newer = index;
    } else {
        prefills->oldest = index;
    }
    prefills->newest = index;
}

static void idle_remove(epi_prefills_t *prefills, epi_prefill_t *prefill)
{
    if (prefill->older != EPI_NO_INDEX) {
        prefills->prefills[prefill->older].newer = prefill->newer;
    } else {
        prefills->oldest = prefill->newer;
    }
    if (prefill->newer != EPI_NO_INDEX) {
        prefills->prefills[prefill->newer].older = prefill->older;
    } else {
        prefills->newest = prefill->older;
    }
}

void epi_prefills_hold(epi_prefills_t *prefills, epi_prefill_t *prefill)
{
    if (prefill->open_asks++ == 0) {
        idle_remove(prefills, prefill);
    }
}

void epi_prefills_release(epi_prefills_t *prefills, epi_prefill_t *prefill)
{
    if (--prefill->open_asks == 0) {
        idle_append(prefills, prefill);
    }
}

void epi_prefills_touch(epi_prefills_t *prefills, epi_prefill_t *prefill)
{
    if (prefill->open_asks == 0) {
        idle_remove(prefills, prefill);
        idle_append(prefills, prefill);
    }
}

/* A free place, if need be that of the rank which was silent longest. */
static epi_prefill_t *place_find(epi_prefills_t *prefills)
{
    if (prefills->first_free == EPI_NO_INDEX) {
        if (prefills->oldest == EPI_NO_INDEX) {
            return NULL;
        }
        epi_prefills_drop(prefills, &prefills->prefills[prefills->oldest]);
    }
    return &prefills->prefills[prefills->first_free];
}

static void place_fill(epi_prefill_t *prefill, const epi_prefill_name_t *name)
{
    *prefill = (epi_prefill_t){.life = prefill->life + 1,
                               .status_port = name->status_port,
                               .newer = prefill->newer};
    (void)epi_text_copy(prefill->session, sizeof(prefill->session),
                        name->session);
    (void)epi_text_copy(prefill->endpoint, sizeof(prefill->endpoint),
                        name->endpoint);
    (void)epi_text_copy(prefill->instance, sizeof(prefill->instance),
                        name->instance);
    (void)epi_text_copy(prefill->curve_key, sizeof(prefill->curve_key),
                        name->key);
}

epdx_status_t epi_prefills_add(epi_prefills_t *prefills,
                               const epi_prefill_name_t *name,
                               epi_prefill_t **prefill_p)
{
    epi_prefill_t *prefill = place_find(prefills);
    uint32_t index;
    epdx_status_t status;

    if (prefill == NULL) {
        return epi_fail(EPDX_ERR_FULL,
                        "%zu prefill ranks have open asks (EPDX_MAX_PEERS)",
                        prefills->capacity);
    }
    index = epi_prefills_index(prefills, prefill);
    place_fill(prefill, name);
    prefill->key = session_key(prefills, name->session);
    status = epi_table_add(&prefills->by_session, prefill->key, index);
    if (status != EPDX_OK) {
        return status;
    }
    status = epi_control_connect_key(prefills->control, name->endpoint,
                                     name->status_port, name->key,
                                     &prefill->control);
    if (status != EPDX_OK) {
        (void)epi_table_remove(&prefills->by_session, prefill->key);
        return status;
    }
    prefills->first_free = prefill->newer;
    prefills->by_control[prefill->control] = index;
    prefills->count++;
    prefill->used = true;
    idle_append(prefills, prefill);
    *prefill_p = prefill;
    return EPDX_OK;
}

void epi_prefills_drop(epi_prefills_t *prefills, epi_prefill_t *prefill)
{
    if (prefill->open_asks == 0) {
        idle_remove(prefills, prefill);
    }
    (void)epi_table_remove(&prefills->by_session, prefill->key);
    prefills->by_control[prefill->control] = EPI_NO_INDEX;
    epi_control_disconnect(prefills->control, prefill->control);
    prefills->dp->ops->disconnect(prefills->dp, prefill->rows);
    prefill->rows = NULL;
    prefill->used = false;
    prefill->newer = prefills->first_free;
    prefills->first_free = epi_prefills_index(prefills, prefill);
    prefills->count--;
}

epdx_status_t epi_prefills_connect(epi_prefills_t *prefills,
                                   epi_prefill_t *prefill)
{
    if (prefill->rows != NULL) {
        return EPDX_OK;
    }
    return prefills->dp->ops->connect(prefills->dp, prefill->session,
                                      cookie_of(prefills, prefill),
                                      &prefill->rows);
}

void epi_prefills_tell(epi_prefills_t *prefills, const epi_prefill_t *prefill,
                       const epi_status_t *status)
{
    epi_message_t message;

    if (epi_status_format(status, &message) != EPDX_OK ||
        epi_control_send(prefills->control, prefill->control, &message) !=
            EPDX_OK) {
        epi_log_debug("status of room %" PRIu64 " was not sent to %s: %s",
                      status->room, prefill->session, epdx_last_error());
    }
}
