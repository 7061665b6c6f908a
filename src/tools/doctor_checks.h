/*
 * doctor_checks.h: the families of checks: what each knows of the node, and
 * what it makes of it. All checks are pure: facts in, findings out.
 */
#ifndef EPI_TOOLS_DOCTOR_CHECKS_H
#define EPI_TOOLS_DOCTOR_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/ucx_probe.h"
#include "epdx/types.h"
#include "memory/available.h"
#include "tools/doctor.h"

#define EPI_FACT_TEXT 256

/* doctor_launch.c */

typedef enum epi_launcher {
    EPI_LAUNCHER_NONE,
    EPI_LAUNCHER_MPIRUN,
    EPI_LAUNCHER_SRUN,
} epi_launcher_t;

/** How ranks start. Without a launcher two were started by mpirun. */
typedef struct epi_launch_facts {
    char library[EPI_FACT_TEXT]; /* "Open MPI v4.1.4" */
    epi_launcher_t launcher;
    uint64_t tasks; /* that were started, as the launcher says */
    bool no_mpirun; /* and no launcher: nothing was started */
    bool slurm;     /* within a job of Slurm's */
    uint64_t ranks; /* of the MPI job, as its ranks say; 0: none spoke */
    char error[EPI_FACT_TEXT]; /* why ranks is 0 */
} epi_launch_facts_t;

void epi_doctor_launch(const epi_launch_facts_t *facts,
                       epi_findings_t *findings);

/* doctor_ucx.c */

typedef struct epi_plane_facts {
    epi_ucx_facts_t ucx;
    const char *built;  /* UCX's version that epdx was built with */
    bool user_settings; /* UCX_TLS or UCX_NET_DEVICES is set */
    bool loopback;      /* EPDX_HOST is */
} epi_plane_facts_t;

void epi_doctor_ucx(const epi_plane_facts_t *facts, epi_findings_t *findings);

/* doctor_memory.c */

#define EPI_UNLIMITED UINT64_MAX

typedef struct epi_memory_facts {
    uint64_t shm_bytes, shm_free; /* of /dev/shm; 0: there is none */
    bool shm_writable;
    uint64_t locked_bytes;           /* RLIMIT_MEMLOCK, or EPI_UNLIMITED */
    bool rdma;                       /* the node has RDMA devices */
    epi_available_t available;       /* as opening a rank looks at it */
    uint64_t pool_bytes, ring_bytes; /* the settings */
    bool device;                     /* these are of device memory, */
    uint64_t staging_bytes;          /* and this of the host's */
    bool shared;                     /* one process mapped another's file */
    char shared_error[EPI_FACT_TEXT];
    char namespaces[128]; /* "pid:[1] and ipc:[2]"; "": not known */
} epi_memory_facts_t;

void epi_doctor_memory(const epi_memory_facts_t *facts,
                       epi_findings_t *findings);

/* doctor_network.c */

typedef struct epi_network_facts {
    char host[EPDX_ADDRESS_MAX + 1];    /* EPDX_HOST */
    char address[EPDX_ADDRESS_MAX + 1]; /* what it resolves to; "": nothing */
    char error[EPI_FACT_TEXT];          /* why nothing */
    bool loopback;                      /* address is */
    bool link_local;
    char interface[64]; /* that has address; "": none has */
    bool up;
    char first[EPDX_ADDRESS_MAX + 1]; /* that interface's, of its family */
    char bind_error[EPI_FACT_TEXT];   /* "": a port can be bound there */
    uint64_t port_low, port_high;     /* the kernel's choice; 0: not known */
    char name[EPI_FACT_TEXT];         /* the node's own */
    char name_address[EPDX_ADDRESS_MAX + 1]; /* "": does not resolve */
    char name_error[EPI_FACT_TEXT];
    bool name_loopback;
} epi_network_facts_t;

void epi_doctor_network(const epi_network_facts_t *facts,
                        epi_findings_t *findings);

/* doctor_encode.c */

/** One encode node's bootstrap server. */
typedef struct epi_encode_facts {
    const char *bootstrap;     /* --encode */
    bool remote;               /* it is not a loopback address */
    int code;                  /* of its answer; 0: none came */
    char error[EPI_FACT_TEXT]; /* why none, or what was wrong with it */
    bool malformed;            /* the answer is not one of a bootstrap server */
    bool ready;                /* all its ranks are in: */
    uint32_t ranks, groups;    /* encode ranks, and DP groups of them */
    char rank[EPDX_ADDRESS_MAX + 16]; /* rank 0's address; "": not known */
    bool rank_loopback;
    char rank_error[EPI_FACT_TEXT]; /* "": its port takes connections */
} epi_encode_facts_t;

void epi_doctor_encode(const epi_encode_facts_t *facts,
                       epi_findings_t *findings);

/* doctor_gpu.c */

/** CUDA's and NCCL's versions as these count them: 13000, 22809; 0: none. */
typedef struct epi_gpu_facts {
    bool wanted;               /* EPDX_MEMORY is cuda */
    bool shard;                /* EPDX_EMBEDDING_SHARD is on */
    bool cuda_built;           /* into epdx */
    int runtime;               /* of the library that is loaded */
    int driver;                /* the newest that the driver knows */
    int devices;               /* that can be used */
    char error[EPI_FACT_TEXT]; /* why devices is 0 */
    bool ucx_cuda;             /* UCX reaches device memory */
    int nccl_built;
    int nccl;
} epi_gpu_facts_t;

void epi_doctor_gpu(const epi_gpu_facts_t *facts, epi_findings_t *findings);

/* doctor_settings.c */

/** environment: "NAME=value" each, and NULL. A finding a variable that is no
 *  setting, or one for all. */
void epi_doctor_settings(const char *const *environment,
                         epi_findings_t *findings);

#endif
