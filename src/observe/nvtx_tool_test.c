/* nvtx_tool_test.c: a tool as NVTX attaches it, which keeps the ranges that it
 * is told of. A library of its own, for nvtx_test.c. */
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <string.h>

#define KEPT 8

__attribute__((visibility("default"))) char tool_names[KEPT][32];
__attribute__((visibility("default"))) int tool_pushed;
__attribute__((visibility("default"))) int tool_popped;

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables);

static int NVTX_API on_push(const char *name)
{
    (void)snprintf(tool_names[tool_pushed % KEPT], sizeof(tool_names[0]), "%s",
                   name);
    return tool_pushed++;
}

static int NVTX_API on_pop(void)
{
    return tool_popped++;
}

__attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t tables)
{
    const NvtxExportTableCallbacks *callbacks = tables(NVTX_ETID_CALLBACKS);
    NvtxFunctionTable table = NULL;
    unsigned size = 0;

    if (callbacks == NULL ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table,
                                           &size) ||
        size <= NVTX_CBID_CORE_RangePop) {
        return 0;
    }
    *table[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)on_push;
    *table[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)on_pop;
    return 1;
}
