/*
 * ucx_transport.c: what an endpoint uses, in words, from the text that
 * ucp_ep_print_info() writes. For the files of the plane over UCX only.
 *
 * A lane's line, as UCX writes it, and what of it is told:
 *
 *     lane[1]:  2:tcp/lo.0 md[1]  -> md[1]/tcp/sysdev[255] rma_bw#0 am am_bw#0
 *                 ^^^^^^                    carries data:  ^^^^^^   ^^ ^^^^^
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/ucx_internal.h"

/** The transport of one line, without what follows it; NULL: no such lane. */
static char *lane_transport(char *line)
{
    char *uses = strstr(line, "-> ");
    char *at = strstr(line, "lane[");
    char *end;

    if (at == NULL || uses == NULL || at > uses ||
        (strstr(uses, " am") == NULL && strstr(uses, " rma_bw") == NULL)) {
        return NULL;
    }
    at = strstr(at, "]:");
    if (at == NULL) {
        return NULL;
    }
    at += 2;
    at += strspn(at, " 0123456789");
    if (*at != ':') {
        return NULL;
    }
    at++;
    at[strcspn(at, " ")] = '\0';
    end = strrchr(at, '.'); /* the device's path */
    if (end != NULL) {
        *end = '\0';
    }
    return strchr(at, '/') == NULL ? NULL : at;
}

static bool has(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; *at != '\0'; at += strspn(at, ",")) {
        size_t span = strcspn(at, ",");

        if (span == length && memcmp(at, word, length) == 0) {
            return true;
        }
        at += span;
    }
    return false;
}

void epi_ucx_transport_parse(const char *info, char *out, size_t size)
{
    char line[256];
    size_t used = 0;

    out[0] = '\0';
    while (*info != '\0') {
        size_t span = strcspn(info, "\n");
        const char *word;

        (void)snprintf(line, sizeof(line), "%.*s", (int)span, info);
        info += span + (info[span] == '\n');
        word = lane_transport(line);
        /* One that does not fit is left out whole. */
        if (word != NULL && !has(out, word) &&
            used + strlen(word) + 2 <= size) {
            used += (size_t)snprintf(out + used, size - used, "%s%s",
                                     used == 0 ? "" : ",", word);
        }
    }
}

static void describe(ucp_ep_h ep, char *out, size_t size)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    if (stream == NULL) {
        return;
    }
    ucp_ep_print_info(ep, stream);
    if (fclose(stream) == 0) {
        epi_ucx_transport_parse(text, out, size);
    }
    free(text);
}

/** Whether a transfer went, or will have gone, without UCX. */
static bool was_copied(const epi_ucx_conn_t *conn,
                       const epi_dp_offer_t *transfer)
{
    return transfer->placed &&
           (conn->accepted ? transfer->source != NULL : conn->viewed);
}

void epi_ucx_transport_note(epi_ucx_conn_t *conn,
                            const epi_dp_offer_t *transfer)
{
    epi_ucx_plane_t *plane = conn->plane;

    if (plane->transport[0] != '\0' || conn->ep == NULL || conn->failed) {
        return;
    }
    if (was_copied(conn, transfer)) {
        (void)epi_text_copy(plane->transport, sizeof(plane->transport),
                            "mapped/memory");
    } else {
        describe(conn->ep, plane->transport, sizeof(plane->transport));
    }
}

void epi_ucx_transport(epi_dataplane_t *dp, char *out, size_t size)
{
    (void)epi_text_copy(out, size, epi_ucx_plane(dp)->transport);
}
