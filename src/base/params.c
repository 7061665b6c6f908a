/* params.c: see params.h. */
#include "base/params.h"

#include <string.h>

#include "base/error.h"

epdx_status_t epi_params_copy(void *copy_p, size_t known, const void *params,
                              size_t least, const char *who)
{
    size_t size;

    if (params == NULL) {
        return epi_fail(EPDX_ERR_INVALID, "%s: no parameters (NULL)", who);
    }
    memcpy(&size, params, sizeof(size));
    if (size < least || size > known) {
        return epi_fail(EPDX_ERR_INVALID,
                        "%s: struct_size is %zu, this library knows %zu to "
                        "%zu; set it to the sizeof of the struct",
                        who, size, least, known);
    }
    memset(copy_p, 0, known);
    memcpy(copy_p, params, size);
    return EPDX_OK;
}

epdx_status_t epi_given_all(const char *call, const char *names,
                            const void *const *pointers, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int length = (int)strcspn(names, ",");

        if (pointers[i] == NULL) {
            return epi_fail(EPDX_ERR_INVALID, "%s: %.*s is NULL", call, length,
                            names);
        }
        names += length;
        names += strspn(names, ", ");
    }
    return EPDX_OK;
}
