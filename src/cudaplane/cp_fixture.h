/*
 * cp_fixture.h: two planes over device memory, for the tests of this folder:
 * loopback planes of one hub, each wrapped, with a pool and a ring in device
 * memory: the fake's, or a GPU's. The inner planes reach device memory or do
 * not, as a test says, and fail when told to. That of a GPU they never reach.
 */
#ifndef EPI_CUDAPLANE_CP_FIXTURE_H
#define EPI_CUDAPLANE_CP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cudaplane/cudaplane.h"
#include "dataplane/loopback.h"
#include "testing/fake_cuda.h"
#include "testing/gpu_under_test.h"

#define EPI_CPT_DEVICE     epi_gpu_device(1)
#define EPI_CPT_MEMORY     ((size_t)256 << 10) /* of pool and of ring */
#define EPI_CPT_STAGING    ((size_t)16 << 10)
#define EPI_CPT_RECORD_MAX 64

typedef struct epi_cpt_record {
    size_t offers, pulled, sent, down;
    epi_dp_event_t offer[EPI_CPT_RECORD_MAX];
    epi_dp_event_t pull[EPI_CPT_RECORD_MAX]; /* in the order told */
    epi_dp_event_t send[EPI_CPT_RECORD_MAX];
} epi_cpt_record_t;

/** How the inner planes are. */
typedef struct epi_cpt_inner {
    bool sender_reaches;   /* device memory, when it is mapped */
    bool receiver_reaches; /* likewise */
    bool host_map_fails;
    size_t device_maps; /* asked for */
} epi_cpt_inner_t;

typedef struct epi_cpt {
    epi_loopback_hub_t *hub;
    epi_dataplane_t *sender, *receiver;
    epi_dataplane_t *inner_sender, *inner_receiver;
    epi_dp_peer_t *peer; /* of sender, cookie 7 */
    epi_dp_region_t *ring_region, *pool_region;
    uint8_t *ring, *pool; /* device memory */
    epi_cpt_record_t s, r;
} epi_cpt_t;

extern epi_cpt_inner_t epi_cpt_inner;

/** cmocka fixtures: staged at both ends; direct at both ends. */
int epi_cpt_staged(void **state);
int epi_cpt_direct(void **state);
/** Also checks that nothing is left on the device and nothing was misused. */
int epi_cpt_teardown(void **state);

/** The pieces of a fixture: planes that are connected; their memory. */
void epi_cpt_open(epi_cpt_t *test);
void epi_cpt_map(epi_cpt_t *test);
/** Forget a plane, which the test closes. */
void epi_cpt_close(epi_cpt_t *test);

/** Whether nobody has written the first byte at some device memory. */
bool epi_cpt_untouched(const uint8_t *device);

/** Write bytes of device memory that seed tells apart. */
void epi_cpt_fill(uint8_t *device, size_t bytes, unsigned seed);

/** Offer bytes of the ring at an offset; header "head". */
epdx_status_t epi_cpt_offer(epi_cpt_t *test, size_t offset, size_t bytes,
                            void *ready, uint64_t cookie);
/** Pull the index-th offer that came into the pool at an offset. */
epdx_status_t epi_cpt_pull(epi_cpt_t *test, size_t index, size_t offset,
                           uint64_t cookie);

/** Progress both once and take their events. */
void epi_cpt_pump(epi_cpt_t *test);
/** Pump until *counter is at least value; fails after half a minute. */
void epi_cpt_wait(epi_cpt_t *test, const size_t *counter, size_t value);
/** Pump on, long enough for what should not come. */
void epi_cpt_settle(epi_cpt_t *test);

/** Whether pool and ring hold the same at those offsets. */
bool epi_cpt_same(const epi_cpt_t *test, size_t pool_at, size_t ring_at,
                  size_t bytes);

/** An event in a stream of its own, which is held until epi_cpt_done(). */
typedef struct epi_cpt_event {
    cudaStream_t stream;
    cudaEvent_t event;
} epi_cpt_event_t;

epi_cpt_event_t epi_cpt_event(void);
void epi_cpt_event_done(const epi_cpt_event_t *event);
void epi_cpt_event_close(const epi_cpt_event_t *event);

/** Whether the last error has these words; else the test fails. */
void epi_cpt_says(const char *words);

#endif
