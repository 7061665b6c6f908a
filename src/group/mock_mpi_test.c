/* mock_mpi_test.c: see mock_mpi_test.h. */
#include "group/mock_mpi_test.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

mock_mpi_t mock_mpi;

static int duplicate_comm; /* its address is the duplicate's handle */
static char row_types[64];

void mock_mpi_reset(void)
{
    memset(&mock_mpi, 0, sizeof(mock_mpi));
    mock_mpi.size = 2;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
int __wrap_MPI_Initialized(int *flag);
int __wrap_MPI_Finalized(int *flag);
int __wrap_MPI_Comm_test_inter(MPI_Comm comm, int *flag);
int __wrap_MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler);
int __wrap_MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int __wrap_MPI_Errhandler_free(MPI_Errhandler *handler);
int __wrap_MPI_Comm_dup(MPI_Comm comm, MPI_Comm *dup);
int __wrap_MPI_Comm_free(MPI_Comm *comm);
int __wrap_MPI_Comm_rank(MPI_Comm comm, int *rank);
int __wrap_MPI_Comm_size(MPI_Comm comm, int *size);
int __wrap_MPI_Error_string(int code, char *text, int *length);
int __wrap_MPI_Allreduce(const void *in, void *out, int count,
                         MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int __wrap_MPI_Iallreduce(const void *in, void *out, int count,
                          MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                          MPI_Request *request);
int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root,
                     MPI_Comm comm);
int __wrap_MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root,
                      MPI_Comm comm, MPI_Request *request);
int __wrap_MPI_Iallgatherv(const void *in, int in_count, MPI_Datatype in_type,
                           void *out, const int counts[], const int starts[],
                           MPI_Datatype type, MPI_Comm comm,
                           MPI_Request *request);
int __wrap_MPI_Waitall(int count, MPI_Request requests[],
                       MPI_Status statuses[]);
int __wrap_MPI_Testall(int count, MPI_Request requests[], int *flag,
                       MPI_Status statuses[]);
int __wrap_MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype *type);
int __wrap_MPI_Type_commit(MPI_Datatype *type);
int __wrap_MPI_Type_free(MPI_Datatype *type);

void *__wrap_calloc(size_t count, size_t size)
{
    return mock_mpi.out_of_memory ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return mock_mpi.out_of_memory ? NULL : __real_realloc(old, size);
}

int __wrap_MPI_Initialized(int *flag)
{
    *flag = !mock_mpi.uninitialized;
    return MPI_SUCCESS;
}

int __wrap_MPI_Finalized(int *flag)
{
    *flag = mock_mpi.finalized;
    return MPI_SUCCESS;
}

int __wrap_MPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    (void)comm;
    *flag = mock_mpi.inter;
    return MPI_SUCCESS;
}

int __wrap_MPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *handler)
{
    (void)comm;
    *handler = MPI_ERRORS_ARE_FATAL;
    return MPI_SUCCESS;
}

int __wrap_MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler)
{
    (void)comm;
    mock_mpi.handlers_set += handler == MPI_ERRORS_RETURN ? 1 : -1;
    return MPI_SUCCESS;
}

int __wrap_MPI_Errhandler_free(MPI_Errhandler *handler)
{
    *handler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

int __wrap_MPI_Comm_dup(MPI_Comm comm, MPI_Comm *dup)
{
    (void)comm;
    mock_mpi.dups++;
    if (mock_mpi.dup_code == MPI_SUCCESS) {
        *dup = (MPI_Comm)(void *)&duplicate_comm;
    }
    return mock_mpi.dup_code;
}

int __wrap_MPI_Comm_free(MPI_Comm *comm)
{
    mock_mpi.comms_freed += *comm == (MPI_Comm)(void *)&duplicate_comm;
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int __wrap_MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = mock_mpi.rank;
    return MPI_SUCCESS;
}

int __wrap_MPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = mock_mpi.size;
    return MPI_SUCCESS;
}

int __wrap_MPI_Error_string(int code, char *text, int *length)
{
    *length = snprintf(text, MPI_MAX_ERROR_STRING, "mock error %d", code);
    return MPI_SUCCESS;
}

int __wrap_MPI_Allreduce(const void *in, void *out, int count,
                         MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    (void)in;
    (void)count;
    (void)type;
    (void)op;
    (void)comm;
    mock_mpi.blocking++;
    if (mock_mpi.other_rank_lacks_memory) {
        *(uint8_t *)out = 0;
    }
    return mock_mpi.allreduce_code;
}

static int post(void *buffer, MPI_Request *request)
{
    if (mock_mpi.post_code != MPI_SUCCESS) {
        return mock_mpi.post_code;
    }
    mock_mpi.posted++;
    mock_mpi.in_flight++;
    if (mock_mpi.in_flight > mock_mpi.in_flight_most) {
        mock_mpi.in_flight_most = mock_mpi.in_flight;
    }
    mock_mpi.posted_buffer = buffer;
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int __wrap_MPI_Iallreduce(const void *in, void *out, int count,
                          MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                          MPI_Request *request)
{
    (void)in;
    (void)count;
    (void)type;
    (void)op;
    (void)comm;
    return post(out, request);
}

int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root,
                     MPI_Comm comm)
{
    (void)buffer;
    (void)count;
    (void)type;
    (void)root;
    (void)comm;
    mock_mpi.blocking++;
    return mock_mpi.bcast_code;
}

int __wrap_MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root,
                      MPI_Comm comm, MPI_Request *request)
{
    (void)count;
    (void)type;
    (void)root;
    (void)comm;
    return post(buffer, request);
}

int __wrap_MPI_Iallgatherv(const void *in, int in_count, MPI_Datatype in_type,
                           void *out, const int counts[], const int starts[],
                           MPI_Datatype type, MPI_Comm comm,
                           MPI_Request *request)
{
    (void)in;
    (void)in_count;
    (void)in_type;
    (void)counts;
    (void)starts;
    (void)type;
    (void)comm;
    return post(out, request);
}

int __wrap_MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    (void)requests;
    (void)statuses;
    mock_mpi.waits++;
    mock_mpi.in_flight -= count;
    return mock_mpi.wait_code;
}

int __wrap_MPI_Testall(int count, MPI_Request requests[], int *flag,
                       MPI_Status statuses[])
{
    (void)requests;
    (void)statuses;
    mock_mpi.tests++;
    *flag = !mock_mpi.stuck;
    if (*flag) {
        mock_mpi.in_flight -= count;
    }
    return mock_mpi.wait_code;
}

int __wrap_MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype *type)
{
    (void)count;
    (void)old;
    *type = (MPI_Datatype)(void *)&row_types[mock_mpi.types_made % 64];
    mock_mpi.types_made++;
    return MPI_SUCCESS;
}

int __wrap_MPI_Type_commit(MPI_Datatype *type)
{
    (void)type;
    return MPI_SUCCESS;
}

int __wrap_MPI_Type_free(MPI_Datatype *type)
{
    mock_mpi.types_freed++;
    mock_mpi.types_freed_in_flight += mock_mpi.in_flight > 0;
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}
