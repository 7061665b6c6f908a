/* bootstrap.c: the calls of epdx/bootstrap.h: settings, registry, server. */
#include "epdx/bootstrap.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/options.h"
#include "base/params.h"
#include "bootstrap/http_server.h"
#include "bootstrap/listen_address.h"
#include "bootstrap/registry.h"

struct epdx_bootstrap {
    epi_registry_t *registry;
    epi_http_server_t *server;
    epi_file_text_t cert, key; /* empty without TLS */
};

#define PEM_BYTES_MAX ((size_t)1 << 20)

static void log_open(const char *address, bool open)
{
    epi_log_info("bootstrap: listening on %s", address);
    if (open) {
        epi_log_warn("bootstrap: %s is open: whoever reaches it can register "
                     "as an encode rank; set EPDX_BOOTSTRAP_TOKEN",
                     address);
    }
}

static epdx_status_t load_tls(const char *cert_file, const char *key_file,
                              epdx_bootstrap_t *bootstrap)
{
    epdx_status_t status;

    if (cert_file[0] == '\0' && key_file[0] == '\0') {
        return EPDX_OK;
    }
    if (cert_file[0] == '\0' || key_file[0] == '\0') {
        return epi_fail(EPDX_ERR_INVALID,
                        "bootstrap: EPDX_TLS_CERT_FILE and EPDX_TLS_KEY_FILE "
                        "go together, and only one is set");
    }
    status = epi_file_read("EPDX_TLS_CERT_FILE", cert_file, EPI_FILE_TRUSTED,
                           PEM_BYTES_MAX, &bootstrap->cert);
    if (status == EPDX_OK) {
        status = epi_file_read("EPDX_TLS_KEY_FILE", key_file, EPI_FILE_SECRET,
                               PEM_BYTES_MAX, &bootstrap->key);
    }
    return status;
}

static const char *or_default(const char *given, const char *preset)
{
    return given != NULL ? given : preset;
}

static epdx_status_t open_server(const epi_http_server_params_t *params,
                                 const char *cert_file, const char *key_file,
                                 epdx_bootstrap_t **bootstrap_p)
{
    epi_http_server_params_t with_registry = *params;
    epdx_bootstrap_t *bootstrap = calloc(1, sizeof(*bootstrap));
    epdx_status_t status;

    if (bootstrap == NULL) {
        return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for a bootstrap server");
    }
    status = epi_registry_open(&bootstrap->registry);
    if (status == EPDX_OK) {
        status = load_tls(cert_file, key_file, bootstrap);
    }
    if (status == EPDX_OK) {
        with_registry.registry = bootstrap->registry;
        with_registry.tls_cert = bootstrap->cert.text;
        with_registry.tls_key = bootstrap->key.text;
        status = epi_http_server_open(&with_registry, &bootstrap->server);
    }
    if (status != EPDX_OK) {
        epdx_bootstrap_close(bootstrap);
        return status;
    }
    *bootstrap_p = bootstrap;
    return EPDX_OK;
}

epdx_status_t epdx_bootstrap_open(const epdx_bootstrap_params_t *params,
                                  epdx_bootstrap_t **bootstrap_p)
{
    epdx_bootstrap_params_t given;
    epi_http_server_params_t server = {0};
    epi_address_t address;
    epi_options_t options;
    epdx_status_t status = epi_given(bootstrap_p);

    if (status == EPDX_OK) {
        status = epi_params_copy(&given, sizeof(given), params,
                                 offsetof(epdx_bootstrap_params_t, token),
                                 "bootstrap");
    }
    if (status == EPDX_OK) {
        status = epi_options_load(&options);
    }
    if (status == EPDX_OK) {
        status = epi_listen_address(given.listen, options.host, &address);
    }
    if (status != EPDX_OK) {
        return status;
    }
    server.host = address.host;
    server.port = address.port;
    server.token = or_default(given.token, options.bootstrap_token);
    status = open_server(
        &server, or_default(given.tls_cert_file, options.tls_cert_file),
        or_default(given.tls_key_file, options.tls_key_file), bootstrap_p);
    if (status == EPDX_OK) {
        log_open(epdx_bootstrap_address(*bootstrap_p),
                 epi_listen_is_open(address.host, server.token));
    }
    return status;
}

const char *epdx_bootstrap_address(const epdx_bootstrap_t *bootstrap)
{
    return bootstrap == NULL ? "" : epi_http_server_address(bootstrap->server);
}

void epdx_bootstrap_stats(const epdx_bootstrap_t *bootstrap,
                          epdx_bootstrap_stats_t *stats_p)
{
    if (bootstrap != NULL && stats_p != NULL) {
        *stats_p = (epdx_bootstrap_stats_t){
            .writes_refused = epi_http_server_refused(bootstrap->server)};
    }
}

void epdx_bootstrap_close(epdx_bootstrap_t *bootstrap)
{
    if (bootstrap != NULL) {
        epi_http_server_close(bootstrap->server);
        epi_registry_close(bootstrap->registry);
        epi_file_wipe(&bootstrap->key);
        epi_file_wipe(&bootstrap->cert);
        free(bootstrap);
    }
}
