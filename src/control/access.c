/* access.c: see access.h. */
#include "control/access.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <zmq.h>

#include "base/error.h"
#include "base/log.h"
#include "base/resolve.h"
#include "base/text.h"
#include "control/control_socket.h"

#define ZAP_ADDRESS "inproc://zeromq.zap.01"
#define ZAP_VERSION "1.0"
#define KEY_BYTES   32
/** Of the guarded socket's monitor: no peer's. */
#define DOOR_SERIAL UINT64_MAX

/** The frames of a question about a CURVE client. */
enum {
    ZAP_FRAME_VERSION,
    ZAP_FRAME_ID,
    ZAP_FRAME_DOMAIN,
    ZAP_FRAME_ADDRESS,
    ZAP_FRAME_IDENTITY,
    ZAP_FRAME_MECHANISM,
    ZAP_FRAME_KEY,
    ZAP_FRAMES,
};

epdx_status_t epi_access_open(epi_access_t *access, const char *key_file,
                              const char *allowed_file)
{
    epdx_status_t status;
    bool listed = allowed_file != NULL && allowed_file[0] != '\0';

    *access = (epi_access_t){.zap_fd = -1, .door.fd = -1};
    if (key_file == NULL || key_file[0] == '\0') {
        return listed ? epi_fail(EPDX_ERR_INVALID,
                                 "EPDX_CURVE_ALLOWED_FILE is set and "
                                 "EPDX_CURVE_KEY_FILE is not: a list of keys "
                                 "keeps nobody out without CURVE; make a pair "
                                 "with epdx_keygen")
                      : EPDX_OK;
    }
    status = epi_curve_read(key_file, &access->pair);
    if (status == EPDX_OK && listed) {
        status = epi_allowed_open(&access->allowed, allowed_file, epi_now_ns());
    }
    access->curve = status == EPDX_OK;
    return status;
}

static bool set_text(void *socket, int option, const char *text)
{
    return zmq_setsockopt(socket, option, text, strlen(text)) == 0;
}

static bool set_on(void *socket, int option)
{
    int on = 1;

    return zmq_setsockopt(socket, option, &on, sizeof(on)) == 0;
}

/* A reader that never looked is not told of what comes: look once. */
static bool zap_bind(epi_access_t *access)
{
    size_t size = sizeof(int);
    int none = 0;

    return zmq_setsockopt(access->zap, ZMQ_LINGER, &none, sizeof(none)) == 0 &&
           zmq_bind(access->zap, ZAP_ADDRESS) == 0 &&
           zmq_getsockopt(access->zap, ZMQ_EVENTS, &none, &size) == 0 &&
           zmq_getsockopt(access->zap, ZMQ_FD, &access->zap_fd, &size) == 0;
}

epdx_status_t epi_access_guard(epi_access_t *access, void *context,
                               void *socket)
{
    epdx_status_t status;

    if (access->curve) {
        access->zap = zmq_socket(context, ZMQ_REP);
        if (access->zap == NULL || !zap_bind(access)) {
            return epi_socket_failed("cannot open", ZAP_ADDRESS);
        }
        if (!set_on(socket, ZMQ_CURVE_SERVER) ||
            !set_text(socket, ZMQ_CURVE_SECRETKEY, access->pair.secret_key)) {
            return epi_socket_failed("cannot set up", "CURVE");
        }
    }
    status = epi_monitor_open(context, socket, EPI_MONITOR_FAILURES,
                              DOOR_SERIAL, &access->door);
    if (status == EPDX_OK) {
        access->guarded = socket;
    }
    return status;
}

epdx_status_t epi_access_join(const epi_access_t *access, void *socket,
                              const char *server_key)
{
    if (!access->curve) {
        return server_key[0] == '\0'
                   ? EPDX_OK
                   : epi_fail(EPDX_ERR_INVALID,
                              "the peer takes CURVE only, and there are no "
                              "keys here; set EPDX_CURVE_KEY_FILE");
    }
    if (!epi_curve_key_ok(server_key)) {
        /* Plain text would be a way around the keys. */
        return epi_fail(EPDX_ERR_INVALID,
                        server_key[0] == '\0'
                            ? "the peer has no CURVE key, and here "
                              "EPDX_CURVE_KEY_FILE is set; set it there, too"
                            : "the peer's CURVE key is none");
    }
    if (!set_text(socket, ZMQ_CURVE_SERVERKEY, server_key) ||
        !set_text(socket, ZMQ_CURVE_PUBLICKEY, access->pair.public_key) ||
        !set_text(socket, ZMQ_CURVE_SECRETKEY, access->pair.secret_key)) {
        return epi_socket_failed("cannot set up", "CURVE");
    }
    return EPDX_OK;
}

