/* doctor.c: see doctor.h. */
#include "tools/doctor.h"

#include <stdarg.h>
#include <string.h>

/** By epi_verdict_t. */
static const char *const names[] = {"", "ok", "note", "warn", "fail"};

void epi_findings_add(epi_findings_t *findings, const epi_check_t *checks,
                      size_t count, const void *facts)
{
    for (size_t i = 0; i < count; i++) {
        epi_finding_t finding = {.about = checks[i].about, .cure = ""};

        finding.verdict = checks[i].look(facts, &finding);
        if (finding.verdict != EPI_VERDICT_NONE &&
            findings->count < EPI_FINDINGS_MAX) {
            findings->list[findings->count++] = finding;
        }
    }
}

size_t epi_findings_count(const epi_findings_t *findings, epi_verdict_t verdict)
{
    size_t count = 0;

    for (size_t i = 0; i < findings->count; i++) {
        count += findings->list[i].verdict == verdict;
    }
    return count;
}

const epi_finding_t *epi_findings_find(const epi_findings_t *findings,
                                       const char *about, size_t index)
{
    for (size_t i = 0; i < findings->count; i++) {
        if (strcmp(findings->list[i].about, about) == 0 && index-- == 0) {
            return &findings->list[i];
        }
    }
    return NULL;
}

void epi_finding_say(epi_finding_t *finding, const char *cure,
                     const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(finding->what, sizeof(finding->what), format, arguments);
    va_end(arguments);
    finding->cure = cure;
}

void epi_findings_print(const epi_findings_t *findings, FILE *out)
{
    for (size_t i = 0; i < findings->count; i++) {
        const epi_finding_t *finding = &findings->list[i];

        fprintf(out, "%-4s  %-17s  %s\n", names[finding->verdict],
                finding->about, finding->what);
        if (finding->cure[0] != '\0') {
            fprintf(out, "      cure: %s\n", finding->cure);
        }
    }
    fprintf(out, "warnings: %zu, failures: %zu\n",
            epi_findings_count(findings, EPI_VERDICT_WARN),
            epi_findings_count(findings, EPI_VERDICT_FAIL));
}

void epi_findings_json(const epi_findings_t *findings, epi_json_t *json)
{
    epi_json_open(json, "findings", '[');
    for (size_t i = 0; i < findings->count; i++) {
        const epi_finding_t *finding = &findings->list[i];

        epi_json_open(json, NULL, '{');
        epi_json_text(json, "about", finding->about);
        epi_json_text(json, "verdict", names[finding->verdict]);
        epi_json_text(json, "what", finding->what);
        epi_json_text(json, "cure", finding->cure);
        epi_json_close(json, '{');
    }
    epi_json_close(json, '[');
    epi_json_u64(json, "warnings",
                 epi_findings_count(findings, EPI_VERDICT_WARN));
    epi_json_u64(json, "failures",
                 epi_findings_count(findings, EPI_VERDICT_FAIL));
}
