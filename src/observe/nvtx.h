/*
 * nvtx.h: ranges for NVIDIA's tools: nvtx.c in a build with CUDA whose toolkit
 * has the header, else nvtx_none.c. They cost a call and two loads while no
 * tool is attached.
 */
#ifndef EPI_OBSERVE_NVTX_H
#define EPI_OBSERVE_NVTX_H

/** Ranges nest, on one thread. Any thread. */
void epi_nvtx_push(const char *name);
void epi_nvtx_pop(void);

#endif
