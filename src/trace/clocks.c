/* clocks.c: see clocks.h. */
#include "trace/clocks.h"

void epi_clocks_init(epi_clocks_t *clocks)
{
    /* Far beyond what is measured, and still safe to subtract. */
    *clocks = (epi_clocks_t){INT64_MIN / 4, INT64_MAX / 4};
}

void epi_clocks_add(epi_clocks_t *clocks, const epi_round_t *here,
                    const epi_round_t *there)
{
    int64_t least = (int64_t)(there->entered_ns - here->left_ns);
    int64_t most = (int64_t)(there->left_ns - here->entered_ns);

    if (least > clocks->least_ns) {
        clocks->least_ns = least;
    }
    if (most < clocks->most_ns) {
        clocks->most_ns = most;
    }
}

int64_t epi_clocks_offset(const epi_clocks_t *clocks)
{
    return clocks->least_ns + (clocks->most_ns - clocks->least_ns) / 2;
}

uint64_t epi_clocks_error(const epi_clocks_t *clocks)
{
    int64_t width = clocks->most_ns - clocks->least_ns;

    /* Clocks that drifted apart in between make it negative. */
    return (uint64_t)(width < 0 ? -width : width) / 2 + 1;
}
