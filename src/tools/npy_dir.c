/* npy_dir.c: a directory of arrays that go together. */
#include "tools/npy_dir.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

#define SUFFIX           ".npy"
#define DEEPSTACK_SUFFIX ".deepstack.npy"

/* The names of a directory's files, as scandir() gives them. */
typedef struct listing {
    struct dirent **entries;
    size_t count;
} listing_t;

static bool ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text);
    size_t suffix_length = strlen(suffix);

    return length >= suffix_length &&
           strcmp(text + length - suffix_length, suffix) == 0;
}

static int is_array(const struct dirent *entry)
{
    return ends_with(entry->d_name, SUFFIX);
}

static void free_listing(listing_t *listing)
{
    while (listing->count > 0) {
        free(listing->entries[--listing->count]);
    }
    free(listing->entries);
    listing->entries = NULL;
}

static epdx_status_t no_memory(void)
{
    return epi_fail(EPDX_ERR_NO_MEMORY, "no memory for the list of arrays");
}

bool epi_npy_dir_path(const char *path, const char *name, bool deepstack,
                      char *out, size_t size)
{
    int length = snprintf(out, size, "%s/%s%s", path, name,
                          deepstack ? DEEPSTACK_SUFFIX : SUFFIX);

    return length >= 0 && (size_t)length < size;
}

/* Of a file: its name without the suffix; whether it is a deepstack array. */
static epdx_status_t split_name(const char *path, const char *file,
                                char name[EPDX_ID_MAX + 1], bool *deepstack_p)
{
    bool deepstack = ends_with(file, DEEPSTACK_SUFFIX);
    size_t length =
        strlen(file) - strlen(deepstack ? DEEPSTACK_SUFFIX : SUFFIX);

    if (length > EPDX_ID_MAX || !epi_text_printable(file, length)) {
        return epi_fail(EPDX_ERR_INVALID,
                        "%s/%s: its name is not 1 to %d printable characters "
                        "without space",
                        path, file, EPDX_ID_MAX);
    }
    memcpy(name, file, length);
    name[length] = '\0';
    *deepstack_p = deepstack;
    return EPDX_OK;
}

static epdx_status_t add_name(const char *path, const char *file,
                              epi_npy_dir_t *dir)
{
    char name[EPDX_ID_MAX + 1] = "";
    bool deepstack = false;
    epdx_status_t status = split_name(path, file, name, &deepstack);

    if (status != EPDX_OK || deepstack) {
        return status;
    }
    dir->items[dir->count].name = strdup(name);
    if (dir->items[dir->count].name == NULL) {
        return no_memory();
    }
    dir->count++;
    return EPDX_OK;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const epi_npy_item_t *)a)->name,
                  ((const epi_npy_item_t *)b)->name);
}

static epdx_status_t add_names(const char *path, const listing_t *listing,
                               epi_npy_dir_t *dir)
{
    dir->items = calloc(listing->count + 1, sizeof(*dir->items));
    if (dir->items == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < listing->count; i++) {
        epdx_status_t status = add_name(path, listing->entries[i]->d_name, dir);

        if (status != EPDX_OK) {
            return status;
        }
    }
    /* Of the files "a-b.npy" comes before "a.npy", of the names after. */
    qsort(dir->items, dir->count, sizeof(*dir->items), by_name);
    return EPDX_OK;
}

/* Every deepstack array needs its main array; *any_p: whether there is one. */
static epdx_status_t check_deepstacks(const char *path,
                                      const listing_t *listing,
                                      const epi_npy_dir_t *dir, bool *any_p)
{
    *any_p = false;
    for (size_t i = 0; i < listing->count; i++) {
        const char *file = listing->entries[i]->d_name;
        char name[EPDX_ID_MAX + 1] = "";
        epi_npy_item_t key = {.name = name};
        bool deepstack = false;
        epdx_status_t status = split_name(path, file, name, &deepstack);

        if (status != EPDX_OK) {
            return status;
        }
        if (deepstack && bsearch(&key, dir->items, dir->count, sizeof(key),
                                 by_name) == NULL) {
            return epi_fail(EPDX_ERR_INVALID,
                            "%s/%s: there is no %s.npy beside it", path, file,
                            name);
        }
        *any_p = *any_p || deepstack;
    }
    return EPDX_OK;
}

