/* cudaplane.c: see cudaplane.h; the operations, but for those of transfers. */
#include "cudaplane/cudaplane.h"

#include <sched.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "cudaplane/cudaplane_internal.h"

#define MIB ((size_t)1 << 20)
/** What was under way ends within this, or is given up. */
#define CLOSE_LIMIT_NS (2 * EPI_S)

static const char *cp_address(epi_dataplane_t *dp)
{
    epi_dataplane_t *inner = epi_cp_plane(dp)->inner;

    return inner->ops->address(inner);
}

static void cp_admit(epi_dataplane_t *dp, const char *host)
{
    epi_dataplane_t *inner = epi_cp_plane(dp)->inner;

    inner->ops->admit(inner, host);
}

/* The inner plane cannot reach the region, for the reason of the last error. */
static epdx_status_t stage(epi_cp_plane_t *plane, const char *why)
{
    int device = plane->params.memory.device;

    epi_log_warn("memory of device %d is not reached by the transport: rows "
                 "are %s it through %zu MiB of pinned host memory "
                 "(EPDX_CUDA_STAGING_MB): %s",
                 device, plane->params.sends ? "copied from" : "copied to",
                 plane->params.staging_bytes / MIB, why);
    return epi_cp_lane_open(plane,
                            plane->params.sends ? &plane->out : &plane->in);
}

static epdx_status_t map_device(epi_cp_plane_t *plane,
                                const epi_memory_ops_t *memory,
                                epi_cp_region_t *region)
{
    epdx_status_t status;

    region->device = true;
    if (plane->flush_mode == EPI_FLUSH_LACKS && !plane->params.sends) {
        return stage(plane, "this device cannot order or flush such writes");
    }
    status = plane->inner->ops->map(plane->inner, memory, region->base,
                                    region->bytes, &region->inner);
    if (status != EPDX_OK) {
        region->inner = NULL;
        return stage(plane, epdx_last_error());
    }
    epi_log_info("rows go straight %s memory of device %d%s",
                 plane->params.sends ? "out of" : "into",
                 plane->params.memory.device,
                 plane->flush_mode == EPI_FLUSH_NEEDED && !plane->params.sends
                     ? ", and are flushed"
                     : "");
    return EPDX_OK;
}

static epdx_status_t cp_map(epi_dataplane_t *dp, const epi_memory_ops_t *memory,
                            void *base, size_t bytes,
                            epi_dp_region_t **region_p)
{
    epi_cp_plane_t *plane = epi_cp_plane(dp);
    epi_cp_region_t *region = calloc(1, sizeof(*region));
    epdx_status_t status;

    if (region == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY,
                        "data plane: no memory to map a region");
    }
    region->base = base;
    region->bytes = bytes;
    status = memory->kind == EPI_MEMORY_HOST
                 ? plane->inner->ops->map(plane->inner, memory, base, bytes,
                                          &region->inner)
                 : map_device(plane, memory, region);
    if (status != EPDX_OK) {
        free(region);
        return status;
    }
    *region_p = (epi_dp_region_t *)(void *)region;
    return EPDX_OK;
}

static void cp_unmap(epi_dataplane_t *dp, epi_dp_region_t *region)
{
    epi_cp_plane_t *plane = epi_cp_plane(dp);
    epi_cp_region_t *mine = (epi_cp_region_t *)(void *)region;

    if (mine != NULL && mine->inner != NULL) {
        plane->inner->ops->unmap(plane->inner, mine->inner);
    }
    free(mine);
}

static epdx_status_t cp_connect(epi_dataplane_t *dp, const char *address,
                                uint64_t cookie, epi_dp_peer_t **peer_p)
{
    epi_dataplane_t *inner = epi_cp_plane(dp)->inner;

    return inner->ops->connect(inner, address, cookie, peer_p);
}

static void cp_disconnect(epi_dataplane_t *dp, epi_dp_peer_t *peer)
{
    epi_cp_plane_t *plane = epi_cp_plane(dp);

    if (peer != NULL) {
        epi_cp_offers_disconnect(plane, peer);
        plane->inner->ops->disconnect(plane->inner, peer);
    }
}

static void cp_drop(epi_dataplane_t *dp, uint64_t link)
{
    epi_cp_plane_t *plane = epi_cp_plane(dp);

    plane->inner->ops->drop(plane->inner, link);
    epi_cp_pulls_drop(plane, link);
}

static bool cp_progress(epi_dataplane_t *dp)
{
    epi_cp_plane_t *plane = epi_cp_plane(dp);
    bool done = plane->inner->ops->progress(plane->inner);

    plane->flushed = false;
    done |= epi_cp_pulls_progress(plane);
    done |= epi_cp_offers_progress(plane);
    return done;
}

/* The end of a transfer at the inner plane. True: it is the end here, too. */
static bool came_back(epi_cp_plane_t *plane, const epi_dp_event_t *event)
{
    epi_cp_transfer_t *transfer = (epi_cp_transfer_t *)(uintptr_t)event->cookie;

    if (event->kind == EPI_DP_PULLED) {
        return epi_cp_pulled(plane, transfer, event->status);
    }
    transfer->status = event->status;
    return true;
}

static bool cp_next(epi_dataplane_t *dp, epi_dp_event_t *event_p)
{
    epi_cp_plane_t *plane = epi_cp_plane(dp);

    if (plane->ended.first != NULL) {
        epi_cp_event(plane, plane->ended.first, event_p);
        return true;
    }
    /* An offer needs a transfer: without one it is left where it is. */
    while (epi_cp_reserve(plane) == EPDX_OK &&
           plane->inner->ops->next(plane->inner, event_p)) {
        switch (event_p->kind) {
        case EPI_DP_OFFER:
            epi_cp_offer_in(plane, event_p);
            return true;
        case EPI_DP_PEER_DOWN:
            return true;
        case EPI_DP_PULLED:
        case EPI_DP_SENT:
            if (came_back(plane, event_p)) {
                epi_cp_event(plane,
                             (epi_cp_transfer_t *)(uintptr_t)event_p->cookie,
                             event_p);
                return true;
            }
            break;
        }
    }
    return false;
}

