/* proxy_find.h: a proxy's dealings with the two bootstrap servers. For proxy.c
 * only. Both wait, and end the program when 20 s have passed. */
#ifndef EPDX_MPI_TESTS_PROXY_FIND_H
#define EPDX_MPI_TESTS_PROXY_FIND_H

#include "proxy.h"

/** The control port of the real encode rank, once it is registered. */
uint16_t proxy_find_encode(const proxy_params_t *params);

/** Publish port as the encode rank's, as one that has just started. */
void proxy_publish(const proxy_params_t *params, uint16_t port);

#endif
