/* available.c: see available.h. */
#include "memory/available.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

#define KIB        UINT64_C(1024)
#define PATH_BYTES 4608 /* the longest path, and a file of it */
#define LISTS      3

/** How the files of a version of control groups are named. */
typedef struct version {
    const char *folder; /* within the tree */
    const char *limit;
    const char *used;
    const char *lists[LISTS]; /* lines of memory.stat; NULL: no more */
} version_t;

/** In memory.stat these are lists of pages that files have as well; memory that
 *  is shared is not on them. */
static const version_t version_1 = {
    .folder = "/memory",
    .limit = "memory.limit_in_bytes",
    .used = "memory.usage_in_bytes",
    .lists = {"total_inactive_file ", "total_active_file "},
};
static const version_t version_2 = {
    .folder = "",
    .limit = "memory.max",
    .used = "memory.current",
    .lists = {"inactive_file ", "active_file ", "slab_reclaimable "},
};

static const epi_available_files_t kernel = {
    .meminfo = "/proc/meminfo",
    .groups = "/proc/self/cgroup",
    .tree = "/sys/fs/cgroup",
};
static const epi_available_files_t *files = &kernel;

void epi_available_files(const epi_available_files_t *others)
{
    files = others == NULL ? &kernel : others;
}

typedef void line_fn(const char *line, void *of);

/** Each line of a file, without its end; none where it cannot be read. */
static void each_line(const char *path, line_fn *take, void *of)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t size = 0;

    if (file == NULL) {
        return;
    }
    while (getline(&line, &size, file) >= 0) {
        line[strcspn(line, "\n")] = '\0';
        take(line, of);
    }
    free(line);
    (void)fclose(file);
}

/** A number, and where it stands: after key, before unit. */
typedef struct value {
    const char *key;
    const char *unit;
    uint64_t number;
    bool found;
} value_t;

static void take_value(const char *line, void *of)
{
    value_t *value = of;
    size_t key = strlen(value->key);
    const char *at = line + key;
    size_t digits;

    if (value->found || strncmp(line, value->key, key) != 0) {
        return;
    }
    at += strspn(at, " ");
    digits = strspn(at, "0123456789");
    value->found = strcmp(at + digits, value->unit) == 0 &&
                   epi_text_u64(at, digits, UINT64_MAX, &value->number);
}

static uint64_t less(uint64_t from, uint64_t by)
{
    return from > by ? from - by : 0;
}

static void bound(epi_available_t *available, uint64_t bytes, const char *of,
                  const char *path)
{
    if (bytes < available->bytes) {
        available->bytes = bytes;
        epi_text_format(available->bound, sizeof(available->bound), "%s%s", of,
                        path);
    }
}

static void bound_by_node(epi_available_t *available)
{
    value_t value = {.key = "MemAvailable:", .unit = " kB"};
    uint64_t bytes;

    each_line(files->meminfo, take_value, &value);
    if (value.found && epi_mul_u64(value.number, KIB, &bytes)) {
        bound(available, bytes, "MemAvailable of ", files->meminfo);
    }
}

/** The number that a control group's file begins with; "max" is none. */
static value_t number_of(const char *group, const char *name)
{
    value_t value = {.key = "", .unit = ""};
    char path[PATH_BYTES];

    epi_text_format(path, sizeof(path), "%s/%s", group, name);
    each_line(path, take_value, &value);
    return value;
}

typedef struct reclaimable {
    const version_t *version;
    uint64_t bytes;
} reclaimable_t;

static void take_reclaimable(const char *line, void *of)
{
    reclaimable_t *sum = of;

    for (size_t i = 0; i < LISTS && sum->version->lists[i] != NULL; i++) {
        value_t value = {.key = sum->version->lists[i], .unit = ""};

        take_value(line, &value);
        if (!epi_add_u64(sum->bytes, value.number, &sum->bytes)) {
            sum->bytes = UINT64_MAX;
        }
    }
}

/** What the kernel would take back from a control group before it fails. */
static uint64_t reclaimable(const char *group, const version_t *version)
{
    reclaimable_t sum = {.version = version};
    char path[PATH_BYTES];

    epi_text_format(path, sizeof(path), "%s/memory.stat", group);
    each_line(path, take_reclaimable, &sum);
    return sum.bytes;
}

/** By one control group, a folder. Without its use, by the whole limit. */
static void bound_by_group(epi_available_t *available, const char *group,
                           const version_t *version)
{
    value_t limit = number_of(group, version->limit);
    char path[PATH_BYTES];
    uint64_t used;

    if (!limit.found) {
        return;
    }
    used = less(number_of(group, version->used).number,
                reclaimable(group, version));
    epi_text_format(path, sizeof(path), "%s/%s", group, version->limit);
    bound(available, less(limit.number, used), "", path);
}

/** By a control group and those above it. A container may see its own group as
 *  the tree's top and yet be told the whole path: its files are then missing up
 *  to the top, which bounds it. */
static void bound_by_groups(epi_available_t *available, const char *group,
                            const version_t *version)
{
    char top[PATH_BYTES / 4];
    char path[PATH_BYTES];
    char *slash;

    epi_text_format(top, sizeof(top), "%s%s", files->tree, version->folder);
    epi_text_format(path, sizeof(path), "%s%s", top,
                    strcmp(group, "/") == 0 ? "" : group);
    for (;;) {
        bound_by_group(available, path, version);
        slash = strrchr(path + strlen(top), '/');
        if (slash == NULL) {
            return;
        }
        *slash = '\0';
    }
}

/** Whether "a,b,c" has the memory controller. */
static bool has_memory(const char *list, size_t length)
{
    static const char name[] = "memory";

    while (length > 0) {
        size_t one = strcspn(list, ",:");

        if (one == sizeof(name) - 1 && strncmp(list, name, one) == 0) {
            return true;
        }
        one += one < length;
        list += one;
        length -= one;
    }
    return false;
}

/** Whether a group is not in the tree that this process sees: its namespace
 *  begins elsewhere. Nor are the groups above it. */
static bool is_outside(const char *group)
{
    return strncmp(group, "/..", 3) == 0 && (group[3] == '/' || group[3] == 0);
}

/** A line of the process's control groups: "0::/path" of version 2, or
 *  "4:memory:/path". */
static void take_group(const char *line, void *of)
{
    const char *list = strchr(line, ':');
    const char *group = list == NULL ? NULL : strchr(list + 1, ':');

    if (group == NULL || group[1] != '/' || is_outside(group + 1)) {
        return;
    }
    if (strncmp(line, "0::", 3) == 0) {
        bound_by_groups(of, group + 1, &version_2);
    } else if (has_memory(list + 1, (size_t)(group - list) - 1)) {
        bound_by_groups(of, group + 1, &version_1);
    }
}

void epi_available(epi_available_t *available_p)
{
    epi_available_t available = {.bytes = EPI_AVAILABLE_UNKNOWN};

    bound_by_node(&available);
    each_line(files->groups, take_group, &available);
    *available_p = available;
}

epdx_status_t epi_available_check(const char *what, const char *settings,
                                  size_t bytes)
{
    epi_available_t available;

    epi_available(&available);
    if (bytes <= available.bytes) {
        return EPDX_OK;
    }
    return epi_fail(EPDX_ERR_NO_MEMORY,
                    "cannot map %zu bytes of %s: %" PRIu64
                    " are left by %s; lower %s, or give the job more memory",
                    bytes, what, available.bytes, available.bound, settings);
}
