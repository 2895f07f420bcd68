#pragma once

#include <cuda_runtime_api.h>

/// Shared by the files of libcudart: the last error of a thread.
cudaError_t set_last(cudaError_t error);
/// A call that may be made to fail.
cudaError_t called(const char* name);
/// Returns libnullgpu's answer.
cudaError_t answer(int error);
