/* world.c: what the launcher says in the environment. */
#include "tools/world.h"

#include <stdlib.h>

#include "base/text.h"

/* The first of the named variables that holds a number, else preset. */
static uint64_t from_env(const char *const *names, size_t count,
                         uint64_t preset)
{
    for (size_t i = 0; i < count; i++) {
        const char *text = getenv(names[i]);
        uint64_t value;

        if (text != NULL && epi_text_number(text, UINT32_MAX, &value)) {
            return value;
        }
    }
    return preset;
}

bool epi_world_launched(void)
{
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                        "SLURM_NTASKS"};

    return from_env(sizes, 3, 1) > 1 || epi_world_env_rank() > 0;
}

uint32_t epi_world_env_rank(void)
{
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "SLURM_PROCID"};

    return (uint32_t)from_env(ranks, 3, 0);
}
