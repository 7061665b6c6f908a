/*
 * fuzz_route.c: bodies and bootstrap addresses from strangers. The first byte
 * picks what reads the rest. What a parser takes, the formatter must write,
 * and the parser must take again, alike.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "discovery/route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition) {
        abort();
    }
}

static void fuzz_registration(const char *text, size_t length)
{
    epi_route_registration_t first = {0};
    epi_route_registration_t again = {0};
    char body[EPI_ROUTE_BODY_MAX];

    if (epi_route_registration_parse(text, length, &first) != EPDX_OK) {
        return;
    }
    require(epi_route_registration_format(&first, body, sizeof(body)) ==
            EPDX_OK);
    require(epi_route_registration_parse(body, strlen(body), &again) ==
            EPDX_OK);
    require(memcmp(&first, &again, sizeof(first)) == 0);
}

static void fuzz_world(const char *text, size_t length)
{
    epi_route_world_t first = {0};
    epi_route_world_t again = {0};
    char body[EPI_ROUTE_BODY_MAX];

    if (epi_route_world_parse(text, length, &first) != EPDX_OK) {
        return;
    }
    require(epi_route_world_format(&first, body, sizeof(body)) == EPDX_OK);
    require(epi_route_world_parse(body, strlen(body), &again) == EPDX_OK);
    require(memcmp(&first, &again, sizeof(first)) == 0);
}

static void fuzz_rank(const char *text, size_t length)
{
    epi_route_rank_t first = {0};
    epi_route_rank_t again = {0};
    char body[EPI_ROUTE_BODY_MAX];

    if (epi_route_rank_parse(text, length, &first) != EPDX_OK) {
        return;
    }
    require(epi_route_rank_format(&first, body, sizeof(body)) == EPDX_OK);
    require(epi_route_rank_parse(body, strlen(body), &again) == EPDX_OK);
    require(memcmp(&first, &again, sizeof(first)) == 0);
}

static void fuzz_url(const char *text, size_t length)
{
    char bootstrap[600];
    char url[512];

    if (length >= sizeof(bootstrap)) {
        return;
    }
    memcpy(bootstrap, text, length);
    bootstrap[length] = '\0';
    if (epi_route_put_url(bootstrap, url, sizeof(url)) == EPDX_OK) {
        require(strncmp(url, "http", 4) == 0);
        require(strcmp(url + strlen(url) - 6, "/route") == 0);
        require(strpbrk(url, " \r\n\"?#@%\\") == NULL);
    }
}

static void fuzz_error(const char *text, size_t length)
{
    epi_route_world_t world;
    char words[600];
    char body[EPI_ROUTE_BODY_MAX];

    if (length >= sizeof(words)) {
        return;
    }
    memcpy(words, text, length);
    words[length] = '\0';
    epi_route_error_format(words, body, sizeof(body));
    /* Always a JSON object, which no world is read from. */
    require(epi_route_world_parse(body, strlen(body), &world) ==
            EPDX_IN_PROGRESS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const targets[])(const char *, size_t) = {
        fuzz_registration, fuzz_world, fuzz_rank, fuzz_url, fuzz_error};
    char *text;

    if (size == 0) {
        return 0;
    }
    /* In a block of its own size: a read beyond it is seen. */
    text = malloc(size == 1 ? 1 : size - 1);
    require(text != NULL);
    memcpy(text, data + 1, size - 1);
    targets[data[0] % 5](text, size - 1);
    free(text);
    return 0;
}
