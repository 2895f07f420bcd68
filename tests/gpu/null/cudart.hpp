#pragma once

#include <cuda_runtime_api.h>

/// What the files of libcudart share: the last error of a thread.
cudaError_t set_last(cudaError_t error);
/// A call that may be made to fail.
cudaError_t called(const char* name);
/// What libnullgpu answers.
cudaError_t answer(int error);
