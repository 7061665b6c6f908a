/* doctor_says_test.h: for the tests of the checks: what is expected of a
 * finding. */
#ifndef EPI_TOOLS_DOCTOR_SAYS_TEST_H
#define EPI_TOOLS_DOCTOR_SAYS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tools/doctor.h"

/** The first finding about a thing has this verdict and these words; a cure
 *  exactly where there is something to cure. No words: there is no finding. */
static inline void epi_says(const epi_findings_t *findings, const char *about,
                            epi_verdict_t verdict, const char *words)
{
    const epi_finding_t *finding = epi_findings_find(findings, about, 0);

    if (words == NULL) {
        assert_null(finding);
        return;
    }
    assert_non_null(finding);
    assert_int_equal(finding->verdict, verdict);
    if (strstr(finding->what, words) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", words, finding->what);
    }
    assert_int_equal(finding->cure[0] != '\0', verdict >= EPI_VERDICT_WARN);
}

#endif
