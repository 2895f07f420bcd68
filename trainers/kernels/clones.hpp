#pragma once

// HPCBENCH_CLONES before a function compiles it for several instruction sets; the loader picks one. The templates that hold the
// loops are inlined into such functions, because a template itself cannot be cloned.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define HPCBENCH_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define HPCBENCH_CLONES
#endif
#define HPCBENCH_INLINE __attribute__((always_inline)) inline
