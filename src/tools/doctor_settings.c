/* doctor_settings.c: whether each EPDX_* variable is a setting. One that is
 * misspelt is read by nobody, and nobody says so. */
#include <string.h>

#include "base/options.h"
#include "base/text.h"
#include "tools/doctor_checks.h"

#define PREFIX     "EPDX_"
#define NAME_BYTES 64
/* A name this far from a setting's is taken for it. */
#define NEAR 2

/* Settings of nothing here, which installations set for their own use. */
static const char *const others[] = {"EPDX_ROOT"};

static bool known(const char *name)
{
    for (size_t i = 0; i < epi_option_count(); i++) {
        if (strcmp(epi_option_info(i)->name, name) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strcmp(others[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters to put in, leave out or change, to make one name the other. Both are
 * shorter than NAME_BYTES. */
static size_t distance(const char *from, const char *to)
{
    size_t length = strlen(to);
    size_t row[NAME_BYTES]; /* of what was read of from, to each start of to */

    for (size_t i = 0; i <= length; i++) {
        row[i] = i;
    }
    for (; *from != '\0'; from++) {
        size_t across = row[0]++;

        for (size_t i = 1; i <= length; i++) {
            size_t here = least(least(row[i - 1], row[i]) + 1,
                                across + (*from != to[i - 1]));

            across = row[i];
            row[i] = here;
        }
    }
    return row[length];
}

/* The setting that a name is likely meant for; NULL: none. */
static const char *nearest(const char *name)
{
    const char *found = NULL;
    size_t best = NEAR + 1;

    for (size_t i = 0; i < epi_option_count(); i++) {
        const char *setting = epi_option_info(i)->name;
        size_t far = distance(name, setting);

        if (far < best) {
            best = far;
            found = setting;
        }
    }
    return found;
}

static epi_verdict_t unknown(const void *of, epi_finding_t *finding)
{
    const char *name = of;
    const char *meant = nearest(name);
    char shown[NAME_BYTES + 8];

    epi_text_show(shown, sizeof(shown), name);
    return epi_say_warn(
        finding, "correct or unset it; epdx_info lists the settings",
        "%s is set, and is no setting of epdx: nothing reads it%s%s%s", shown,
        meant == NULL ? "" : "; is it ", meant == NULL ? "" : meant,
        meant == NULL ? "" : "?");
}

static epi_verdict_t all_known(const void *of, epi_finding_t *finding)
{
    return epi_say_ok(finding,
                      "%zu EPDX_* variables are set, all of them "
                      "settings",
                      *(const size_t *)of);
}

void epi_doctor_settings(const char *const *environment,
                         epi_findings_t *findings)
{
    static const epi_check_t bad = {"settings.names", unknown};
    static const epi_check_t good = {"settings.names", all_known};
    size_t before = findings->count;
    size_t count = 0;

    for (; *environment != NULL; environment++) {
        char name[NAME_BYTES];
        size_t length = strcspn(*environment, "=");

        if (strncmp(*environment, PREFIX, strlen(PREFIX)) != 0) {
            continue;
        }
        count++;
        epi_text_format(name, sizeof(name), "%.*s",
                        (int)least(length, sizeof(name)), *environment);
        if (!known(name)) {
            epi_findings_add(findings, &bad, 1, name);
        }
    }
    if (findings->count == before) {
        epi_findings_add(findings, &good, 1, &count);
    }
}
