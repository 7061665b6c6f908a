/* types.c: what the dtypes are called and how wide they are. */
#include "epdx/types.h"

#include <string.h>

#define PREFIX "torch."

static const struct {
    epdx_dtype_t dtype;
    size_t bytes;
    const char *name;
} dtypes[] = {
    {EPDX_BFLOAT16, 2, PREFIX "bfloat16"},
    {EPDX_FLOAT16, 2, PREFIX "float16"},
    {EPDX_FLOAT32, 4, PREFIX "float32"},
};

#define DTYPE_COUNT (sizeof(dtypes) / sizeof(dtypes[0]))

size_t epdx_dtype_bytes(epdx_dtype_t dtype)
{
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        if (dtypes[i].dtype == dtype) {
            return dtypes[i].bytes;
        }
    }
    return 0;
}

const char *epdx_dtype_name(epdx_dtype_t dtype)
{
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        if (dtypes[i].dtype == dtype) {
            return dtypes[i].name;
        }
    }
    return "none";
}

epdx_dtype_t epdx_dtype_parse(const char *text)
{
    if (text == NULL) {
        return EPDX_DTYPE_NONE;
    }
    for (size_t i = 0; i < DTYPE_COUNT; i++) {
        const char *name = dtypes[i].name;

        if (strcmp(text, name) == 0 ||
            strcmp(text, name + sizeof(PREFIX) - 1) == 0) {
            return dtypes[i].dtype;
        }
    }
    return EPDX_DTYPE_NONE;
}
