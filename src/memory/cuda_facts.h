/*
 * cuda_facts.h: versions and devices of CUDA, for epdx_info, in a process of
 * its own: a driver may hang, or end it. cuda_facts.c, or no_cuda_facts.c where
 * the build has no CUDA.
 */
#ifndef EPI_MEMORY_CUDA_FACTS_H
#define EPI_MEMORY_CUDA_FACTS_H

#include <stdbool.h>

typedef struct epi_cuda_facts {
    bool built;      /* with CUDA; else all else is 0 */
    int runtime;     /* 13000: CUDA 13.0; 0: not known */
    int driver;      /* the newest CUDA that it knows; 0: there is none */
    int devices;     /* that can be used */
    char error[256]; /* why there is none, in CUDA's words */
} epi_cuda_facts_t;

void epi_cuda_facts(epi_cuda_facts_t *facts_p);

#endif
