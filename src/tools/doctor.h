/*
 * doctor.h: findings about a node, and the checks that give them.
 *
 *     facts_*.c  gather facts --> doctor_*.c  checks, pure --> findings
 *
 * A family of checks is a table; each check looks at the facts of its family
 * and gives one finding, or none. One thread.
 */
#ifndef EPI_TOOLS_DOCTOR_H
#define EPI_TOOLS_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "epdx/types.h"
#include "tools/report.h"

#define EPI_FINDING_TEXT 320
#define EPI_FINDINGS_MAX 256

typedef enum epi_verdict {
    EPI_VERDICT_NONE, /* nothing to say */
    EPI_VERDICT_OK,
    EPI_VERDICT_NOTE, /* worth knowing; nothing to cure */
    EPI_VERDICT_WARN, /* works, but slower or not everywhere */
    EPI_VERDICT_FAIL, /* something will not work */
} epi_verdict_t;

typedef struct epi_finding {
    epi_verdict_t verdict;
    const char *about; /* "network.host" */
    const char *cure;  /* "" where there is nothing to cure */
    char what[EPI_FINDING_TEXT];
} epi_finding_t;

typedef struct epi_findings {
    epi_finding_t list[EPI_FINDINGS_MAX]; /* more are left out */
    size_t count;
} epi_findings_t;

typedef struct epi_check {
    const char *about;
    epi_verdict_t (*look)(const void *facts, epi_finding_t *finding);
} epi_check_t;

/** Every check of a table. */
void epi_findings_add(epi_findings_t *findings, const epi_check_t *checks,
                      size_t count, const void *facts);

/** How many findings have this verdict. */
size_t epi_findings_count(const epi_findings_t *findings,
                          epi_verdict_t verdict);

/** The finding about a thing, the index-th of them; NULL: there is none. */
const epi_finding_t *epi_findings_find(const epi_findings_t *findings,
                                       const char *about, size_t index);

/** Set a finding's words, and its cure. */
void epi_finding_say(epi_finding_t *finding, const char *cure,
                     const char *format, ...) EPDX_PRINTF(3, 4);

/* What a check ends with: the finding, the cure where there is one, and words
 * as for printf(). */
#define epi_say_ok(finding, ...)                                               \
    (epi_finding_say(finding, "", __VA_ARGS__), EPI_VERDICT_OK)
#define epi_say_note(finding, ...)                                             \
    (epi_finding_say(finding, "", __VA_ARGS__), EPI_VERDICT_NOTE)
#define epi_say_warn(finding, cure, ...)                                       \
    (epi_finding_say(finding, cure, __VA_ARGS__), EPI_VERDICT_WARN)
#define epi_say_fail(finding, cure, ...)                                       \
    (epi_finding_say(finding, cure, __VA_ARGS__), EPI_VERDICT_FAIL)

/** A line a finding, a cure below it, and a line that sums up. */
void epi_findings_print(const epi_findings_t *findings, FILE *out);

/** "findings", "warnings" and "failures" of an open object. */
void epi_findings_json(const epi_findings_t *findings, epi_json_t *json);

#endif