/* The key that a question is about; false: it is no question about one. */
static bool zap_key(const epi_message_t *asked, char key[EPI_CURVE_KEY + 1])
{
    uint8_t bytes[KEY_BYTES];

    if (asked->count != ZAP_FRAMES ||
        !epi_message_is(asked, ZAP_FRAME_VERSION, ZAP_VERSION) ||
        !epi_message_is(asked, ZAP_FRAME_MECHANISM, "CURVE") ||
        asked->length[ZAP_FRAME_KEY] != KEY_BYTES) {
        return false;
    }
    memcpy(bytes, asked->bytes + asked->start[ZAP_FRAME_KEY], KEY_BYTES);
    return zmq_z85_encode(key, bytes, KEY_BYTES) != NULL;
}

static bool zap_allows(epi_access_t *access, const epi_message_t *asked,
                       char key[EPI_CURVE_KEY + 1], uint64_t now)
{
    char address[64] = "";

    if (!zap_key(asked, key)) {
        return false;
    }
    if (epi_allowed_holds(&access->allowed, key, now)) {
        return true;
    }
    (void)epi_message_text(asked, ZAP_FRAME_ADDRESS, address, sizeof(address));
    epi_text_format(access->denied, sizeof(access->denied),
                    "; the last key refused: %s from %s", key, address);
    return false;
}

static void zap_answer(epi_access_t *access, const epi_message_t *asked,
                       uint64_t now)
{
    char key[EPI_CURVE_KEY + 1] = "";
    bool yes = zap_allows(access, asked, key, now);
    epi_message_t answer;
    bool fits;

    epi_message_clear(&answer);
    fits = epi_message_add_text(&answer, ZAP_VERSION) &&
           (asked->count > ZAP_FRAME_ID
                ? epi_message_add(&answer,
                                  asked->bytes + asked->start[ZAP_FRAME_ID],
                                  asked->length[ZAP_FRAME_ID])
                : epi_message_add_text(&answer, "")) &&
           epi_message_add_text(&answer, yes ? "200" : "400") &&
           epi_message_add_text(&answer, yes ? "OK" : "not allowed") &&
           epi_message_add_text(&answer, yes ? key : "") &&
           epi_message_add_text(&answer, "");
    if (!fits || !epi_socket_send(access->zap, &answer)) {
        epi_log_error("libzmq's question about a key was not answered");
    }
}

static void count_refusal(epi_access_t *access, uint64_t now)
{
    access->refused++;
    if (!epi_seldom(&access->seldom, now)) {
        return;
    }
    if (access->curve) {
        epi_log_warn("%" PRIu64 " control handshakes were refused so far: "
                     "without CURVE, or with a key that "
                     "EPDX_CURVE_ALLOWED_FILE does not have%s",
                     access->refused, access->denied);
    } else {
        epi_log_warn("%" PRIu64 " control handshakes were refused so far: "
                     "with CURVE, for which EPDX_CURVE_KEY_FILE is not set "
                     "here, or in another protocol",
                     access->refused);
    }
}

void epi_access_work(epi_access_t *access, uint64_t now)
{
    epi_monitor_event_t what;
    epi_message_t asked;
    bool fits;

    while (access->zap != NULL &&
           epi_socket_take(access->zap, &asked, NULL, &fits)) {
        zap_answer(access, &asked, now);
    }
    do {
        what = epi_monitor_next(&access->door);
        if (what == EPI_MONITOR_ENDED) {
            count_refusal(access, now);
        }
    } while (what != EPI_MONITOR_NONE);
}

bool epi_access_holds(epi_access_t *access, const char *key, uint64_t now)
{
    return !access->curve || epi_allowed_holds(&access->allowed, key, now);
}

void epi_access_tell(const epi_access_t *access, const char *host)
{
    if (!access->curve) {
        epi_log(epi_host_loopback(host) ? EPDX_LOG_INFO : EPDX_LOG_WARN,
                "the control plane at %s is open: whoever reaches it can ask "
                "for rows and cancel; set EPDX_CURVE_KEY_FILE",
                host);
    } else if (access->allowed.path[0] == '\0') {
        epi_log_warn("the control plane at %s takes any CURVE key; set "
                     "EPDX_CURVE_ALLOWED_FILE",
                     host);
    } else {
        epi_log_info("the control plane at %s takes %zu CURVE keys, and its "
                     "own is %s",
                     host, access->allowed.count, access->pair.public_key);
    }
}

void epi_access_close(epi_access_t *access)
{
    if (access->guarded != NULL) {
        epi_monitor_close(&access->door, access->guarded);
    }
    if (access->zap != NULL) {
        (void)zmq_close(access->zap);
    }
    epi_allowed_close(&access->allowed);
    epi_curve_wipe(&access->pair);
    *access = (epi_access_t){.zap_fd = -1, .door.fd = -1};
}