static int cp_event_fd(epi_dataplane_t *dp)
{
    epi_dataplane_t *inner = epi_cp_plane(dp)->inner;

    return inner->ops->event_fd(inner);
}

static epdx_status_t cp_arm(epi_dataplane_t *dp)
{
    epi_cp_plane_t *plane = epi_cp_plane(dp);

    if (plane->unready.first != NULL || plane->ended.first != NULL ||
        epi_cp_lane_busy(&plane->in) || epi_cp_lane_busy(&plane->out)) {
        return EPDX_IN_PROGRESS;
    }
    return plane->inner->ops->arm(plane->inner);
}

static void cp_transport(epi_dataplane_t *dp, char *out, size_t size)
{
    epi_dataplane_t *inner = epi_cp_plane(dp)->inner;

    inner->ops->transport(inner, out, size);
}

/* What waits ends, and what the inner plane has is cut off there. */
static void cut(epi_cp_plane_t *plane)
{
    epi_dataplane_t *dp = &plane->base;
    epi_cp_transfer_t *transfer;

    while ((transfer = plane->in.waiting.first) != NULL) {
        cp_drop(dp, transfer->link);
    }
    while ((transfer = plane->unready.first) != NULL ||
           (transfer = plane->out.waiting.first) != NULL) {
        cp_disconnect(dp, transfer->peer);
    }
    for (transfer = plane->out.copying.first; transfer != NULL;
         transfer = transfer->next) {
        cp_disconnect(dp, transfer->peer);
    }
    for (transfer = plane->inside.first; transfer != NULL;
         transfer = transfer->next) {
        if (transfer->pull) {
            plane->inner->ops->drop(plane->inner, transfer->link);
        } else {
            cp_disconnect(dp, transfer->peer);
        }
    }
}

/* Until neither the inner plane nor the device uses staging memory or rows.
 * False: they still do. */
static bool settle(epi_cp_plane_t *plane)
{
    uint64_t limit = epi_after(epi_now_ns(), CLOSE_LIMIT_NS);
    epi_dp_event_t event;

    while (plane->inside.first != NULL || plane->in.copying.first != NULL ||
           plane->out.copying.first != NULL) {
        if (!cp_progress(&plane->base)) {
            sched_yield();
        }
        while (cp_next(&plane->base, &event)) {
            if (event.kind == EPI_DP_OFFER) {
                epi_cp_refuse(&plane->base, event.offer);
            }
        }
        if (epi_now_ns() >= limit) {
            return false;
        }
    }
    return true;
}

/* Planes whose staging memory is still in use: never freed, but not lost. */
static _Atomic(epi_cp_plane_t *) abandoned;

static void abandon(epi_cp_plane_t *plane)
{
    epi_log_error("copies or transfers did not end in 2 s: the staging memory "
                  "of device %d is left allocated",
                  plane->params.memory.device);
    plane->abandoned_before = atomic_exchange(&abandoned, plane);
}

static void cp_close(epi_dataplane_t *dp)
{
    epi_cp_plane_t *plane;
    bool settled;

    if (dp == NULL) {
        return;
    }
    plane = epi_cp_plane(dp);
    cut(plane);
    settled = settle(plane);
    if (settled) {
        epi_cp_lane_close(plane, &plane->in);
        epi_cp_lane_close(plane, &plane->out);
    }
    plane->inner->ops->close(plane->inner);
    epi_cp_transfers_fini(plane);
    if (settled) {
        free(plane);
    } else {
        abandon(plane);
    }
}

static const epi_dp_ops_t cp_ops = {
    .address = cp_address,
    .admit = cp_admit,
    .map = cp_map,
    .unmap = cp_unmap,
    .connect = cp_connect,
    .disconnect = cp_disconnect,
    .offer = epi_cp_offer,
    .pull = epi_cp_pull,
    .refuse = epi_cp_refuse,
    .drop = cp_drop,
    .progress = cp_progress,
    .next = cp_next,
    .event_fd = cp_event_fd,
    .arm = cp_arm,
    .transport = cp_transport,
    .close = cp_close,
};

epdx_status_t epi_cudaplane_wrap(const epi_cudaplane_params_t *params,
                                 epi_dataplane_t **dp)
{
    epi_cp_plane_t *plane;

    if (params->memory.ops->copies == NULL) {
        return EPDX_OK;
    }
    plane = calloc(1, sizeof(*plane));
    if (plane == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "data plane: no memory");
    }
    plane->base.ops = &cp_ops;
    plane->inner = *dp;
    plane->params = *params;
    plane->flush_mode = epi_cp_copies(plane)->flush_mode(params->memory.device);
    *dp = &plane->base;
    return EPDX_OK;
}

void epi_cudaplane_moved(const epi_dataplane_t *dp,
                         epi_cudaplane_moved_t *moved_p)
{
    const epi_cp_plane_t *plane = (const epi_cp_plane_t *)dp;

    *moved_p = (epi_cudaplane_moved_t){0};
    if (dp->ops == &cp_ops) {
        moved_p->direct_bytes =
            atomic_load_explicit(&plane->direct_bytes, memory_order_relaxed);
        moved_p->staged_bytes =
            atomic_load_explicit(&plane->staged_bytes, memory_order_relaxed);
    }
}
