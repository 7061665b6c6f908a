/* receiver_open_test.c: parameters that no receiver opens with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/clock.h"
#include "epdx/receiver.h"

#define HIDDEN     8
#define POOL_BYTES (16 * 1024)

static epdx_receiver_params_t params_plain(void)
{
    return (epdx_receiver_params_t){
        .struct_size = sizeof(epdx_receiver_params_t),
        .dtype = EPDX_BFLOAT16,
        .hidden = HIDDEN,
        .progress = EPDX_PROGRESS_CALLER,
        .host = "127.0.0.1",
        .pool_bytes = POOL_BYTES,
        .waiting_timeout_ns = 60 * EPI_S,
    };
}

static void refuses_params(const epdx_receiver_params_t *params,
                           const char *words)
{
    epdx_receiver_t *receiver = NULL;

    assert_int_equal(epdx_receiver_open(params, &receiver), EPDX_ERR_INVALID);
    if (strstr(epdx_last_error(), words) == NULL) {
        fail_msg("\"%s\" does not say \"%s\"", epdx_last_error(), words);
    }
    assert_null(receiver);
}

static void test_open_refuses_what_is_invalid(void **state)
{
    epdx_receiver_params_t params;

    (void)state;
    params = params_plain();
    params.struct_size = 4;
    refuses_params(&params, "struct_size is 4");
    params = params_plain();
    params.dtype = EPDX_DTYPE_NONE;
    refuses_params(&params, "dtype");
    params = params_plain();
    params.hidden = 0;
    refuses_params(&params, "hidden 0");
    params = params_plain();
    params.hidden = UINT64_MAX / 2;
    refuses_params(&params, "hidden");
    params = params_plain();
    params.tp_rank = 2;
    params.tp_size = 2;
    refuses_params(&params, "tp_rank 2");
    params = params_plain();
    params.host = "0.0.0.0";
    refuses_params(&params, "0.0.0.0");
    params = params_plain();
    params.shard = (epdx_switch_t)9;
    refuses_params(&params, "shard 9");
    params = params_plain();
    params.progress = (epdx_progress_t)7;
    refuses_params(&params, "progress 7");
    params = params_plain();
    params.pool_bytes = 100;
    refuses_params(&params, "pool");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_refuses_what_is_invalid),
    };

    return cmocka_run_group_tests_name("receive/open", tests, NULL, NULL);
}