static epdx_status_t list_names(const char *path, epi_npy_dir_t *dir,
                                bool *deepstacks_p)
{
    listing_t listing = {NULL, 0};
    epdx_status_t status;
    int count = scandir(path, &listing.entries, is_array, NULL);

    if (count < 0) {
        return epi_fail(EPDX_ERR_IO, "%s: %s", path, strerror(errno));
    }
    listing.count = (size_t)count;
    status = add_names(path, &listing, dir);
    if (status == EPDX_OK) {
        status = check_deepstacks(path, &listing, dir, deepstacks_p);
    }
    free_listing(&listing);
    if (status == EPDX_OK && dir->count == 0) {
        return epi_fail(EPDX_ERR_INVALID, "%s: has no .npy files", path);
    }
    return status;
}

static epdx_status_t differs(const char *file, const char *what,
                             const char *first)
{
    return epi_fail(EPDX_ERR_INVALID, "%s: its %s is not that of %s", file,
                    what, first);
}

static epdx_status_t check_main(const epi_npy_item_t *item, const char *file,
                                epi_npy_dir_t *dir)
{
    const epi_npy_shape_t *shape = &item->main.shape;

    if (item == dir->items) {
        dir->dtype = shape->dtype;
        dir->hidden = shape->columns;
    }
    if (shape->dtype != dir->dtype) {
        return differs(file, "dtype", dir->items->name);
    }
    if (shape->columns != dir->hidden) {
        return differs(file, "row length", dir->items->name);
    }
    return EPDX_OK;
}

static epdx_status_t check_deepstack(const epi_npy_item_t *item,
                                     const char *file, epi_npy_dir_t *dir)
{
    const epi_npy_shape_t *shape = &item->deepstack.shape;

    if (shape->dtype != item->main.shape.dtype) {
        return differs(file, "dtype", item->name);
    }
    if (shape->rows != item->main.shape.rows) {
        return differs(file, "number of rows", item->name);
    }
    if (item == dir->items) {
        uint64_t levels = shape->columns / dir->hidden;

        dir->levels = levels <= EPI_NPY_LEVELS_MAX ? (uint32_t)levels : 0;
        if (dir->levels == 0 || levels * dir->hidden != shape->columns) {
            return epi_fail(EPDX_ERR_INVALID,
                            "%s: its rows are not 1 to %d times as long as "
                            "those of %s",
                            file, EPI_NPY_LEVELS_MAX, item->name);
        }
    }
    if (shape->columns != dir->levels * dir->hidden) {
        return differs(file, "row length", dir->items->name);
    }
    return EPDX_OK;
}

static epdx_status_t open_part(const char *path, const epi_npy_item_t *item,
                               bool deepstack, epi_npy_t *npy,
                               char file[PATH_MAX])
{
    if (!epi_npy_dir_path(path, item->name, deepstack, file, PATH_MAX)) {
        return epi_fail(EPDX_ERR_INVALID, "%s: the path is too long", path);
    }
    return epi_npy_open(file, npy);
}

static epdx_status_t open_item(const char *path, epi_npy_item_t *item,
                               bool deepstacks, epi_npy_dir_t *dir)
{
    char file[PATH_MAX];
    epdx_status_t status = open_part(path, item, false, &item->main, file);

    if (status == EPDX_OK) {
        status = check_main(item, file, dir);
    }
    if (status != EPDX_OK || !deepstacks) {
        return status;
    }
    status = open_part(path, item, true, &item->deepstack, file);
    if (status == EPDX_OK) {
        status = check_deepstack(item, file, dir);
    }
    return status;
}

epdx_status_t epi_npy_dir_open(const char *path, size_t limit,
                               epi_npy_dir_t *dir_p)
{
    epi_npy_dir_t dir = {0};
    bool deepstacks = false;
    epdx_status_t status = list_names(path, &dir, &deepstacks);

    while (limit != 0 && dir.count > limit) {
        free(dir.items[--dir.count].name);
    }
    for (size_t i = 0; status == EPDX_OK && i < dir.count; i++) {
        status = open_item(path, &dir.items[i], deepstacks, &dir);
    }
    if (status != EPDX_OK) {
        epi_npy_dir_close(&dir);
        return status;
    }
    *dir_p = dir;
    return EPDX_OK;
}

void epi_npy_dir_close(epi_npy_dir_t *dir)
{
    for (size_t i = 0; i < dir->count; i++) {
        epi_npy_close(&dir->items[i].main);
        epi_npy_close(&dir->items[i].deepstack);
        free(dir->items[i].name);
    }
    free(dir->items);
    memset(dir, 0, sizeof(*dir));
}
