/* launch_parse.c: what ranks say of their job; see facts.h. Pure. */
#include <string.h>

#include "base/text.h"
#include "tools/facts.h"

static bool parse_line(const char *line, uint64_t *size_p)
{
    char digits[16];
    const char *of = strstr(line, " of ");

    if (strncmp(line, "rank ", 5) != 0 || of == NULL) {
        return false;
    }
    (void)epi_text_copy(digits, sizeof(digits), of + 4);
    return epi_text_number(digits, UINT32_MAX, size_p) && *size_p > 0;
}

/** The last line with words; but that which names the process manager's
 *  interface, as Open MPI has a page of text around it. */
static void keep(const char *line, char error[EPI_FACT_TEXT])
{
    if (strspn(line, "- \t") != strlen(line) && strstr(error, "PMI") == NULL) {
        (void)epi_text_copy(error, EPI_FACT_TEXT, line);
    }
}

void epi_launch_parse(const char *said, epi_launch_facts_t *facts)
{
    char line[EPI_FACT_TEXT];
    uint64_t size;

    facts->ranks = 0;
    while (*said != '\0') {
        size_t span = strcspn(said, "\n");

        (void)epi_text_copy(
            line, span + 1 < sizeof(line) ? span + 1 : sizeof(line), said);
        said += span + (said[span] == '\n');
        if (parse_line(line, &size)) {
            facts->ranks =
                facts->ranks == 0 || size < facts->ranks ? size : facts->ranks;
        } else {
            keep(line, facts->error);
        }
    }
}
