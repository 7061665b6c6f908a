/*
 * gpu_rehearsal.h: what the fakes are compiled with where they stand in for a
 * GPU in a rehearsal (gpu_under_test.h): their controls have other names, so
 * that a test finds those of gpu_under_test_real.c, as on a GPU.
 */
#ifndef EPI_TESTING_GPU_REHEARSAL_H
#define EPI_TESTING_GPU_REHEARSAL_H

#define epi_fake_calls_reset     rehearsed_calls_reset
#define epi_fake_fail            rehearsed_fail
#define epi_fake_calls           rehearsed_calls
#define epi_fake_await_calls     rehearsed_await_calls
#define epi_fake_cuda_reset      rehearsed_cuda_reset
#define epi_fake_cuda_live       rehearsed_cuda_live
#define epi_fake_cuda_violations rehearsed_cuda_violations
#define epi_fake_cuda_pageable   rehearsed_cuda_pageable
#define epi_fake_cuda_log_count  rehearsed_cuda_log_count
#define epi_fake_cuda_log_entry  rehearsed_cuda_log_entry
#define epi_fake_cuda_log_find   rehearsed_cuda_log_find
#define epi_fake_cuda_log_total  rehearsed_cuda_log_total
#define epi_fake_cuda_hold       rehearsed_cuda_hold
#define epi_fake_cuda_let_go     rehearsed_cuda_let_go
#define epi_fake_cuda_hold_kinds rehearsed_cuda_hold_kinds
#define epi_fake_cuda_delay      rehearsed_cuda_delay
#define epi_fake_cuda_devices    rehearsed_cuda_devices
#define epi_fake_cuda_attribute  rehearsed_cuda_attribute
#define epi_fake_cuda_bytes      rehearsed_cuda_bytes
#define epi_fake_nccl_reset      rehearsed_nccl_reset
#define epi_fake_nccl_live       rehearsed_nccl_live
#define epi_fake_nccl_fault      rehearsed_nccl_fault
#define epi_fake_nccl_version    rehearsed_nccl_version
#define epi_fake_nccl_late       rehearsed_nccl_late
#define epi_fake_nccl_counts     rehearsed_nccl_counts

#endif
