/*
 * facts.h: gathers what the checks of doctor_checks.h look at. Each has its own
 * deadline; none changes the node. One thread, in which nothing of MPI, UCX or
 * CUDA was begun.
 */
#ifndef EPI_TOOLS_FACTS_H
#define EPI_TOOLS_FACTS_H

#include "base/options.h"
#include "tools/doctor_checks.h"

/** Starts two ranks by mpirun; under a launcher, this process's one. */
void epi_facts_launch(epi_launch_facts_t *facts_p);

void epi_facts_memory(const epi_options_t *options,
                      epi_memory_facts_t *facts_p);

void epi_facts_network(const epi_options_t *options,
                       epi_network_facts_t *facts_p);

/** built: the UCX that epdx was built with. */
void epi_facts_ucx(const epi_network_facts_t *network, const char *built,
                   epi_plane_facts_t *facts_p);

/** ucx: whether UCX reaches device memory. */
void epi_facts_gpu(const epi_options_t *options, bool ucx,
                   epi_gpu_facts_t *facts_p);

/** bootstrap is "host:port", or with "https://" before it. */
void epi_facts_encode(const epi_options_t *options, const char *bootstrap,
                      epi_encode_facts_t *facts_p);

/** What a rank says of its MPI job, and what epi_facts_launch() reads: "rank 0
 *  of 2". Sets ranks to the smallest size that all lines say, 0 where there is
 *  none, and error to the last line that says something else. Pure. */
void epi_launch_parse(const char *said, epi_launch_facts_t *facts);

#endif
